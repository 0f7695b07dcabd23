"""Plan which files a pinned snapshot is made of, and group them into tasks.

Planning is a pure function of the snapshot and of what is asked for, so plans
are kept by table UUID, snapshot id and predicate, and shared between statements.
A task carries all that is needed to read it elsewhere, without secrets and
without the catalog. Reading is `read_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import NestedField

from coldset.deletes import DeleteIndex, cold_file, key_column
from coldset.errors import ColdReadError, UnsupportedTableError
from coldset.files import ColdFile
from coldset.prune import (
    Predicate,
    columns_of,
    facts_of_files,
    facts_of_manifests,
    may_match,
)
from coldset.table import PinnedTable, cut_short, entries_in, manifests_in, summary_value, unreadable, weigh
from foundation.lru import LruCache

_FILES_KEPT: Final = 200_000
_KEPT_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ColdTask:
    """Some data files of one snapshot, with the delete files that apply to them.

    Attributes:
        identifier: The table, for messages.
        snapshot_id: The snapshot the files belong to.
        metadata: The table's metadata without its history: schemas, specs, properties.
        schema: The schema the rows must have.
        files: The files, with the deletes that apply to each.
        where: Rows for which this is not true may be left out.
    """

    identifier: str
    snapshot_id: int
    metadata: TableMetadata = field(repr=False)
    schema: Schema = field(repr=False)
    files: tuple[ColdFile, ...] = field(repr=False)
    where: Predicate | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of the data files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The data files of one snapshot: what reading needs of them, and what their manifests say.

    Attributes:
        files: Each with the deletes that apply to it.
        entries: The same in their manifests' words.
        manifests: How many manifests they are from, those of deletes among them.
        manifests_skipped, files_skipped: Manifests of data that were not read, and the files in them.
        weight: About how many bytes this takes.
    """

    files: tuple[ColdFile, ...]
    entries: tuple[DataFile, ...]
    manifests: int
    manifests_skipped: int
    files_skipped: int
    weight: int


@dataclass(frozen=True, slots=True)
class MatchingFiles:
    """The data files of one snapshot that may have rows for which a predicate is true.

    Attributes:
        files: These files.
        files_pruned: How many others there are.
        bytes_pruned: Their bytes, as far as their manifests were read.
        manifests: How many manifests were read for it, now or before.
        manifests_skipped: How many were not, since no file in them can match.
    """

    files: tuple[ColdFile, ...]
    files_pruned: int
    bytes_pruned: int
    manifests: int
    manifests_skipped: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the files."""
        return sum(file.size_bytes for file in self.files)


_MatchKey = tuple[str, int, Predicate, tuple[NestedField, ...]]


def plan_cold(
    pinned: PinnedTable,
    *,
    split_bytes: int,
    files: Sequence[ColdFile] | None = None,
    where: Predicate | None = None,
) -> tuple[ColdTask, ...]:
    """Return the tasks that together read the pinned snapshot, each file in one.

    Args:
        pinned: The loaded table and its snapshot.
        split_bytes: Bytes of data files that one task should not exceed; a
            single larger file is still one task.
        files: Which of the snapshot's files; by default those that may have rows
            for which `where` is true.
        where: Rows for which this is not true may be left out.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied here.
        ColdReadError: A manifest could not be read.
    """
    if pinned.snapshot is None:
        return ()
    metadata = pinned.layout
    wanted = plan_matching(pinned, where).files if files is None else files
    return tuple(
        ColdTask(pinned.identifier, pinned.snapshot.snapshot_id, metadata, pinned.schema, group, where)
        for group in _group(wanted, split_bytes)
    )


_plans: Final[LruCache[tuple[str, int], SnapshotFiles]] = LruCache(_KEPT_BYTES, lambda found: found.weight)
_matching: Final[LruCache[_MatchKey, MatchingFiles]] = LruCache(
    _FILES_KEPT, lambda found: len(found.files) + 1
)


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
        found = _read_plan(pinned, lambda manifests: [True] * len(manifests))
        _plans.put(key, found)
    return found


def plan_matching(pinned: PinnedTable, where: Predicate | None) -> MatchingFiles:
    """Return the data files of the pinned snapshot that may have rows for which a predicate is true.

    Args:
        pinned: The table, with a snapshot that is not None.
        where: What is asked for; None for everything.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied here.
        ColdReadError: A manifest could not be read.
    """
    assert pinned.snapshot is not None
    if where is None:
        whole = plan_files(pinned)
        return MatchingFiles(whole.files, 0, 0, whole.manifests, 0)
    names = columns_of(where)
    # A column may get another's name, or a wider type, while the snapshot stays.
    fields = tuple(each for each in pinned.schema.fields if each.name in names)
    key = (pinned.uuid, pinned.snapshot.snapshot_id, where, fields)
    found = _matching.get(key)
    if found is None:
        found = _match(pinned, where)
        _matching.put(key, found)
    return found


def _match(pinned: PinnedTable, where: Predicate) -> MatchingFiles:
    assert pinned.snapshot is not None
    planned = _plans.get((pinned.uuid, pinned.snapshot.snapshot_id))
    if planned is None:
        planned = _read_plan(
            pinned,
            lambda found: may_match(
                where, pinned.schema, lambda field: facts_of_manifests(pinned, field, found), len(found)
            ),
        )
    is_whole = planned.manifests_skipped == 0
    if is_whole:
        _plans.put((pinned.uuid, pinned.snapshot.snapshot_id), planned)
    chosen = may_match(
        where,
        pinned.schema,
        lambda field: facts_of_files(pinned, field, planned.entries, is_whole=is_whole),
        len(planned.files),
    )
    pruned = [file for file, is_chosen in zip(planned.files, chosen, strict=True) if not is_chosen]
    return MatchingFiles(
        files=tuple(file for file, is_chosen in zip(planned.files, chosen, strict=True) if is_chosen),
        files_pruned=len(pruned) + planned.files_skipped,
        bytes_pruned=sum(file.size_bytes for file in pruned),
        manifests=planned.manifests,
        manifests_skipped=planned.manifests_skipped,
    )


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


def _read_plan(pinned: PinnedTable, choose: Callable[[Sequence[ManifestFile]], list[bool]]) -> SnapshotFiles:
    """Read the manifests of deletes, and those of data that are chosen; one that counts nothing always is."""
    try:
        manifests = manifests_in(pinned)
        # A list of format version 1 has plain numbers there, so they are compared, not identified.
        data = [each for each in manifests if each.content == ManifestContent.DATA]
        deletes = [each for each in manifests if each.content == ManifestContent.DELETES]
        _require_all(pinned, data)
        chosen = [
            each
            for each, is_chosen in zip(data, choose(data), strict=True)
            if is_chosen or _is_uncounted(each)
        ]
        entries = [entry for found in entries_in(pinned, chosen) for entry in found]
        hidden = [entry for found in entries_in(pinned, deletes) for entry in found]
        index = DeleteIndex(hidden, pinned.table.specs())
        files = tuple(
            cold_file(entry.data_file, index.for_file(entry.data_file, entry.sequence_number or 0))
            for entry in entries
        )
    except ColdReadError:
        raise
    except Exception as exc:
        # A damaged Avro file makes its reader stumble in any way there is.
        raise unreadable(pinned, exc) from exc
    _require_comparable(pinned, files)
    return SnapshotFiles(
        files,
        tuple(entry.data_file for entry in entries),
        manifests=len(chosen) + len(deletes),
        manifests_skipped=len(data) - len(chosen),
        files_skipped=sum(_files_in(each) for each in data) - sum(_files_in(each) for each in chosen),
        weight=weigh(entries),
    )


def _is_uncounted(manifest: ManifestFile) -> bool:
    return None in (manifest.added_files_count, manifest.existing_files_count)


def _files_in(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)


def _require_all(pinned: PinnedTable, data: Sequence[ManifestFile]) -> None:
    assert pinned.snapshot is not None
    total = summary_value(pinned.snapshot, "total-data-files") or "0"
    if not data and total.isdecimal() and int(total) > 0:
        raise cut_short(pinned, pinned.snapshot.manifest_list, 0, int(total))


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
