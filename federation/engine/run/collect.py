"""Collect the rows of a bound statement: all of them, within limits, or an error.

There are two ways, with the same rows. In turn, batches are asked for one after the
other, and counted before the next one is made. At once, the engine makes Arrow
of all rows in all of its threads, which nobody can count; so it is for plans
whose only large thing is their result, and ends when the process grows beyond
what the result may have. What is read, and by which plan, is decided elsewhere.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from federation.errors import ResultTooLargeError

_BATCH_ROWS: Final = 16384
_WATCH_S: Final = 0.02
# What reading files takes besides the result.
_SLACK_BYTES: Final = 128 << 20

_ROW_BY_ROW: Final = frozenset(
    {"PROJECTION", "FILTER", "UNION", "READ_PARQUET", "PYTHON_ARROW_SCAN", "SEQ_SCAN", "COLUMN_DATA_SCAN"}
)
_STATM: Final = Path("/proc/self/statm")


class ResultGrewError(Exception):
    """The process grew while all rows were made at once, by their size or by something else."""


def is_row_by_row(plan: str) -> bool:
    """Return whether a plan makes each of its rows of one row of a table, and keeps nothing.

    Args:
        plan: What `EXPLAIN (FORMAT JSON)` answers.
    """
    pending: list[Any] = list(json.loads(plan))
    while pending:
        node = pending.pop()
        pending.extend(node.get("children", []))
        join = node.get("extra_info", {}).get("Join Type")
        if node.get("name") not in _ROW_BY_ROW and join != "MARK":
            return False
    return True


def collect_in_turn(relation: duckdb.DuckDBPyRelation, *, max_rows: int, max_bytes: int) -> pa.Table:
    """Return all rows, batch by batch.

    Raises:
        ResultTooLargeError: There are more than may be.
        duckdb.Error: The statement failed.
    """
    reader = relation.to_arrow_reader(_BATCH_ROWS)
    batches: list[pa.RecordBatch] = []
    rows, size_bytes = 0, 0
    for batch in reader:
        rows += batch.num_rows
        size_bytes += batch.nbytes
        _require_within(rows, size_bytes, max_rows, max_bytes)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=reader.schema)


def collect_at_once(
    relation: duckdb.DuckDBPyRelation, interrupt: Callable[[], None], *, max_rows: int, max_bytes: int
) -> pa.Table:
    """Return all rows of a plan that is row by row.

    Args:
        relation: The statement.
        interrupt: Stops it.
        max_rows: Rows of the result, at most.
        max_bytes: Bytes of the result, at most.

    Raises:
        ResultTooLargeError: There are more than may be.
        ResultGrewError: There may be more; nothing is known until they are collected in turn.
        duckdb.Error: The statement failed.
    """
    with _watching(max_bytes + _SLACK_BYTES, interrupt) as has_grown:
        try:
            found = relation.to_arrow_table(_BATCH_ROWS * 8)
        except duckdb.Error as exc:
            if has_grown.is_set():
                raise ResultGrewError(f"the process grew by more than {max_bytes} bytes") from exc
            raise
    _require_within(found.num_rows, found.nbytes, max_rows, max_bytes)
    return found


def can_collect_at_once() -> bool:
    """Return whether this machine tells how large a process is."""
    return _STATM.exists()


@contextmanager
def _watching(at_most_bytes: int, interrupt: Callable[[], None]) -> Iterator[threading.Event]:
    """Within the block, call `interrupt` again and again once the process has grown by more than that."""
    began_bytes = _own_bytes()
    is_done, has_grown = threading.Event(), threading.Event()

    def watch() -> None:
        while not is_done.wait(_WATCH_S):
            if has_grown.is_set() or _own_bytes() - began_bytes > at_most_bytes:
                has_grown.set()
                interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield has_grown
    finally:
        is_done.set()
        thread.join()


def _own_bytes() -> int:
    # Without the pages of files and of shared memory.
    _, resident, shared = _STATM.read_text().split()[:3]
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def _require_within(rows: int, size_bytes: int, max_rows: int, max_bytes: int) -> None:
    if rows > max_rows or size_bytes > max_bytes:
        raise ResultTooLargeError(
            f"the result has more than {max_rows} rows or {max_bytes} bytes; "
            "add a LIMIT, aggregate, or have the limit raised",
            max_rows=max_rows,
            max_bytes=max_bytes,
        )
