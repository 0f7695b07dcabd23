"""What the manifests of a snapshot refer to, entry by entry, before anything is planned.

A plan is for reading; this is for looking at the bookkeeping itself, where one
data file may stand twice. It opens manifests only, never a data file, and must
not know what a file's rows mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coldset.avro import entries_of, manifests_of
from coldset.catalog import PinnedTable
from coldset.errors import ColdReadError


@dataclass(frozen=True, slots=True)
class FileReference:
    """One live entry of a manifest.

    Attributes:
        path: The file.
        is_data: False for a file of deletes.
        rows: Its number of rows.
        added_by: The snapshot that added the entry; None if that is not recorded.
    """

    path: str
    is_data: bool
    rows: int
    added_by: int | None


def list_files(pinned: PinnedTable) -> Iterator[FileReference]:
    """Yield the live entries of all manifests of the pinned snapshot.

    Raises:
        ColdReadError: A manifest could not be read.
    """
    if pinned.snapshot is None:
        return
    io = pinned.table.io
    try:
        for manifest in manifests_of(pinned.snapshot, io):
            for entry in entries_of(manifest, io, discard_deleted=True):
                file = entry.data_file
                yield FileReference(
                    file.file_path, int(file.content) == 0, file.record_count, entry.snapshot_id
                )
    except Exception as exc:
        # A damaged Avro file makes its reader stumble in any way there is.
        raise ColdReadError(
            f"a manifest of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} could not be read: "
            f"{type(exc).__name__}: {exc}; ask again: a new cut uses the newest snapshot",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        ) from exc
