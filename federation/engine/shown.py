"""Cursors on which hot rows are shown, kept for the next statement over the same columns of the same tables.

To register rows, and to bind a view with an expression for each column that was not read, costs a good part
of what most statements over resident rows do. A cursor is lent to one statement at a time. It is kept only
if nothing went wrong on it, and only for statements that find nothing of each other there (see `traces`).
What it shows stays mapped, so few are kept, for seconds. The file must not know what a statement asks.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import duckdb
import pyarrow as pa

from coldset.kept import Kept
from federation.engine.clock import StatementClock
from federation.engine.instance import open_cursor
from federation.engine.streams import TableStreams
from federation.engine.views import show_hot_only

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
    bound: Kept[str, duckdb.DuckDBPyRelation] = field(default_factory=lambda: Kept(_BOUND))

    def show(self, name: str, streams: TableStreams, hot: pa.Table) -> None:
        """Let a table be nothing but these rows, unless it is already.

        Raises:
            duckdb.Error: The engine refused (a mistake of ours).
        """
        before = self.rows.get(name)
        if before is not hot:
            show_hot_only(self.cursor, name, streams, hot, is_again=before is not None)
            self.rows[name] = hot


class Shelf:
    """Cursors that no statement has, the one that was last used last; no more than a few."""

    def __init__(self) -> None:
        # A connection of the parent process may be in the middle of anything, so it is not even closed.
        self._inherited: list[tuple[Key, Shown, float]] = []
        self._idle: list[tuple[Key, Shown, float]] = []
        self.begin()

    def begin(self) -> None:
        """Have none: what a parent process kept is not for its child.

        Raises:
            Nothing of its own.
        """
        self._inherited += self._idle
        self._idle = []
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def take(self, key: Key) -> Shown | None:
        """Return a cursor that shows these columns, or None.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            for at in reversed(range(len(self._idle))):
                if self._idle[at][0] == key:
                    return self._idle.pop(at)[1]
        return None

    def put(self, key: Key, shown: Shown) -> None:
        """Keep a cursor that nobody uses any more.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            self._idle.append((key, shown, time.monotonic()))
            surplus = [each for _, each, _ in self._idle[:-_MOST]]
            del self._idle[:-_MOST]
            self._wait()
        for each in surplus:
            each.cursor.close()

    def end(self) -> None:
        """Close all.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            timer = self._timer
        self._close_since(float("inf"))
        if timer is not None:
            timer.join()

    def _close_old(self) -> None:
        self._close_since(time.monotonic() - _GOOD_S)

    def _close_since(self, since_s: float) -> None:
        with self._lock:
            old = [shown for _, shown, idle_s in self._idle if idle_s <= since_s]
            self._idle = [entry for entry in self._idle if entry[2] > since_s]
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._wait()
        for each in old:
            each.cursor.close()

    def _wait(self) -> None:
        if self._idle and self._timer is None:
            timer = threading.Timer(_GOOD_S, self._close_old)
            timer.daemon = True
            # It may be too late for a new thread; then they are closed at the end.
            with contextlib.suppress(RuntimeError):
                timer.start()
                self._timer = timer


SHELF: Final = Shelf()
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
