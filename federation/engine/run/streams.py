"""Arrow streams that DuckDB pulls from, as often as a plan scans them.

A registered one-shot reader gives nothing to its second scan, so what is
registered makes a new stream for each scan, over the same cut. The hot half is
read from Kafka once and kept for the statement; the cold half is read again.
Errors raised while DuckDB pulls are kept, because DuckDB passes on their text only.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from coldset.files import ColdFile
from coldset.plan import ParquetScan, narrow_scan
from coldset.prune import Predicate
from federation.cut import TakenCut
from federation.engine.arrow_stream import Stream
from federation.engine.run.resident_rows import read_resident_rows, recall
from federation.errors import FederationError
from federation.options import Part
from federation.plan import answer_schema, match_files, plan_cold_splits, plan_hot
from federation.read import (
    Bounds,
    ColdMeter,
    Guard,
    HotMeter,
    HotSplit,
    Progress,
    TableProgress,
    read_split,
    widen,
)
from federation.receipt import TableReceipt, build_receipt
from hotset.decode import LETTERS
from hotset.errors import HotsetError


class TableStreams:
    """The two halves of one table at one cut, and its dead letters, for one statement.

    `columns` and `bounds` are set once, and `narrow` is called once, after planning and
    before the first row is read: the other columns of the stream are null and the plan
    does not look at them, nor at rows outside of the bounds. With a
    `scan` the engine reads the files of that itself, narrowed to those that matter, and
    the cold half is the rest. Rows in which nothing is looked at are `counted`, and then
    the cold half is the files that have to be opened for it.
    """

    def __init__(
        self, taken: TakenCut, guard: Guard, parts: Collection[Part] = frozenset({Part.ROWS})
    ) -> None:
        self.taken = taken
        self.parts = frozenset(parts)
        for part in self.parts - {Part.ROWS}:
            answer_schema(taken, part=part)
        found = answer_schema(taken)
        # Nullable, because a column that the plan does not look at is null, even a required one.
        self.schema = pa.schema([pa.field(field.name, field.type, nullable=True) for field in found])
        self.columns: tuple[str, ...] = tuple(self.schema.names)
        self.bounds: Mapping[str, Bounds] = {}
        self.failure: Exception | None = None
        self._guard = guard
        self._hot: pa.Table | None = None
        self._hot_lock = threading.Lock()
        self._meter = HotMeter(keeps_letters=Part.DEAD_LETTERS in self.parts)
        self._cold_meter = ColdMeter()
        self._readings: list[ColdMeter] = []
        self.scan: ParquetScan | None = None
        self.narrowed: ParquetScan | None = None
        self.counted: int | None = None
        self.rest: tuple[ColdFile, ...] | None = None
        self._where: Predicate | None = None
        self._stages_ms = {"cold": 0.0, "hot": 0.0}
        self._planned: tuple[Any, tuple[HotSplit, ...]] | None = None

    def cold(self) -> Stream:
        """Return the cold half as something DuckDB can scan any number of times."""
        return Stream(self.schema, self._cold_batches)

    def hot(self) -> Stream:
        """Return the hot half as something DuckDB can scan any number of times."""
        return Stream(self._hot_schema(), self._hot_batches)

    def load(self) -> pa.Table | None:
        """Return the hot rows if they are resident, read before the statement runs, with `columns` only.

        Kept strings may have a dictionary, which makes them much cheaper to look through, and only who has
        read them knows which do. Without a store they are read while the statement runs.

        Raises:
            HotsetError: The hot half could not be read.
        """
        is_resident = self.taken.definition.store is not None and Part.ROWS in self.parts
        return self._hot_rows() if is_resident and self.taken.cut.hot_span else None

    def recall(self, names: frozenset[str] | None) -> bool:
        """Choose the columns of these names, folded; return whether the rows are kept, but for new ones.

        Args:
            names: All that the statement names; None for all columns.

        What cannot be read is told of where it is read.
        """
        is_resident = self.taken.definition.store is not None and self.parts == {Part.ROWS}
        is_hot_only = self.taken.pinned.snapshot is None and self.taken.cut.hot_span
        if not is_resident or not is_hot_only:
            return False
        all_columns = self.columns
        if names is not None:
            self.columns = tuple(n for n in all_columns if n.lower() in names) or all_columns[:1]
        with contextlib.suppress(FederationError, HotsetError):
            if all(recall(split) is not None for split in self._splits()):
                return True
        self.columns = all_columns
        return False

    def letters(self) -> Stream:
        """Return the dead letters of the hot half in the same way."""
        return Stream(LETTERS, self._letter_batches)

    def narrow(self, where: Predicate | None, *, is_scanned: bool, is_counted: bool = False) -> None:
        """Leave out the files of the cold half that can have no row for which a predicate is true.

        Args:
            where: What the statement looks at; None for all rows.
            is_scanned: Whether it looks at the table's rows at all.
            is_counted: Whether it looks at nothing in them, so that files need not be opened.

        Raises:
            ColdsetError: The snapshot cannot be planned.
        """
        self._where = where
        self.narrowed = self.scan
        found = match_files(self.taken, where)
        if found is None or not is_scanned:
            return
        if self.scan is not None:
            self.narrowed = narrow_scan(self.scan, found.files)
        self._cold_meter.planned(found)
        if is_counted and where is None:
            self._count(found.files)
        elif self.narrowed is not None:
            self._cold_meter.rows_scanned = self.narrowed.rows

    def leave_unread(self) -> None:
        """Take note that what was planned is not read."""
        self._cold_meter = ColdMeter()

    def _count(self, files: Sequence[ColdFile]) -> None:
        rest = files if self.narrowed is None else self.narrowed.rest
        # How many rows deletes leave of a file is known only of those that the engine was to scan.
        self.rest = tuple(file for file in rest if file.deletes)
        scanned = 0 if self.narrowed is None else self.narrowed.rows
        self.counted = scanned + sum(file.rows for file in rest if not file.deletes)
        self._cold_meter.counted(self.counted, self.rest)
        self.narrowed = None

    def again(self) -> TableStreams:
        """Return streams over the same cut from which nothing has been read."""
        return TableStreams(self.taken, self._guard, self.parts)

    @property
    def read_ms(self) -> float:
        """Milliseconds that both halves took so far."""
        return sum(self._stages_ms.values())

    def receipt(self, engine_ms: float) -> TableReceipt:
        """Return the receipt of what was read for a statement on which the engine spent so long."""
        stages_ms = {**self._stages_ms, "engine": engine_ms}
        return build_receipt(self.taken, self._meter, self._cold_meter, stages_ms=stages_ms)

    def progress(self) -> TableProgress:
        """Return how far the table is read; may be asked in another thread."""
        # A table of which nothing is looked at has a scan, too, and then no files are planned.
        meter, narrowed = self._cold_meter, self.narrowed if self._cold_meter.files else None
        # A plan may read the files several times; the furthest reading counts.
        readings = ((each.files_done, each.bytes_done) for each in tuple(self._readings))
        files_done, bytes_done = max(readings, default=(0, 0))
        scanned = () if narrowed is None else [file for group in narrowed.groups for file in group.files]
        size_bytes = sum(file.size_bytes for file in scanned)
        return TableProgress(
            Progress(
                files_done,
                max(0, meter.files - len(scanned)),
                bytes_done,
                max(0, meter.size_bytes - size_bytes),
            ),
            files_scanned=len(scanned),
            bytes_scanned=size_bytes,
            rows_hot=self._meter.rows,
        )

    @property
    def cold_bytes(self) -> int:
        """Bytes of the data files that are to be read."""
        return self._cold_meter.size_bytes

    def _cold_batches(self) -> Iterator[pa.RecordBatch]:
        reading = ColdMeter()
        self._readings.append(reading)
        began_s = time.monotonic()
        with _Keeping(self):
            rest = self.rest if self.narrowed is None else self.narrowed.rest
            for split in plan_cold_splits(self.taken, self.columns, files=rest, where=self._where):
                for batch in read_split(split, cold=reading, guard=self._guard):
                    reading.rows += batch.num_rows
                    self._cold_meter.rows = max(self._cold_meter.rows, reading.rows)
                    self._stages_ms["cold"] += (time.monotonic() - began_s) * 1000
                    yield widen(batch, self.schema)
                    began_s = time.monotonic()

    def _hot_batches(self) -> Iterator[pa.RecordBatch]:
        schema = self._hot_schema()
        yield from (widen(batch, schema) for batch in self._hot_rows().to_batches())

    def _letter_batches(self) -> Iterator[pa.RecordBatch]:
        self._hot_rows()
        yield from self._meter.letters

    def _hot_rows(self) -> pa.Table:
        with _Keeping(self), self._hot_lock:
            if self._hot is None:
                self._hot = self._read_hot()
        return self._hot

    def _read_hot(self) -> pa.Table:
        began_s = time.monotonic()
        splits = self._splits()
        if splits and splits[0].store is not None:
            [split] = splits
            is_whole = self.bounds.keys().isdisjoint(split.kafka_columns)
            rows = read_resident_rows(split, self._meter, self._guard, is_kept=is_whole)
        else:
            read = (read_split(split, self._meter, guard=self._guard) for split in splits)
            wanted = answer_schema(self.taken, self.columns)
            found = pa.Table.from_batches(itertools.chain.from_iterable(read), wanted)
            rows = pa.Table.from_arrays(found.columns, names=found.schema.names)
        self._stages_ms["hot"] = (time.monotonic() - began_s) * 1000
        return rows

    def _splits(self) -> tuple[HotSplit, ...]:
        key = (self.columns, self.bounds)
        if self._planned is None or self._planned[0] != key:
            wanted = answer_schema(self.taken, self.columns)
            self._planned = key, plan_hot(self.taken, wanted, spread=False, bounds=self.bounds)
        return self._planned[1]

    def _hot_schema(self) -> pa.Schema:
        if self._hot is None:
            return self.schema
        types = {field.name: field.type for field in self._hot.schema}
        return pa.schema([pa.field(field.name, types.get(field.name, field.type)) for field in self.schema])


class _Keeping:
    """Keeps the first error raised in a block, for the statement to raise again."""

    def __init__(self, streams: TableStreams) -> None:
        self._streams = streams

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and self._streams.failure is None:
            self._streams.failure = error
