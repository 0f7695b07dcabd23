"""Run one statement: one cut per table, then DuckDB over the two halves.

The engine that runs user SQL has no access to files, network or extensions and
its configuration is locked; what it can read is what is registered on the
statement's own cursor. Rows come to it as Arrow. A statement ends in a whole
answer or in an error: limits are errors, never a shorter answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa

from federation.engine.columns import choose_columns
from federation.engine.statement import Statement, parse_statement
from federation.engine.streams import TableStreams
from federation.errors import (
    EngineError,
    QueryCancelledError,
    QueryTimeoutError,
    ResultTooLargeError,
    SqlError,
)
from federation.receipt import TableReceipt
from federation.take import take_cut

_BATCH_ROWS: Final = 16384
_WATCH_S: Final = 0.05

_LOCKED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
}


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
    statement = parse_statement(sql, tables)
    # One cut per table, however often the statement names it.
    streams = {name: TableStreams(take_cut(tables[name])) for name in statement.tables}
    planned_s = time.monotonic()
    cursor = _engine().cursor()
    try:
        rows = _Execution(cursor, statement, streams, limits, began_s, is_abandoned).run()
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
        began_s: float,
        is_abandoned: Callable[[], bool],
    ) -> None:
        self._cursor = cursor
        self._statement = statement
        self._streams = streams
        self._limits = limits
        self._ends_s = began_s + limits.timeout_ms / 1000
        self._is_abandoned = is_abandoned
        self._stopped_by: Exception | None = None
        self._is_done = threading.Event()

    def run(self) -> pa.Table:
        clock = threading.Thread(target=self._watch, daemon=True)
        clock.start()
        try:
            for name, streams in self._streams.items():
                self._create_view(name, streams)
            if self._statement.is_explain:
                return self._explain()
            self._choose_columns()
            return self._collect()
        except (duckdb.Error, pa.ArrowException, OSError) as exc:
            raise self._translate(exc) from exc
        finally:
            self._is_done.set()
            clock.join()

    def _create_view(self, name: str, streams: TableStreams) -> None:
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
        chosen = choose_columns(row[1], [streams.schema.names for streams in tables])
        for streams, columns in zip(tables, chosen, strict=True):
            streams.columns = columns

    def _explain(self) -> pa.Table:
        rows = self._cursor.execute(f"EXPLAIN {self._statement.sql}").fetchall()
        return pa.table({"plan": [text for _, text in rows]})

    def _collect(self) -> pa.Table:
        reader = self._cursor.sql(self._statement.sql).to_arrow_reader(_BATCH_ROWS)
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
        if self._stopped_by is not None:
            raise self._stopped_by
        return pa.Table.from_batches(batches, schema=reader.schema)

    def _watch(self) -> None:
        while not self._is_done.wait(_WATCH_S):
            if self._stopped_by is None:
                self._stopped_by = self._reason_to_stop()
            if self._stopped_by is not None:
                # An interrupt that comes before the engine has begun is lost, so it is repeated.
                self._cursor.interrupt()

    def _reason_to_stop(self) -> Exception | None:
        if time.monotonic() >= self._ends_s:
            return QueryTimeoutError(
                f"the statement ran longer than {self._limits.timeout_ms} ms and was stopped; "
                "read less, or have the limit raised",
                timeout_ms=self._limits.timeout_ms,
            )
        if self._is_abandoned():
            return QueryCancelledError("the statement was stopped: its client has gone")
        return None

    def _translate(self, exc: Exception) -> Exception:
        failures = [streams.failure for streams in self._streams.values() if streams.failure is not None]
        if self._stopped_by is not None:
            return self._stopped_by
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


def _make_engine() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect(":memory:", config=dict(_LOCKED))
    for setting in (
        "SET GLOBAL TimeZone = 'UTC'",
        "SET memory_limit = '2GB'",
        "SET python_enable_replacements = false",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        engine.execute(setting)
    return engine


def _once(make: Callable[[], duckdb.DuckDBPyConnection]) -> Callable[[], duckdb.DuckDBPyConnection]:
    lock = threading.Lock()
    made: list[duckdb.DuckDBPyConnection] = []

    def get() -> duckdb.DuckDBPyConnection:
        with lock:
            if not made:
                made.append(make())
            return made[0]

    return get


_engine: Final = _once(_make_engine)
