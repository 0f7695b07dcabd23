"""Run one statement: one cut per table, then DuckDB over the two halves.

The engine that runs user SQL has no access to files, network or extensions and
its configuration is locked; what it can read is what is registered on the
statement's own cursor. Rows come to it as Arrow. A statement ends in a whole
answer or in an error: limits are errors, never a shorter answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa

from federation.engine.clock import StatementClock
from federation.engine.columns import choose_columns
from federation.engine.instance import open_cursor
from federation.engine.statement import Statement, parse_statement
from federation.engine.streams import TableStreams
from federation.errors import (
    EngineError,
    ResultTooLargeError,
    SqlError,
)
from federation.parts import Part, split_name
from federation.receipt import TableReceipt
from federation.take import take_cut
from hotset.decode import LETTERS

_BATCH_ROWS: Final = 16384

_NOT_IN_ARROW: Final = frozenset({"uhugeint", "time with time zone", "bit", "bignum", "varint", "variant"})
_NESTED: Final = frozenset({"array", "list", "map", "struct", "union"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use.

    Attributes:
        timeout_ms: Milliseconds from the start of planning to the last row.
        max_rows: Rows of the result, at most.
        max_bytes: Bytes of the result as Arrow, about at most.
    """

    timeout_ms: int = 60_000
    max_rows: int = 1_000_000
    max_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole result, and the cut of every table it was made of.

    `stages_ms` has the milliseconds of the statement; each receipt has its table's.
    """

    rows: pa.Table
    receipts: tuple[TableReceipt, ...]
    stages_ms: Mapping[str, float]

    def values(self) -> list[list[Any]]:
        """Return the rows column by column, as Python values.

        Raises:
            SqlError: A value is none in Python, such as a time after the year 9999.
        """
        columns = []
        for name, column in zip(self.rows.schema.names, self.rows.columns, strict=True):
            try:
                columns.append(column.to_pylist())
            except (OverflowError, ValueError) as exc:
                raise SqlError(
                    f"column {name!r} of type {column.type} has a value that can be shown as text only "
                    "(a time outside of the years 1 to 9999, or finer than microseconds); cast it to VARCHAR",
                    column=name,
                ) from exc
        return columns


def run_query(
    sql: str,
    tables: Mapping[str, Mapping[str, str]],
    limits: Limits = Limits(),
    *,
    is_abandoned: Callable[[], bool] = lambda: False,
) -> Answer:
    """Run one SELECT or EXPLAIN over registered tables.

    Args:
        sql: The statement.
        tables: Registered tables: name to merged options.
        limits: What it may use.
        is_abandoned: Asked now and then; once true, the statement is stopped.

    Raises:
        SqlError: It is not valid, or fails on its rows.
        StatementRefusedError: It may not run here.
        QueryTimeoutError, ResultTooLargeError: It went over a limit; nothing is returned.
        QueryCancelledError: Nobody waits for the answer any more.
        CutError, HotsetError, ColdsetError: A table could not be read exactly.
    """
    began_s = time.monotonic()
    clock = StatementClock(limits.timeout_ms, is_abandoned)
    statement = parse_statement(sql, tables)
    # One cut per table, however often the statement names it, or a part of it.
    parts = [split_name(name) for name in statement.tables]
    streams = {
        table: TableStreams(
            take_cut(tables[table], within_ms=clock.remaining_ms),
            clock.require_going_on,
            {part for each, part in parts if each == table},
        )
        for table in dict.fromkeys(table for table, _ in parts)
    }
    planned_s = time.monotonic()
    cursor = open_cursor()
    try:
        rows = _Execution(cursor, statement, streams, limits, clock).run()
    finally:
        cursor.close()
    return Answer(
        rows=rows,
        receipts=tuple(stream.receipt() for stream in streams.values()),
        stages_ms={
            "plan": (planned_s - began_s) * 1000,
            "execute": (time.monotonic() - planned_s) * 1000,
        },
    )


class _Execution:
    """One statement on one cursor, under one clock."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        statement: Statement,
        streams: Mapping[str, TableStreams],
        limits: Limits,
        clock: StatementClock,
    ) -> None:
        self._cursor = cursor
        self._statement = statement
        self._streams = streams
        self._limits = limits
        self._clock = clock

    def run(self) -> pa.Table:
        try:
            with self._clock.interrupting(self._cursor.interrupt):
                for name, streams in self._streams.items():
                    self._create_view(name, streams)
                if self._statement.is_explain:
                    return self._explain()
                # Bound first, so that what is wrong with the statement is said of its own text.
                relation = self._cursor.sql(self._statement.sql)
                _require_shown_exactly(relation)
                self._choose_columns()
                return self._collect(relation)
        except (duckdb.Error, pa.ArrowException, OSError, RecursionError) as exc:
            raise self._translate(exc) from exc

    def _create_view(self, name: str, streams: TableStreams) -> None:
        for part in streams.parts - {Part.ROWS}:
            self._cursor.register(part.of(name), streams.letters())
        if Part.ROWS not in streams.parts:
            return
        cold, hot = f"{name} (cold)", f"{name} (hot)"
        self._cursor.register(cold, streams.cold())
        self._cursor.register(hot, streams.hot())
        self._cursor.execute(
            f"CREATE TEMP VIEW {quote(name)} AS "
            f"SELECT * FROM {quote(cold)} UNION ALL SELECT * FROM {quote(hot)}"
        )

    def _choose_columns(self) -> None:
        # The plan of this very statement tells which columns its scans look at.
        row = self._cursor.execute(f"EXPLAIN (FORMAT JSON) {self._statement.sql}").fetchall()[0]
        tables = list(self._streams.values())
        letters = [LETTERS.names for streams in tables if Part.DEAD_LETTERS in streams.parts]
        chosen = choose_columns(row[1], [*(streams.schema.names for streams in tables), *letters])
        for streams, columns in zip(tables, chosen[: len(tables)], strict=True):
            # Rows without any column cannot be counted, so one is always read.
            streams.columns = columns or streams.columns[:1]

    def _explain(self) -> pa.Table:
        rows = self._cursor.execute(f"EXPLAIN {self._statement.sql}").fetchall()
        return pa.table({"plan": [text for _, text in rows]})

    def _collect(self, relation: duckdb.DuckDBPyRelation) -> pa.Table:
        reader = relation.to_arrow_reader(_BATCH_ROWS)
        batches: list[pa.RecordBatch] = []
        rows, size_bytes = 0, 0
        for batch in reader:
            rows += batch.num_rows
            size_bytes += batch.nbytes
            if rows > self._limits.max_rows or size_bytes > self._limits.max_bytes:
                raise ResultTooLargeError(
                    f"the result has more than {self._limits.max_rows} rows or "
                    f"{self._limits.max_bytes} bytes; "
                    "add a LIMIT, aggregate, or have the limit raised",
                    max_rows=self._limits.max_rows,
                    max_bytes=self._limits.max_bytes,
                )
            batches.append(batch)
        # Whatever the engine made of it: a read that failed or was stopped is no whole answer.
        for failure in (self._clock.stopped_by, *(streams.failure for streams in self._streams.values())):
            if failure is not None:
                raise failure
        return pa.Table.from_batches(batches, schema=reader.schema)

    def _translate(self, exc: Exception) -> Exception:
        failures = [streams.failure for streams in self._streams.values() if streams.failure is not None]
        if self._clock.stopped_by is not None:
            return self._clock.stopped_by
        if failures:
            return failures[0]
        if isinstance(exc, duckdb.OutOfMemoryException):
            return ResultTooLargeError(f"the statement needs more memory than it may use: {exc}")
        if isinstance(exc, duckdb.InternalException | duckdb.FatalException | duckdb.IOException):
            return EngineError(f"the engine failed: {exc}")
        return SqlError(f"the statement failed: {exc}")


def quote(name: str) -> str:
    """Return an SQL identifier for a name.

    Raises:
        Nothing of its own.
    """
    return '"' + name.replace('"', '""') + '"'


def _require_shown_exactly(relation: duckdb.DuckDBPyRelation) -> None:
    # DuckDB hands these over to Arrow as something else: other numbers, times without their
    # zone, or bytes of its own making.
    for name, found in zip(relation.columns, relation.types, strict=True):
        if not _NOT_IN_ARROW.isdisjoint(_kinds(found)):
            raise SqlError(f"column {name!r} has type {found}, which no answer can hold; cast it to VARCHAR")


def _kinds(found: Any) -> Iterator[str]:
    yield str(found.id).lower()
    if found.id in _NESTED:
        for _, child in found.children:
            if hasattr(child, "id"):
                yield from _kinds(child)
