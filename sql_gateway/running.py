"""The statements that run in this gateway now, and how far they are.

A statement is here from when it was taken in until it has an answer or an error; its result is never here.
Who may see this is decided by the routes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from federation.engine import Watched
from sql_gateway.errors import NotFoundError

_TEXT_CHARACTERS: Final = 1000


@dataclass(frozen=True, slots=True)
class _Entry:
    sql: str
    began_s: float
    watched: Watched


class RunningStatements:
    """Statements by their query ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    @contextmanager
    def running(self, query_id: str, sql: str) -> Iterator[Watched]:
        """Within the block, show a statement."""
        entry = _Entry(sql, time.monotonic(), Watched())
        with self._lock:
            self._entries[query_id] = entry
        try:
            yield entry.watched
        finally:
            with self._lock:
                del self._entries[query_id]

    def listed(self) -> list[dict[str, Any]]:
        """Return what is known of all of them, the oldest first."""
        with self._lock:
            entries = dict(self._entries)
        return [_shown(query_id, entry) for query_id, entry in entries.items()]

    def shown(self, query_id: str) -> dict[str, Any]:
        """Return what is known of one.

        Raises:
            NotFoundError: It does not run.
        """
        with self._lock:
            entry = self._entries.get(query_id)
        if entry is None:
            raise NotFoundError(f"no statement {query_id!r} runs here; it has ended, or was never begun")
        return _shown(query_id, entry)


def _shown(query_id: str, entry: _Entry) -> dict[str, Any]:
    found = entry.watched.progress()
    return {
        "query_id": query_id,
        "sql": entry.sql[:_TEXT_CHARACTERS],
        "running_ms": round((time.monotonic() - entry.began_s) * 1000),
        "percent": None if found.percent is None else round(found.percent, 1),
        "tables": [
            {
                "table": name,
                "files_done": each.cold.files_done,
                "files": each.cold.files,
                "bytes_done": each.cold.bytes_done,
                "bytes": each.cold.size_bytes,
                "files_scanned": each.files_scanned,
                "bytes_scanned": each.bytes_scanned,
                "rows_hot": each.rows_hot,
            }
            for name, each in found.tables.items()
        ],
    }
