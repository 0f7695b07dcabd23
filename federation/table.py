"""The library's face: a federated table, its cuts, and scans of them.

A scan is one cut and some columns; it never changes and may be read again. The
engines build on the same pieces, so all ways in give the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from federation.cut import Cut, TakenCut, resume_cut, take_cut
from federation.options import OPTIONS, Config, Part, load_config, merge_options, split_name
from federation.plan import answer_schema, match_files, plan_cold_splits, plan_hot
from federation.read import ColdMeter, HotMeter, Progress, read_split
from federation.receipt import TableReceipt, build_receipt


@dataclass(frozen=True, slots=True)
class FederatedTable:
    """A table whose rows are a snapshot and what Kafka holds beyond it.

    Opening it reads nothing; every `cut` or `scan` looks anew.
    """

    name: str
    options: Mapping[str, str] = field(repr=False)
    part: Part = Part.ROWS

    def cut(self) -> Cut:
        """Take the cut of this moment.

        Raises:
            CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken.
        """
        return take_cut(self.options).cut

    def scan(self, columns: Sequence[str] | None = None, *, cut: Cut | None = None) -> Scan:
        """Return a scan at the cut of this moment, or at a cut taken before.

        Args:
            columns: Column names in the order wanted; all if None.
            cut: A cut of this table.

        Raises:
            CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken.
            CutTokenError: The cut is of another table.
        """
        taken = take_cut(self.options) if cut is None else resume_cut(self.options, cut)
        wanted = columns if columns is not None else OPTIONS.list_of(self.options, "columns")
        return Scan(taken, answer_schema(taken, wanted, part=self.part), self.part)


class Scan:
    """The rows of one cut. Reading it again gives the same rows.

    `receipt` describes the last complete reading.
    """

    def __init__(self, taken: TakenCut, schema: pa.Schema, part: Part = Part.ROWS) -> None:
        self.taken = taken
        self.schema = schema
        self.part = part
        self._receipt: TableReceipt | None = None
        self._cold_meter = ColdMeter()

    @property
    def progress(self) -> Progress:
        """How far the snapshot is read by the reading that began last; may be asked in another thread."""
        meter = self._cold_meter
        return Progress(meter.files_done, meter.files, meter.bytes_done, meter.size_bytes)

    @property
    def cut(self) -> Cut:
        """The cut this scan reads."""
        return self.taken.cut

    @property
    def receipt(self) -> TableReceipt:
        """The receipt of the last complete reading.

        Raises:
            RuntimeError: The scan has not been read to its end.
        """
        if self._receipt is None:
            raise RuntimeError("a scan has a receipt once it has been read to its end")
        return self._receipt

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, cold ones first, in batches of `schema`.

        Raises:
            HotsetError, ColdsetError: The rows could not all be read; whatever
                was yielded before is not an answer.
        """
        meter, cold_meter = HotMeter(), ColdMeter()
        began_s = time.monotonic()
        if self.part is Part.ROWS and (found := match_files(self.taken, None)) is not None:
            cold_meter.planned(found)
        self._cold_meter = cold_meter
        for cold in plan_cold_splits(self.taken, self.schema.names, part=self.part):
            for batch in read_split(cold, cold=cold_meter):
                cold_meter.rows += batch.num_rows
                yield batch
        cold_s = time.monotonic()
        for hot in plan_hot(self.taken, self.schema, spread=False, part=self.part):
            yield from read_split(hot, meter)
        stages = {"cold": (cold_s - began_s) * 1000, "hot": (time.monotonic() - cold_s) * 1000}
        self._receipt = build_receipt(self.taken, meter, cold_meter, stages_ms=stages)

    def to_arrow(self) -> pa.Table:
        """Return all rows as one Arrow table.

        Raises:
            HotsetError, ColdsetError: The rows could not all be read.
        """
        return pa.Table.from_batches(list(self.batches()), schema=self.schema)


def open_table(
    name: str, options: Mapping[str, str] | None = None, *, config: Config | None = None
) -> FederatedTable:
    """Open a table by its Iceberg name; nothing is read yet.

    Args:
        name: Namespace and name, joined by a dot; with `$dead_letters` for the records of
            its topic that are no rows of it.
        options: Read options; see OPTIONS.md. They win over the file's.
        config: The configuration file; `load_config()` if None.

    Raises:
        OptionError: An option is unknown, malformed or holds a bare secret.
    """
    file = load_config() if config is None else config
    table, part = split_name(name)
    return FederatedTable(name, merge_options(table, options or {}, file.options_of(table)), part)
