"""How far a statement is while it runs, for whoever asks in another thread.

Files that are read one by one are counted as they are done. What the engine scans itself only the
engine can tell, of its plan as a whole, and it keeps that figure where much is to be scanned: to
keep it costs a small statement more than it tells. Nothing here changes what runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import duckdb

from federation.engine.run.table_read import TableRead
from federation.read import TableProgress

# Cold bytes from which on the engine keeps its figure.
_LONG_BYTES: Final = 64 << 20
_KEEP_FIGURE: Final = "SET enable_progress_bar_print = false; SET enable_progress_bar = true"


@dataclass(frozen=True, slots=True)
class StatementProgress:
    """How far a statement is.

    Attributes:
        percent: What the engine says of its plan; None if it does not know, or nothing runs in it.
        tables: How far each table is read, by name; none before the cuts are taken.
    """

    percent: float | None
    tables: Mapping[str, TableProgress]


class Watched:
    """One statement, as others may see it. Invariant: a cursor that is seen here is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._reads: Mapping[str, TableRead] = {}

    def progress(self) -> StatementProgress:
        """Return how far the statement is now."""
        with self._lock:
            percent = -1.0 if self._cursor is None else self._cursor.query_progress()
        tables = {name: each.progress() for name, each in self._reads.items()}
        return StatementProgress(percent if percent >= 0 else None, tables)

    def takes(self, reads: Mapping[str, TableRead]) -> None:
        """Take note of what is read."""
        self._reads = reads

    @contextmanager
    def running_on(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Within the block, ask this cursor."""
        with self._lock:
            self._cursor = cursor
        try:
            yield
        finally:
            with self._lock:
                self._cursor = None


def keep_figure(cursor: duckdb.DuckDBPyConnection, size_bytes: int) -> None:
    """Have the engine keep its figure of what it runs next, if so much is to be read that it is worth it."""
    if size_bytes >= _LONG_BYTES:
        cursor.execute(_KEEP_FIGURE)
