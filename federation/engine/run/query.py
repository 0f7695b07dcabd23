"""Run one statement: one cut per table, then DuckDB over the two halves.

A statement ends in a whole answer or in an error: limits are errors, never a
shorter answer. So it may be run anew as long as it has no answer: by the other
reader of files, if the engine failed in reading them itself, and at a fresh cut,
if files of the first one are gone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from coldset.errors import ColdReadError
from federation.cut import take_cut
from federation.engine.run.clock import StatementClock
from federation.engine.run.collect import ResultGrewError
from federation.engine.run.cursors import lend_cursor
from federation.engine.run.execution import OF_THE_TEXT, Execution, Limits
from federation.engine.run.instance import open_cursor
from federation.engine.run.progress import Watched
from federation.engine.run.statement_thread import run_aside
from federation.engine.run.streams import TableStreams
from federation.engine.run.views import is_not_read
from federation.engine.statement import Statement, parse_statement
from federation.errors import EngineError, HotBudgetError, SqlError
from federation.options import split_name
from federation.plan import plan_scan
from federation.receipt import TableReceipt
from hotset.errors import HotsetError

_USUAL: Final = Limits()

# What a run over kept rows may end in that a planned one has to find out.
_NOT_SAID_YET: Final = (SqlError, EngineError, HotsetError, HotBudgetError)


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
    limits: Limits = _USUAL,
    *,
    is_abandoned: Callable[[], bool] = lambda: False,
    watched: Watched | None = None,
) -> Answer:
    """Run one SELECT or EXPLAIN over registered tables.

    Args:
        sql: The statement.
        tables: Registered tables: name to merged options.
        limits: What it may use.
        is_abandoned: Asked now and then; once true, the statement is stopped.
        watched: Tells others how far the statement is.

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
    streams = _take(statement, tables, clock)
    planned_s = time.monotonic()
    try:
        rows, read = run_aside(lambda: _run(statement, streams, limits, clock, watched), clock)
    except ColdReadError:
        # Whoever expires snapshots and compacts may have been quicker.
        fresh = _take(statement, tables, clock)
        if _snapshots(fresh) == _snapshots(streams):
            raise
        rows, read = run_aside(lambda: _run(statement, fresh, limits, clock, watched), clock)
    execute_ms = (time.monotonic() - planned_s) * 1000
    # What the halves of its tables did not take, the engine did.
    engine_ms = max(0.0, execute_ms - sum(stream.read_ms for stream in read.values()))
    return Answer(
        rows=rows,
        receipts=tuple(stream.receipt(engine_ms) for stream in read.values()),
        stages_ms={"plan": (planned_s - began_s) * 1000, "execute": execute_ms},
    )


def _take(
    statement: Statement, tables: Mapping[str, Mapping[str, str]], clock: StatementClock
) -> dict[str, TableStreams]:
    # One cut per table, however often the statement names it, or a part of it.
    parts = [split_name(name) for name in statement.tables]
    return {
        table: TableStreams(
            take_cut(tables[table], within_ms=clock.remaining_ms),
            clock.require_going_on,
            {part for each, part in parts if each == table},
        )
        for table in dict.fromkeys(table for table, _ in parts)
    }


def _snapshots(streams: Mapping[str, TableStreams]) -> list[int | None]:
    return [each.taken.pinned.snapshot_id for each in streams.values()]


def _run(
    statement: Statement,
    streams: Mapping[str, TableStreams],
    limits: Limits,
    clock: StatementClock,
    watched: Watched | None,
) -> tuple[pa.Table, Mapping[str, TableStreams]]:
    """Return the statement's rows, and the streams they were read from."""
    if not statement.is_explain and all(each.recall(statement.names) for each in streams.values()):
        with contextlib.suppress(*_NOT_SAID_YET):
            return _run_resident(statement, streams, limits, clock), streams
        streams = {name: each.again() for name, each in streams.items()}
    for each in streams.values():
        each.scan = plan_scan(each.taken)
        clock.require_going_on()
    try:
        return _run_once(statement, streams, limits, clock, watched), streams
    except ResultGrewError:
        again = {name: each.again() for name, each in streams.items()}
        for name, each in again.items():
            each.scan = streams[name].scan
        return _run_once(statement, again, limits, clock, watched, may_be_at_once=False), again
    except (SqlError, EngineError) as exc:
        is_scanned = any(each.scan is not None for each in streams.values())
        reads_all = is_not_read(exc.__cause__)
        is_of_text = isinstance(exc, SqlError) and isinstance(exc.__cause__, OF_THE_TEXT)
        if not (is_scanned or reads_all) or is_of_text:
            raise
    # The reader of files may be at fault, or a file. The other reader has an answer, or says which file.
    again = {name: each.again() for name, each in streams.items()}
    rows = _run_once(statement, again, limits, clock, watched, may_be_at_once=False, reads_all=reads_all)
    return rows, again


def _run_resident(
    statement: Statement, streams: Mapping[str, TableStreams], limits: Limits, clock: StatementClock
) -> pa.Table:
    if statement.counted_as is not None and limits.max_rows:
        [only] = streams.values()
        rows = only.load()
        assert rows is not None
        return pa.table({statement.counted_as: pa.array([rows.num_rows], pa.int64())})
    with lend_cursor(streams, clock, is_kept=statement.leaves_no_trace) as shown:
        execution = Execution(shown.cursor, statement, streams, limits, clock, may_be_at_once=False)
        return execution.run_resident(shown)


def _run_once(
    statement: Statement,
    streams: Mapping[str, TableStreams],
    limits: Limits,
    clock: StatementClock,
    watched: Watched | None,
    *,
    may_be_at_once: bool = True,
    reads_all: bool = False,
) -> pa.Table:
    cursor = open_cursor([each.scan for each in streams.values() if each.scan is not None])
    try:
        execution = Execution(
            cursor,
            statement,
            streams,
            limits,
            clock,
            may_be_at_once=may_be_at_once,
            is_watched=watched is not None,
        )
        if watched is None:
            return execution.run(reads_all=reads_all)
        watched.takes(streams)
        with watched.running_on(cursor):
            return execution.run(reads_all=reads_all)
    finally:
        cursor.close()
