"""Walk a snapshot's history by parents, which is the only history it has.

Neither sequence numbers nor timestamps tell what a snapshot is built on: after
a rollback the newest snapshot is no ancestor of the head. Expiry takes
snapshots out of the table's metadata, and pyiceberg's expiry even makes their
children look like first ones; but older metadata files, which the table's
metadata log names, still tell. This file must not know what is looked for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot

from coldset.table.metadata_file import read_metadata

_log = logging.getLogger(__name__)

SOURCE_ID: Final = "source-snapshot-id"
_FILES_PER_CUT: Final = 8
_OLD_FILES: Final = 16


def walk_parents(table: Table, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """Yield the snapshot, its parent, and so on while they are in the table.

    Use `is_complete` or `Ancestry` to learn whether expiry cut the walk.
    """
    if snapshot is not None:
        yield snapshot
        yield from _walk_in(table.metadata, snapshot)


def is_complete(table: Table, snapshot: Snapshot | None) -> bool:
    """Return True if `walk_parents` yields all ancestors that the snapshot ever had."""
    if snapshot is None:
        return True
    ancestry = Ancestry(table, snapshot)
    walked = list(ancestry)
    return not ancestry.is_cut and walked == ancestry.survivors


def adds_rows(snapshot: Snapshot) -> bool:
    """Return True unless the snapshot added nothing, only rewrote its parent's rows, or removed some."""
    operation = snapshot.summary.operation if snapshot.summary else None
    if operation in (Operation.REPLACE, Operation.DELETE):
        return False
    # A commit that counts leaves out a count of nothing.
    added, deleted = (summary_value(snapshot, f"{key}-records") or "0" for key in ("added", "deleted"))
    if not (added.isdecimal() and deleted.isdecimal()):
        return True
    if operation == Operation.OVERWRITE:
        # Rows are deleted or changed by writing their files anew.
        return int(added) > int(deleted)
    return int(added) > 0 or summary_value(snapshot, "total-records") is None


def summary_value(snapshot: Snapshot, key: str) -> str | None:
    """Return one of the snapshot's summary properties, or None."""
    # Not by truth: that would count the properties.
    return None if snapshot.summary is None else snapshot.summary.additional_properties.get(key)


class Ancestry:
    """A snapshot and its ancestors, nearest first, expired ones too while a metadata file tells of them.

    Iterate once. `survivors` are those met that the table still has; after the last one `is_cut` is
    True if it had a parent of which nothing tells any more. `old_files` counts the metadata files read.
    """

    def __init__(self, table: Table, snapshot: Snapshot) -> None:
        self.survivors: list[Snapshot] = []
        self.is_cut = False
        self.old_files = 0
        self._table = table
        self._first = snapshot

    def __iter__(self) -> Iterator[Snapshot]:
        child = self._first
        is_left = self._table.metadata.snapshot_by_id(child.snapshot_id) is not None
        for survivor in walk_parents(self._table, self._first) if is_left else ():
            child = survivor
            self.survivors.append(survivor)
            yield survivor
        if not is_left:
            yield child
        # From here on each metadata file adds the ancestors that it had and younger files had not.
        while not _is_first(self._table.metadata, child):
            found = self._recall(child) if self.old_files < _OLD_FILES else None
            if found is None:
                self.is_cut = True
                return
            metadata, recorded = found
            if recorded.parent_snapshot_id is None:
                return
            told = list(_walk_in(metadata, recorded))
            if not told:
                self.is_cut = True
                return
            yield from told
            child = told[-1]

    def _recall(self, child: Snapshot) -> tuple[TableMetadata, Snapshot] | None:
        for metadata in _files_since(self._table, child):
            self.old_files += 1
            recorded = metadata.snapshot_by_id(child.snapshot_id)
            if recorded is None:
                continue
            if recorded.parent_snapshot_id is None and not _is_own_commit(metadata, recorded):
                return None  # A first snapshot, or one whose parent was expired by then.
            return metadata, recorded
        return None


def find_source(table: Table, picked: Snapshot) -> Snapshot | None:
    """Return the snapshot that a cherry-picked one is a copy of, or None if nothing tells of it.

    Args:
        table: The loaded table.
        picked: A snapshot with `source-snapshot-id` in its summary.
    """
    text = summary_value(picked, SOURCE_ID) or ""
    if not text.isdecimal():
        return None
    found = table.metadata.snapshot_by_id(int(text))
    if found is not None:
        return found
    # It was there when it was picked.
    candidates = (metadata.snapshot_by_id(int(text)) for metadata in _files_since(table, picked))
    return next((candidate for candidate in candidates if candidate is not None), None)


def _walk_in(metadata: TableMetadata, snapshot: Snapshot) -> Iterator[Snapshot]:
    # Looked up by id in a table, since a search per step would cost the square; each once, so it ends.
    parent_id = snapshot.parent_snapshot_id
    if parent_id is None:
        return
    by_id = {found.snapshot_id: found for found in metadata.snapshots}
    while parent_id is not None and (parent := by_id.pop(parent_id, None)) is not None:
        yield parent
        parent_id = parent.parent_snapshot_id


def _is_first(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    # Format version 2 numbers a table's snapshots from 1; version 1 does not, so a table that was
    # upgraded had rows before its number 1.
    if (
        metadata.format_version < 2
        or snapshot.sequence_number != 1
        or snapshot.parent_snapshot_id is not None
    ):
        return False
    return _holds_only_its_own(snapshot)


def _is_own_commit(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    # The commit that brings a snapshot has its time, or a later one if it changed more than that, as
    # CREATE OR REPLACE TABLE does. The file before is older, since it knows nothing of the snapshot.
    if metadata.last_updated_ms == snapshot.timestamp_ms:
        return True
    before = metadata.metadata_log[-1].timestamp_ms if metadata.metadata_log else None
    return before is not None and before < snapshot.timestamp_ms and _holds_only_its_own(snapshot)


def _holds_only_its_own(snapshot: Snapshot) -> bool:
    total = summary_value(snapshot, "total-records")
    return total is None or total == (summary_value(snapshot, "added-records") or "0")


def _files_since(table: Table, snapshot: Snapshot) -> Iterator[TableMetadata]:
    # The file that the snapshot's own commit wrote has the snapshot's time, and the parent was there then.
    since = [
        entry.metadata_file
        for entry in table.metadata.metadata_log
        if entry.timestamp_ms >= snapshot.timestamp_ms
    ]
    for location in since[:_FILES_PER_CUT]:
        metadata = _old_metadata(table, location)
        if metadata is not None and metadata.table_uuid == table.metadata.table_uuid:
            yield metadata
    if len(since) < _FILES_PER_CUT:
        yield table.metadata


def _old_metadata(table: Table, location: str) -> TableMetadata | None:
    try:
        return read_metadata(table.io, location)
    except Exception as exc:  # noqa: BLE001 - what a file said that is gone is not known, which is no error here
        _log.info("old metadata file %s cannot be read: %s", location, exc)
        return None
