"""Cursors on which hot rows are shown, kept for the next statement over the same columns of the same tables.

To register rows, and to bind a view with an expression for each column that was not read, costs a good part
of what most statements over resident rows do. A cursor is lent to one statement at a time. It is kept only
if nothing went wrong on it, and only for statements that find nothing of each other there (see `isolation`).
What it shows stays mapped, so few are kept, for seconds. The file must not know what a statement asks.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import duckdb
import pyarrow as pa

from federation.engine.run.clock import StatementClock
from federation.engine.run.instance import open_cursor
from federation.engine.run.streams import TableStreams
from federation.engine.run.views import show_hot_only
from foundation.idle_pool import IdlePool
from foundation.lru import LruCache

_MOST: Final = 16
# As long as rows are good that are kept beside the store.
_GOOD_S: Final = 5.0
_BOUND: Final = 8

# Of each table: its name, its columns, and which of them are read.
Key = tuple[tuple[str, pa.Schema, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A cursor, what it shows of each table, and statements that were bound on it, by their texts.

    Invariant: no two statements have it at once, and all of them read the same columns.
    """

    cursor: duckdb.DuckDBPyConnection
    rows: dict[str, pa.Table] = field(default_factory=dict)
    bound: LruCache[str, duckdb.DuckDBPyRelation] = field(default_factory=lambda: LruCache(_BOUND))

    def show(self, name: str, streams: TableStreams, hot: pa.Table) -> None:
        """Let a table be nothing but these rows, unless it is already.

        Raises:
            duckdb.Error: The engine refused (a mistake of ours).
        """
        before = self.rows.get(name)
        if before is not hot:
            show_hot_only(self.cursor, name, streams, hot, is_again=before is not None)
            self.rows[name] = hot


def shelf(good_s: float = _GOOD_S) -> IdlePool[Key, Shown]:
    """Return a place for cursors that no statement has."""
    return IdlePool(_MOST, good_s, lambda shown: shown.cursor.close())


SHELF: Final = shelf()
os.register_at_fork(after_in_child=SHELF.begin)
atexit.register(SHELF.end)


@contextmanager
def lend_cursor(
    streams: Mapping[str, TableStreams], clock: StatementClock, *, is_kept: bool
) -> Iterator[Shown]:
    """Lend a cursor to a statement: one that shows columns of these tables, if there is one, or a new one.

    Args:
        streams: The tables, whose columns are chosen.
        clock: The statement's.
        is_kept: Whether the cursor may have served others, and may serve others after the block.

    Raises:
        EngineError: No cursor could be opened.
    """
    key = tuple((name, each.schema, each.columns) for name, each in streams.items())
    shown = (SHELF.take(key) if is_kept else None) or Shown(open_cursor())
    try:
        yield shown
    except BaseException:
        shown.cursor.close()
        raise
    # Who was stopped was interrupted, perhaps after its last row.
    if is_kept and clock.stopped_by is None:
        SHELF.put(key, shown)
    else:
        shown.cursor.close()
