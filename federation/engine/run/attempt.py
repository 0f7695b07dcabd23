"""Run one bound statement on one cursor, in one way: look ahead, read, show, collect.

A statement ends in a whole answer or in an error: limits are errors, never a shorter answer. Which cut is
read, and what is tried next if the engine fails, is decided in `query`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa

from coldset.plan import ParquetScan
from federation.cut import TakenCut
from federation.engine.arrow_stream import Stream
from federation.engine.lookahead import Lookout, Outlook
from federation.engine.run.answer import Limits
from federation.engine.run.clock import StatementClock
from federation.engine.run.collect import can_collect_at_once, collect_at_once, collect_in_turn, is_row_by_row
from federation.engine.run.day_end import require_times_of_day
from federation.engine.run.engine_errors import USER_SQL_ERRORS, translate
from federation.engine.run.progress import Watched, keep_figure
from federation.engine.run.table_read import TableRead, plan_read, shown_schema
from federation.engine.run.views import show_letters, show_table
from federation.engine.statement import Statement
from federation.errors import EngineError, SqlError
from federation.options import Part
from foundation.lru import LruCache
from hotset.decode import LETTERS

_NOT_IN_ARROW: Final = frozenset({"uhugeint", "time with time zone", "bit", "bignum", "varint", "variant"})
_NESTED: Final = frozenset({"array", "list", "map", "struct", "union"})
_STATEMENTS_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class Way:
    """How a statement is run.

    Attributes:
        name: For people.
        scans_files: Whether the engine opens data files itself.
        is_at_once: Whether rows are collected by all threads at once, if the plan allows it.
    """

    name: str
    scans_files: bool
    is_at_once: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A statement, the cuts it reads, and what it may use. The same for every way.

    Attributes:
        statement: The statement.
        cuts: The cut of each table.
        parts: Which parts of each table the statement names.
        limits: What it may use.
        clock: How long it may still take.
        watched: Tells others how far it is, if anybody asks.
    """

    statement: Statement
    cuts: Mapping[str, TakenCut]
    parts: Mapping[str, Collection[Part]]
    limits: Limits
    clock: StatementClock
    watched: Watched | None


class ChunkGoneError(Exception):
    """Rows of the hot store went while the engine read them, or before."""


class _Looked(NamedTuple):
    """What the plan of a statement tells: whether it is row by row, and what it looks at in each table."""

    is_row_by_row: bool
    outlooks: Mapping[str, Outlook]


# By the statement's text and the columns of its tables, on which alone the plan of a steady one depends.
_looked: Final[LruCache[tuple[str, tuple[tuple[str, pa.Schema], ...]], _Looked]] = LruCache(_STATEMENTS_KEPT)


def attempt(
    question: Question, way: Way, cursor: duckdb.DuckDBPyConnection, scans: Mapping[str, ParquetScan]
) -> tuple[pa.Table, dict[str, TableRead]]:
    """Return all rows of a statement, and what was read for them.

    Args:
        question: The statement and its cuts.
        way: How it is run.
        cursor: A new one, which may open the files of the scans.
        scans: How the engine can read the tables' files itself, where it can.

    Raises:
        SqlError, EngineError, ResultTooLargeError: It failed; nothing is returned.
        QueryTimeoutError, QueryCancelledError: It was stopped.
        HotsetError, ColdsetError: A table could not be read exactly.
        ResultGrewError: The result may be too large, which is known only when it is made in turn.
        ChunkGoneError: Rows of the hot store went meanwhile, and are to be read anew.
    """
    reads: dict[str, TableRead] = {}
    try:
        with question.clock.interrupting(cursor.interrupt):
            return _attempt(question, way, cursor, scans, reads), reads
    except (duckdb.Error, EngineError, pa.ArrowException, OSError, RecursionError) as exc:
        _require_chunks(reads)
        found = translate(exc, question.clock.stopped_by, _failures(reads))
        if found is exc:
            raise
        raise found from exc


def _attempt(
    question: Question,
    way: Way,
    cursor: duckdb.DuckDBPyConnection,
    scans: Mapping[str, ParquetScan],
    reads: dict[str, TableRead],
) -> pa.Table:
    # One transaction has one now(), in the plan that is looked at as in the one that runs.
    cursor.begin()
    statement, watched = question.statement, question.watched
    looked = _look_ahead(question, cursor)
    for name, taken in question.cuts.items():
        reads[name] = plan_read(
            taken,
            question.parts[name],
            looked.outlooks.get(name, Outlook(is_scanned=False, columns=(), where=None)),
            scans.get(name),
            question.clock.require_going_on,
            is_explain=statement.is_explain,
        )
    if watched is not None:
        watched.takes(reads)
    for name, read in reads.items():
        with _after_binding(question, reads, duckdb.Error):
            _show(cursor, name, read, question.parts[name], is_explain=statement.is_explain)
    if statement.is_explain:
        rows = cursor.execute(f"EXPLAIN {statement.sql}").fetchall()
        return pa.table({"plan": [text for _, text in rows]})
    if watched is not None:
        keep_figure(cursor, sum(read.log.cold.size_bytes for read in reads.values()))
    with _after_binding(question, reads, *USER_SQL_ERRORS):
        relation = cursor.sql(statement.sql)
    limits = {"max_rows": question.limits.max_rows, "max_bytes": question.limits.max_bytes}
    if way.is_at_once and looked.is_row_by_row and can_collect_at_once():
        rows = collect_at_once(relation, cursor.interrupt, **limits)
    else:
        rows = collect_in_turn(relation, **limits)
    # Whatever the engine made of it: a read that failed or was stopped is no whole answer.
    for failure in (question.clock.stopped_by, *_failures(reads)):
        if failure is not None:
            raise failure
    require_times_of_day(rows)
    return rows


def _look_ahead(question: Question, cursor: duckdb.DuckDBPyConnection) -> _Looked:
    """Return what the statement looks at, found in its plan, or known if it was planned before."""
    statement = question.statement
    schemas = {name: shown_schema(taken, question.parts[name]) for name, taken in question.cuts.items()}
    shown = {name: schema for name, schema in schemas.items() if Part.ROWS in question.parts[name]}
    is_kept = statement.is_steady and not statement.is_explain and len(shown) == len(schemas)
    is_kept &= all(set(parts) == {Part.ROWS} for parts in question.parts.values())
    key = (statement.sql, tuple(shown.items()))
    found = _looked.get(key) if is_kept else None
    if found is not None:
        return found
    for name, parts in question.parts.items():
        for part in set(parts) - {Part.ROWS}:
            show_letters(cursor, part.of(name), Stream(LETTERS, lambda: iter(())))
    lookout = Lookout(cursor, shown, LETTERS.names)
    if not statement.is_explain:
        # Bound first, so that what is wrong with the statement is said of its own text.
        _require_shown_exactly(cursor.sql(statement.sql))
    plan, outlooks = lookout.look(statement.sql)
    found = _Looked(is_row_by_row(plan), outlooks)
    if is_kept:
        _looked.put(key, found)
    return found


def _show(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    read: TableRead,
    parts: Collection[Part],
    *,
    is_explain: bool,
) -> None:
    if Part.ROWS in parts:
        show_table(cursor, name, read)
    for part in set(parts) - {Part.ROWS}:
        show_letters(
            cursor, part.of(name), Stream(LETTERS, lambda: iter(())) if is_explain else read.letters()
        )


@contextmanager
def _after_binding(
    question: Question, reads: Mapping[str, TableRead], *errors: type[duckdb.Error]
) -> Iterator[None]:
    # The statement was bound to tables that look the same, so what fails now is not its text.
    try:
        yield
    except errors as exc:
        if question.clock.stopped_by is not None or _failures(reads):
            raise
        raise EngineError(f"the engine failed over tables of its own: {exc}") from exc


def _require_chunks(reads: Mapping[str, TableRead]) -> None:
    for name, read in reads.items():
        for part in read.hot.parts:
            if not part.chunk.path.exists():
                raise ChunkGoneError(f"hot rows of table {name!r} in {part.chunk.path} are gone")


def _failures(reads: Mapping[str, TableRead]) -> list[Exception]:
    return [read.log.failure for read in reads.values() if read.log.failure is not None]


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
