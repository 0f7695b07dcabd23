"""Run one bound statement on one cursor: views, the columns it looks at, its rows whole or an error.

What DuckDB raises is translated here: an error of a read is raised as itself, and
what is left is the statement's or the engine's. Which cut is read, and by whom, is
decided in `query`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa

from federation.engine.lookahead import Lookout, Outlook, bounds_of
from federation.engine.run.clock import StatementClock
from federation.engine.run.collect import can_collect_at_once, collect_at_once, collect_in_turn, is_row_by_row
from federation.engine.run.cursors import Shown
from federation.engine.run.day_end import require_times_of_day
from federation.engine.run.progress import keep_figure
from federation.engine.run.streams import TableStreams
from federation.engine.run.views import show
from federation.engine.statement import Statement
from federation.errors import EngineError, ResultTooLargeError, SqlError
from federation.options import Part
from foundation.errors import KafkaIcebergError
from foundation.lru import LruCache
from hotset.decode import LETTERS

# What is wrong with a statement before any row is read.
OF_THE_TEXT: Final = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)

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


class _Looked(NamedTuple):
    """What the plan of a statement tells: whether it is row by row, and what it looks at in each table."""

    is_row_by_row: bool
    outlooks: Mapping[str, Outlook]


_STATEMENTS_KEPT: Final = 256

# By the statement's text and the columns of its tables, on which alone the plan of a steady one depends.
_looked: Final[LruCache[tuple[str, tuple[tuple[str, pa.Schema], ...]], _Looked]] = LruCache(_STATEMENTS_KEPT)


class Execution:
    """One statement on one cursor, under one clock."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        statement: Statement,
        streams: Mapping[str, TableStreams],
        limits: Limits,
        clock: StatementClock,
        *,
        may_be_at_once: bool = True,
        is_watched: bool = False,
    ) -> None:
        self._cursor = cursor
        self._statement = statement
        self._streams = streams
        self._limits = limits
        self._clock = clock
        self._is_at_once = may_be_at_once and can_collect_at_once()
        self._is_watched = is_watched

    def run(self, *, reads_all: bool = False) -> pa.Table:
        """Return all rows.

        Args:
            reads_all: Whether all columns are read, whatever the plan says of them.

        Raises:
            SqlError, EngineError, ResultTooLargeError: It failed; nothing is returned.
            QueryTimeoutError, QueryCancelledError: It was stopped.
            HotsetError, ColdsetError: A table could not be read exactly.
            ResultGrewError: The result may be too large, which is known only when it is made in turn.
        """
        return self._watched(lambda: self._run(reads_all=reads_all))

    def run_resident(self, shown: Shown) -> pa.Table:
        """Return all rows, without asking the plan which columns and rows are looked at.

        Each table must be hot only, and its columns chosen.

        Args:
            shown: The cursor, with what it shows already.

        Raises:
            SqlError, EngineError, HotsetError: It failed, which says nothing about the statement yet.
            QueryTimeoutError, QueryCancelledError, ResultTooLargeError: It was stopped.
        """
        return self._watched(lambda: self._run_resident(shown))

    def _watched(self, run: Callable[[], pa.Table]) -> pa.Table:
        try:
            with self._clock.interrupting(self._cursor.interrupt):
                return run()
        except (duckdb.Error, pa.ArrowException, OSError, RecursionError) as exc:
            found = self._translate(exc)
            if found is exc:
                raise
            raise found from exc

    def _run(self, *, reads_all: bool) -> pa.Table:
        # One transaction has one now(), in the plan that is looked at as in the one that runs.
        self._cursor.begin()
        self._look_ahead(reads_all=reads_all)
        for name, streams in self._streams.items():
            if reads_all:
                streams.columns = tuple(streams.schema.names)
            loaded = None if self._statement.is_explain else streams.load()
            with self._bound_before(duckdb.Error):
                show(self._cursor, name, streams, loaded)
        if self._statement.is_explain:
            return self._explain()
        if self._is_watched:
            keep_figure(self._cursor, sum(each.cold_bytes for each in self._streams.values()))
        with self._bound_before(*OF_THE_TEXT):
            relation = self._cursor.sql(self._statement.sql)
        return self._collect(relation)

    def _run_resident(self, shown: Shown) -> pa.Table:
        for name, streams in self._streams.items():
            hot = streams.load()
            assert hot is not None
            shown.show(name, streams, hot)
        relation = shown.bound.get(self._statement.sql)
        if relation is None:
            relation = self._bound()
            shown.bound.put(self._statement.sql, relation)
        return self._collect(relation)

    def _bound(self) -> duckdb.DuckDBPyRelation:
        relation = self._cursor.sql(self._statement.sql)
        _require_shown_exactly(relation)
        return relation

    def _look_out(self) -> _Looked:
        """Return what the statement looks at, found in its plan, or known if it was planned before."""
        shown = {name: each.schema for name, each in self._streams.items() if Part.ROWS in each.parts}
        is_kept = self._statement.is_steady and not self._statement.is_explain
        is_kept &= all(each.parts == {Part.ROWS} for each in self._streams.values())
        key = (self._statement.sql, tuple(shown.items()))
        found = _looked.get(key) if is_kept else None
        if found is not None:
            return found
        for name, streams in self._streams.items():
            for part in streams.parts - {Part.ROWS}:
                self._cursor.register(part.of(name), streams.letters())
        lookout = Lookout(self._cursor, shown, LETTERS.names)
        if not self._statement.is_explain:
            # Bound first, so that what is wrong with the statement is said of its own text.
            self._bound()
        plan, outlooks = lookout.look(self._statement.sql)
        found = _Looked(is_row_by_row(plan), outlooks)
        if is_kept:
            _looked.put(key, found)
        return found

    def _look_ahead(self, *, reads_all: bool) -> None:
        looked = self._look_out()
        self._is_at_once = self._is_at_once and looked.is_row_by_row
        for name, outlook in looked.outlooks.items():
            streams = self._streams[name]
            # Rows without any column cannot be counted, so one is always read.
            streams.columns = outlook.columns or streams.columns[:1]
            if streams.parts == {Part.ROWS}:
                streams.bounds = bounds_of(outlook.where)
            is_counted = outlook.is_scanned and not outlook.columns and not reads_all
            streams.narrow(outlook.where, is_scanned=outlook.is_scanned, is_counted=is_counted)

    @contextmanager
    def _bound_before(self, *errors: type[duckdb.Error]) -> Iterator[None]:
        # The statement was bound to tables that look the same, so what fails now is not its text.
        try:
            yield
        except errors as exc:
            if self._clock.stopped_by is not None or any(s.failure for s in self._streams.values()):
                raise
            raise EngineError(f"the engine failed over tables of its own: {exc}") from exc

    def _explain(self) -> pa.Table:
        rows = self._cursor.execute(f"EXPLAIN {self._statement.sql}").fetchall()
        for streams in self._streams.values():
            streams.leave_unread()
        return pa.table({"plan": [text for _, text in rows]})

    def _collect(self, relation: duckdb.DuckDBPyRelation) -> pa.Table:
        limits = {"max_rows": self._limits.max_rows, "max_bytes": self._limits.max_bytes}
        if self._is_at_once:
            rows = collect_at_once(relation, self._cursor.interrupt, **limits)
        else:
            rows = collect_in_turn(relation, **limits)
        # Whatever the engine made of it: a read that failed or was stopped is no whole answer.
        for failure in (self._clock.stopped_by, *(streams.failure for streams in self._streams.values())):
            if failure is not None:
                raise failure
        require_times_of_day(rows)
        return rows

    def _translate(self, exc: Exception) -> Exception:
        failures = [streams.failure for streams in self._streams.values() if streams.failure is not None]
        if self._clock.stopped_by is not None:
            return self._clock.stopped_by
        if failures:
            return failures[0]
        if isinstance(exc, KafkaIcebergError):
            return exc
        if isinstance(exc, duckdb.OutOfMemoryException):
            return ResultTooLargeError(f"the statement needs more memory than it may use: {exc}")
        if isinstance(exc, duckdb.InternalException | duckdb.FatalException | duckdb.IOException):
            return EngineError(f"the engine failed: {exc}")
        return SqlError(f"the statement failed: {exc}")


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
