"""Which snapshot a table had at some time.

The main branch has a log of which snapshot was its head since when; what was rolled back later was the head
all the same. Of other branches only the ancestry tells. Expiry takes snapshots out of either, and then an
older one must not pass for the one that was there. The file must not know what is read beside a snapshot.
"""

from __future__ import annotations

from typing import Final

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coldset.errors import SnapshotNotFoundError
from coldset.table.ancestry import Ancestry

_MAIN: Final = "main"


def find_head(table: Table, at_ms: int, branch: str | None = None) -> Snapshot | None:
    """Return the snapshot that was the head of a branch at a time, or None if there was none yet.

    Args:
        table: The loaded table.
        at_ms: The time (epoch ms, UTC).
        branch: The branch; main if None.

    Raises:
        SnapshotNotFoundError: The table has no such branch, or that snapshot has been expired.
    """
    if branch not in (None, _MAIN):
        head = table.snapshot_by_name(branch)
        if head is None:
            raise SnapshotNotFoundError(f"table {_name(table)!r} has no branch {branch!r}")
        return _by_ancestry(table, head, at_ms)
    log = table.metadata.snapshot_log
    before = [entry.snapshot_id for entry in log if entry.timestamp_ms <= at_ms]
    after = [entry.snapshot_id for entry in log if entry.timestamp_ms > at_ms]
    logged = table.metadata.snapshot_by_id(before[-1]) if before else None
    later = table.metadata.snapshot_by_id(after[0]) if after else table.current_snapshot()
    if later is None or (logged is not None and not after):
        return logged
    _require_nothing_between(table, logged, later, at_ms)
    return logged


def _by_ancestry(table: Table, head: Snapshot, at_ms: int) -> Snapshot | None:
    ancestry = Ancestry(table, head)
    for ancestor in ancestry:
        if ancestor.timestamp_ms > at_ms:
            continue
        if table.metadata.snapshot_by_id(ancestor.snapshot_id) is None:
            raise _expired(table, at_ms)
        return ancestor
    if ancestry.is_cut:
        raise _expired(table, at_ms)
    return None


def _require_nothing_between(table: Table, logged: Snapshot | None, later: Snapshot, at_ms: int) -> None:
    """Expiry leaves gaps in the log; who came next was built on the head of then, if that was not undone."""
    ancestry = Ancestry(table, later)
    for ancestor in ancestry:
        if logged is not None and ancestor.timestamp_ms <= logged.timestamp_ms:
            return
        if ancestor.timestamp_ms <= at_ms and table.metadata.snapshot_by_id(ancestor.snapshot_id) is None:
            raise _expired(table, at_ms)
    if ancestry.is_cut:
        raise _expired(table, at_ms)


def _expired(table: Table, at_ms: int) -> SnapshotNotFoundError:
    return SnapshotNotFoundError(
        f"the snapshot that table {_name(table)!r} had at {at_ms} ms is not kept any more, since it has been "
        "expired; ask for a later time",
        as_of_ms=at_ms,
    )


def _name(table: Table) -> str:
    return ".".join(table.name())
