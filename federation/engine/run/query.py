"""Run one statement: one cut per table, then DuckDB over the two halves.

A statement may be run anew as long as it has no answer. The ladder below says in which ways, and each attempt
ends in the answer, in an error, or in a reason to try the next way. If files of a cut are gone before there
is an answer, a fresh cut is taken once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from coldset.errors import ColdReadError
from federation.cut import take_cut
from federation.engine.run.answer import Answer, Limits
from federation.engine.run.attempt import ChunkGoneError, Question, Way, attempt
from federation.engine.run.clock import StatementClock
from federation.engine.run.collect import ResultGrewError
from federation.engine.run.engine_errors import is_of_the_text
from federation.engine.run.instance import open_cursor, store_folders
from federation.engine.run.progress import Watched
from federation.engine.run.statement_thread import run_aside
from federation.engine.run.table_read import TableRead
from federation.engine.statement import parse_statement
from federation.errors import EngineError, SqlError
from federation.options import split_name
from federation.plan import plan_scan, require_unfiltered

_USUAL: Final = Limits()

AT_ONCE: Final = Way("the engine reads the files, all threads at once", scans_files=True, is_at_once=True)
IN_TURN: Final = Way("the engine reads the files, batch by batch", scans_files=True, is_at_once=False)
BY_READER: Final = Way("the library reads the files", scans_files=False, is_at_once=False)
LADDER: Final = (AT_ONCE, IN_TURN, BY_READER)


@dataclass(frozen=True, slots=True)
class Done:
    """The rows of a statement, and what was read for them."""

    rows: pa.Table
    reads: Mapping[str, TableRead]


@dataclass(frozen=True, slots=True)
class TryNext:
    """A way has no answer, and a later one of the ladder may have one.

    Attributes:
        reason: Why there is none; raised if no way is left.
        way: The way to try.
    """

    reason: Exception
    way: Way


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
    question = _ask(sql, tables, limits, clock, watched)
    planned_s = time.monotonic()
    try:
        done = run_aside(lambda: _climb(question), clock)
    except ColdReadError:
        # Whoever expires snapshots and compacts may have been quicker.
        fresh = _ask(sql, tables, limits, clock, watched)
        if _snapshots(fresh) == _snapshots(question):
            raise
        done = run_aside(lambda: _climb(fresh), clock)
    execute_ms = (time.monotonic() - planned_s) * 1000
    # What the halves of its tables did not take, the engine did.
    engine_ms = max(0.0, execute_ms - sum(read.read_ms for read in done.reads.values()))
    return Answer(
        rows=done.rows,
        receipts=tuple(read.receipt(engine_ms) for read in done.reads.values()),
        stages_ms={"plan": (planned_s - began_s) * 1000, "execute": execute_ms},
    )


def _ask(
    sql: str,
    tables: Mapping[str, Mapping[str, str]],
    limits: Limits,
    clock: StatementClock,
    watched: Watched | None,
) -> Question:
    statement = parse_statement(sql, tables)
    # One cut per table, however often the statement names it, or a part of it.
    named = [split_name(name) for name in statement.tables]
    cuts = {
        table: take_cut(tables[table], within_ms=clock.remaining_ms)
        for table in dict.fromkeys(table for table, _ in named)
    }
    for taken in cuts.values():
        require_unfiltered(taken, "WHERE")
    parts = {table: {part for each, part in named if each == table} for table in cuts}
    return Question(statement, cuts, parts, limits, clock, watched)


def _snapshots(question: Question) -> list[int | None]:
    return [taken.pinned.snapshot_id for taken in question.cuts.values()]


def _climb(question: Question) -> Done:
    """Try one way after the other until there is an answer, or an error that no other way mends."""
    way = LADDER[0]
    while True:
        found = _run(question, way)
        if isinstance(found, Done):
            return found
        if found.way not in LADDER[LADDER.index(way) + 1 :]:
            raise found.reason
        way = found.way


def _run(question: Question, way: Way) -> Done | TryNext:
    scans = {}
    if way.scans_files:
        for name, taken in question.cuts.items():
            if (scan := plan_scan(taken)) is not None:
                scans[name] = scan
            question.clock.require_going_on()
    cursor = open_cursor(list(scans.values()), store_folders(question.cuts.values()))
    try:
        if question.watched is None:
            return Done(*attempt(question, way, cursor, scans))
        with question.watched.running_on(cursor):
            return Done(*attempt(question, way, cursor, scans))
    except ResultGrewError as exc:
        return TryNext(exc, IN_TURN)
    except ChunkGoneError as exc:
        reason = EngineError(f"{exc}: they were removed while they were read; ask again")
        return TryNext(reason, IN_TURN if way is AT_ONCE else BY_READER)
    except (SqlError, EngineError) as exc:
        # The engine's reader of files may be at fault, or a file. The other reader has an answer, or says
        # which file it is.
        if not scans or is_of_the_text(exc):
            raise
        return TryNext(exc, BY_READER)
    finally:
        cursor.close()
