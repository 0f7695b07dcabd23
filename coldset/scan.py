"""Plan which files a pinned snapshot is made of, and group them into tasks.

Planning is a pure function of the snapshot, so plans are kept by table UUID and
snapshot id and shared between statements. A task carries all that is needed to
read it elsewhere, without secrets and without the catalog. Reading is `read`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata

from coldset.ancestry import summary_value
from coldset.avro import entries_of, manifests_of
from coldset.catalog import PinnedTable
from coldset.errors import ColdReadError, UnsupportedTableError
from coldset.files import ColdFile
from coldset.kept import Kept
from coldset.keys import key_column
from coldset.matching import DeleteIndex, cold_file

_FILES_KEPT: Final = 200_000


@dataclass(frozen=True, slots=True)
class ColdTask:
    """Some data files of one snapshot, with the delete files that apply to them.

    Attributes:
        identifier: The table, for messages.
        snapshot_id: The snapshot the files belong to.
        metadata: The table's metadata without its history: schemas, specs, properties.
        schema: The schema the rows must have.
        files: The files, with the deletes that apply to each.
    """

    identifier: str
    snapshot_id: int
    metadata: TableMetadata = field(repr=False)
    schema: Schema = field(repr=False)
    files: tuple[ColdFile, ...] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """Bytes of the data files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The data files of one snapshot: what reading needs of them, and what their manifests say."""

    files: tuple[ColdFile, ...]
    entries: tuple[DataFile, ...]


def plan_cold(
    pinned: PinnedTable, *, split_bytes: int, files: Sequence[ColdFile] | None = None
) -> tuple[ColdTask, ...]:
    """Return the tasks that together read the pinned snapshot, each file in one.

    Args:
        pinned: The loaded table and its snapshot.
        split_bytes: Bytes of data files that one task should not exceed; a
            single larger file is still one task.
        files: Which of the snapshot's files; all by default.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied here.
        ColdReadError: A manifest could not be read.
    """
    if pinned.snapshot is None:
        return ()
    metadata = pinned.layout
    wanted = plan_files(pinned).files if files is None else files
    return tuple(
        ColdTask(pinned.identifier, pinned.snapshot.snapshot_id, metadata, pinned.schema, group)
        for group in _group(wanted, split_bytes)
    )


_plans: Final[Kept[tuple[str, int], SnapshotFiles]] = Kept(_FILES_KEPT, lambda found: len(found.files) + 1)


def plan_files(pinned: PinnedTable) -> SnapshotFiles:
    """Return the data files of the pinned snapshot, which is not None, with their deletes.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied here.
        ColdReadError: A manifest could not be read.
    """
    assert pinned.snapshot is not None
    key = (pinned.uuid, pinned.snapshot.snapshot_id)
    found = _plans.get(key)
    if found is None:
        found = _read_plan(pinned)
        _require_comparable(pinned, found.files)
        _plans.put(key, found)
    return found


def _require_comparable(pinned: PinnedTable, files: Sequence[ColdFile]) -> None:
    for column in {each for file in files for delete in file.deletes for each in delete.keys}:
        try:
            key_column(pinned.table.metadata, column)
        except UnsupportedTableError as exc:
            raise UnsupportedTableError(
                f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} cannot be read: {exc}",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            ) from exc


def _read_plan(pinned: PinnedTable) -> SnapshotFiles:
    assert pinned.snapshot is not None
    io = pinned.table.io
    try:
        manifests = manifests_of(pinned.snapshot, io)
        # A list of format version 1 has plain numbers there, so they are compared, not identified.
        data, deletes = (
            [
                entry
                for manifest in manifests
                if manifest.content == content
                for entry in _entries(pinned, manifest)
            ]
            for content in (ManifestContent.DATA, ManifestContent.DELETES)
        )
        _require_all(pinned, manifests, len(data))
        index = DeleteIndex(deletes, pinned.table.specs())
        files = tuple(
            cold_file(entry.data_file, index.for_file(entry.data_file, entry.sequence_number or 0))
            for entry in data
        )
    except ColdReadError:
        raise
    except Exception as exc:
        # A damaged Avro file makes its reader stumble in any way there is.
        raise _unreadable(pinned, exc) from exc
    return SnapshotFiles(files, tuple(entry.data_file for entry in data))


def _entries(pinned: PinnedTable, manifest: ManifestFile) -> list[ManifestEntry]:
    found = entries_of(manifest, pinned.table.io, discard_deleted=True)
    counts = (manifest.added_files_count, manifest.existing_files_count)
    # An Avro file that was cut off between two blocks reads as a shorter one.
    written = sum(count or 0 for count in counts)
    if None not in counts and len(found) != written:
        raise _cut_short(pinned, manifest.manifest_path, len(found), written)
    return found


def _require_all(pinned: PinnedTable, manifests: Sequence[ManifestFile], found: int) -> None:
    assert pinned.snapshot is not None
    total = summary_value(pinned.snapshot, "total-data-files") or "0"
    is_empty = not any(manifest.content == ManifestContent.DATA for manifest in manifests)
    if is_empty and total.isdecimal() and int(total) > 0:
        raise _cut_short(pinned, pinned.snapshot.manifest_list, found, int(total))


def _cut_short(pinned: PinnedTable, path: str, found: int, written: int) -> ColdReadError:
    return ColdReadError(
        f"{path} of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} lists {found} files, and "
        f"{written} were written; it is cut short; restore it, or read another snapshot",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )


def _unreadable(pinned: PinnedTable, exc: Exception) -> ColdReadError:
    return ColdReadError(
        f"a manifest of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} could not be read: "
        f"{type(exc).__name__}: {exc}; ask again: a new cut uses the newest snapshot",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )


def _group(files: Iterable[ColdFile], split_bytes: int) -> list[tuple[ColdFile, ...]]:
    groups: list[tuple[ColdFile, ...]] = []
    group: list[ColdFile] = []
    size_bytes = 0
    for file in files:
        if group and size_bytes + file.size_bytes > split_bytes:
            groups.append(tuple(group))
            group, size_bytes = [], 0
        group.append(file)
        size_bytes += file.size_bytes
    if group:
        groups.append(tuple(group))
    return groups
