"""Walk a snapshot's history by parents, which is the only history it has.

Neither sequence numbers nor timestamps tell what a snapshot is built on: after
a rollback the newest snapshot is no ancestor of the head. This file only reads
metadata that is already loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot


def walk_parents(table: Table, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """Yield the snapshot, its parent, and so on while they are in the table.

    Raises:
        Nothing of its own. Use `is_complete` to learn whether expiry cut the walk.
    """
    while snapshot is not None:
        yield snapshot
        parent_id = snapshot.parent_snapshot_id
        snapshot = None if parent_id is None else table.metadata.snapshot_by_id(parent_id)


def is_complete(table: Table, snapshot: Snapshot | None) -> bool:
    """Return True if the walk ends at the snapshot that began the table.

    Raises:
        Nothing of its own.
    """
    walked = list(walk_parents(table, snapshot))
    return not walked or (walked[-1].parent_snapshot_id is None and not _has_predecessor(walked[-1]))


def _has_predecessor(snapshot: Snapshot) -> bool:
    # Expiry by pyiceberg erases the expired parent's id from its child, so that the child looks like
    # the first one. But the first one holds no more than it added, and had nothing to replace.
    operation = snapshot.summary.operation if snapshot.summary else None
    held, added = (int(summary_value(snapshot, key) or 0) for key in ("total-records", "added-records"))
    return operation in (Operation.REPLACE, Operation.DELETE) or held > added


def adds_rows(snapshot: Snapshot) -> bool:
    """Return True unless the snapshot only rewrote its parent's rows, or removed some.

    Raises:
        Nothing of its own.
    """
    operation = snapshot.summary.operation if snapshot.summary else None
    if operation == Operation.OVERWRITE:
        # Rows are deleted or changed by writing their files anew.
        added, deleted = (int(summary_value(snapshot, f"{key}-records") or 0) for key in ("added", "deleted"))
        return added > deleted
    return operation not in (Operation.REPLACE, Operation.DELETE)


def summary_value(snapshot: Snapshot, key: str) -> str | None:
    """Return one of the snapshot's summary properties, or None.

    Raises:
        Nothing of its own.
    """
    return snapshot.summary.additional_properties.get(key) if snapshot.summary else None
