"""What one statement reads of one table: a value that is made before the statement runs.

From a cut and what the statement looks at follow the data files, the rows that are only counted, and the hot
ranges, whose rows are read here. Nothing of it changes afterwards; what is counted while the cold half is
read goes into a meter of its own.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa

from coldset.files import ColdFile
from coldset.plan import MatchingFiles, ParquetScan, narrow_scan
from coldset.prune import Predicate
from federation.cut import TakenCut
from federation.engine.arrow_stream import Stream
from federation.engine.lookahead import Outlook, bounds_of
from federation.options import Part
from federation.plan import answer_schema, match_files, plan_cold_splits, plan_hot
from federation.read import (
    ColdMeter,
    Guard,
    HotMeter,
    HotSplit,
    Progress,
    TableProgress,
    letters_of,
    read_hot_rows,
    read_split,
    widen,
)
from federation.receipt import TableReceipt, build_receipt
from hotset.store import HotRows


@dataclass(slots=True)
class ReadLog:
    """What happens while the halves of a table are read: counts, times, and the first error.

    Errors raised while DuckDB pulls rows are kept, because it passes on their text only.
    """

    hot: HotMeter = field(default_factory=HotMeter)
    cold: ColdMeter = field(default_factory=ColdMeter)
    # A plan may read the files several times; the furthest reading counts.
    readings: list[ColdMeter] = field(default_factory=list)
    hot_ms: float = 0.0
    cold_ms: float = 0.0
    failure: Exception | None = None


@dataclass(frozen=True, slots=True)
class TableRead:
    """One table's part of a statement.

    Attributes:
        taken: The cut.
        schema: The answer's columns; all may be null, since those that nobody looks at are.
        columns: The columns that are looked at, one at least.
        where: Rows for which this is not true do not matter; None if all do.
        scan: The data files that the engine reads itself; None if there are none.
        rest: The other data files; None for all of the snapshot's.
        counted: Rows of both halves in which nothing is looked at; None if they are read.
        split: The hot ranges; None if there are none, or they are not looked at.
        hot: Their rows.
        log: What happened while it was read.
    """

    taken: TakenCut
    schema: pa.Schema = field(repr=False)
    columns: tuple[str, ...]
    where: Predicate | None
    scan: ParquetScan | None
    rest: tuple[ColdFile, ...] | None
    counted: int | None
    split: HotSplit | None
    hot: HotRows
    guard: Guard = field(repr=False)
    log: ReadLog = field(repr=False)

    @property
    def read_ms(self) -> float:
        """Milliseconds that both halves took so far."""
        return self.log.hot_ms + self.log.cold_ms

    def cold_rest(self) -> Stream:
        """Return the rows of `rest` as something DuckDB can scan any number of times."""
        return Stream(self.schema, self._cold_batches)

    def hot_rest(self) -> Stream:
        """Return all hot rows in the same way, for columns of which DuckDB cannot read chunks itself."""
        return Stream(self.schema, self._hot_batches)

    def letters(self) -> pa.Table:
        """Return the dead letters of the hot half.

        Raises:
            OSError: A chunk is gone.
        """
        return letters_of(self.hot)

    def receipt(self, engine_ms: float) -> TableReceipt:
        """Return the receipt of what was read for a statement on which the engine spent so long."""
        stages_ms = {"cold": self.log.cold_ms, "hot": self.log.hot_ms, "engine": engine_ms}
        return build_receipt(self.taken, self.log.hot, self.log.cold, stages_ms=stages_ms)

    def progress(self) -> TableProgress:
        """Return how far the table is read; may be asked in another thread."""
        meter = self.log.cold
        for reading in list(self.log.readings):
            meter.read_furthest(reading)
        # Of a table of which nothing is looked at no files are planned.
        scanned = (
            [] if self.scan is None or not meter.files else [f for g in self.scan.groups for f in g.files]
        )
        size_bytes = sum(file.size_bytes for file in scanned)
        return TableProgress(
            Progress(
                meter.files_done,
                max(0, meter.files - len(scanned)),
                meter.bytes_done,
                max(0, meter.size_bytes - size_bytes),
            ),
            files_scanned=len(scanned),
            bytes_scanned=size_bytes,
            rows_hot=self.log.hot.counts.rows,
        )

    def _cold_batches(self) -> Iterator[pa.RecordBatch]:
        reading, began_s = ColdMeter(), time.monotonic()
        self.log.readings.append(reading)
        try:
            for split in plan_cold_splits(self.taken, self.columns, files=self.rest, where=self.where):
                for batch in read_split(split, cold=reading, guard=self.guard):
                    reading.rows += batch.num_rows
                    self.log.cold.read_furthest(reading)
                    self.log.cold_ms += (time.monotonic() - began_s) * 1000
                    yield widen(batch, self.schema)
                    began_s = time.monotonic()
        except Exception as exc:
            self.log.failure = self.log.failure or exc
            raise

    def _hot_batches(self) -> Iterator[pa.RecordBatch]:
        assert self.split is not None
        try:
            wanted = [name for name in self.schema.names if name in self.split.filled.names]
            for part in self.hot.parts:
                yield from (widen(batch, self.schema) for batch in part.batches(wanted))
            for rows in self.hot.tail:
                yield from (widen(batch, self.schema) for batch in rows.rows.select(wanted).to_batches())
        except Exception as exc:
            self.log.failure = self.log.failure or exc
            raise


def shown_schema(taken: TakenCut, parts: Collection[Part]) -> pa.Schema:
    """Return the columns of a table as a statement sees them.

    Raises:
        OptionError: A part of the table that the statement names does not exist.
    """
    for part in set(parts) - {Part.ROWS}:
        answer_schema(taken, part=part)
    # Nullable, because a column that the plan does not look at is null, even a required one.
    return pa.schema([pa.field(found.name, found.type, nullable=True) for found in answer_schema(taken)])


def plan_read(
    taken: TakenCut,
    parts: Collection[Part],
    outlook: Outlook,
    scan: ParquetScan | None,
    guard: Guard,
    *,
    is_explain: bool,
) -> TableRead:
    """Return what a statement reads of a table, its hot rows read already.

    Args:
        taken: The table's cut.
        parts: Which parts of the table the statement names.
        outlook: What it looks at in the table's rows.
        scan: How the engine can read the snapshot's files itself; None if it reads none.
        guard: Called often while rows are read; what it raises ends the reading.
        is_explain: Whether nothing is read.

    Raises:
        ColdsetError: The snapshot cannot be planned.
        HotsetError, HotBudgetError, OptionError: The hot half could not be read.
    """
    schema, log = shown_schema(taken, parts), ReadLog()
    found = match_files(taken, outlook.where) if outlook.is_scanned else None
    is_counted = outlook.is_scanned and not outlook.columns and outlook.where is None and not is_explain
    # Rows without any column cannot be counted by reading them, so one is always read.
    columns = outlook.columns or tuple(schema.names[:1])
    whole = TableRead(taken, schema, columns, outlook.where, scan, None, None, None, HotRows(), guard, log)
    planned = whole if found is None else _with_files(whole, found, is_counted=is_counted)
    is_looked_at = outlook.is_scanned or Part.DEAD_LETTERS in parts
    if is_explain:
        log.cold = ColdMeter()
    if is_explain or not is_looked_at or not taken.cut.hot_span:
        return planned
    read = _with_hot_rows(planned, parts)
    if planned.counted is None:
        return read
    return replace(read, counted=planned.counted + read.hot.counts.rows)


def _with_files(read: TableRead, found: MatchingFiles, *, is_counted: bool) -> TableRead:
    narrowed = None if read.scan is None else narrow_scan(read.scan, found.files)
    read.log.cold.planned(found)
    rest = None if narrowed is None else narrowed.rest
    if not is_counted:
        read.log.cold.rows_scanned = 0 if narrowed is None else narrowed.rows
        return replace(read, scan=narrowed, rest=rest)
    # How many rows deletes leave of a file is known only of those that the engine was to scan.
    left = found.files if rest is None else rest
    opened = tuple(file for file in left if file.deletes)
    scanned = 0 if narrowed is None else narrowed.rows
    counted = scanned + sum(file.rows for file in left if not file.deletes)
    read.log.cold.counted(counted, opened)
    return replace(read, scan=None, rest=opened, counted=counted)


def _with_hot_rows(read: TableRead, parts: Collection[Part]) -> TableRead:
    began_s = time.monotonic()
    bounds = bounds_of(read.where) if set(parts) == {Part.ROWS} else {}
    wanted = answer_schema(read.taken, read.columns)
    splits = plan_hot(read.taken, wanted, spread=False, bounds=bounds)
    if not splits:
        return read
    [split] = splits
    hot = read_hot_rows(split, read.log.hot, read.guard)
    read.log.hot_ms += (time.monotonic() - began_s) * 1000
    return replace(read, split=split, hot=hot)
