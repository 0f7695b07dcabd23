"""Prove from a table's files that one snapshot is built on another, when no history tells.

Once expiry has cut the chain of parents, the manifests are the only witness.
Each file carries the sequence number of the snapshot that added it, and no two
snapshots of a table have the same; so a file of an ancestor is a proof, and a
rollback leaves none. Rows that came later, through snapshots that are gone,
show by a higher data sequence number. No proof means no answer, not a no. The
file must not know what the proof is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from coldset.errors import ColdReadError
from coldset.table.manifest_file import entries_of, manifests_of


def adds_nothing_since(table: Table, survivors: Sequence[Snapshot], ancestor: Snapshot) -> bool:
    """Return True if the first survivor provably holds what `ancestor` did, and what survivors added.

    Proven means that the first survivor's manifests have a file which `ancestor` added, be it as
    removed, or one whose rows are as old as `ancestor`, which compaction writes that began there; and that
    every data file there either has rows of that time or earlier, or was added by a survivor. Compaction
    that gives rows a time of their own takes the proof away.

    Args:
        table: The loaded table.
        survivors: The snapshot in question and its ancestors, nearest first, as far as the table has them.
        ancestor: The snapshot it may be built on.

    Raises:
        ColdReadError: A manifest could not be read.
    """
    reached = ancestor.sequence_number or 0
    if table.metadata.format_version < 2 or reached == 0:
        return False  # Format version 1 has no sequence numbers.
    if any((survivor.sequence_number or 0) <= reached for survivor in survivors):
        return False
    try:
        return _is_proven(table.io, survivors, reached)
    except Exception as exc:
        raise ColdReadError(
            f"manifests of snapshot {survivors[0].snapshot_id} could not be read: "
            f"{type(exc).__name__}: {exc}",
            snapshot_id=survivors[0].snapshot_id,
        ) from exc


def _is_proven(io: FileIO, survivors: Sequence[Snapshot], reached: int) -> bool:
    by_survivors = {survivor.sequence_number for survivor in survivors}
    is_built_on = False
    for manifest in manifests_of(survivors[0], io):
        if manifest.content != ManifestContent.DATA:
            continue
        for entry in entries_of(manifest, io, discard_deleted=False):
            is_built_on = is_built_on or reached in (entry.file_sequence_number, entry.sequence_number)
            is_live = entry.status != ManifestEntryStatus.DELETED
            is_late = entry.sequence_number is None or entry.sequence_number > reached
            if is_live and is_late and entry.file_sequence_number not in by_survivors:
                return False
    return is_built_on
