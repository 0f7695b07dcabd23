"""The manifests of a snapshot, entry by entry: read in parallel, and kept, since they never change.

A commit adds manifests and leaves most of them as they were, so a snapshot that
follows another one costs its new manifests only. `list_files` is for looking at
the bookkeeping itself, where one data file may stand twice. Manifests only are
opened here, never a data file, and what a file's rows mean is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile

from coldset.errors import ColdReadError
from coldset.table.catalog import PinnedTable
from coldset.table.manifest_file import DamagedError, WholeFiles, entries_of, manifests_of
from foundation.lru import LruCache

_THREADS: Final = 8
_KEPT_BYTES: Final = 256 * 1024 * 1024
_ENTRY_BYTES: Final = 2000
_COUNT_BYTES: Final = 60
_BOUND_BYTES: Final = 130

Entries = tuple[ManifestEntry, ...]


def weigh(entries: Sequence[ManifestEntry]) -> int:
    """Return about how many bytes of memory entries take."""
    files = [entry.data_file for entry in entries]
    counts = sum(len(file.null_value_counts or ()) for file in files)
    bounds = sum(len(file.lower_bounds or ()) for file in files)
    return 1000 + _ENTRY_BYTES * len(files) + 4 * _COUNT_BYTES * counts + 2 * _BOUND_BYTES * bounds


# A path with its length: what is restored under an old name has another one.
_entries: Final[LruCache[tuple[str, int], Entries]] = LruCache(_KEPT_BYTES, weigh)
_lists: Final[LruCache[tuple[str, str], tuple[ManifestFile, ...]]] = LruCache(
    200_000, lambda found: len(found) + 1
)


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


def manifests_in(pinned: PinnedTable) -> tuple[ManifestFile, ...]:
    """Return the manifests of the pinned snapshot, which is not None.

    Raises:
        DamagedError: Their list is not whole.
        Exception: The reader's own, whatever it stumbles over.
    """
    assert pinned.snapshot is not None
    key = (pinned.uuid, pinned.snapshot.manifest_list)
    found = _lists.get(key)
    if found is None:
        found = tuple(manifests_of(pinned.snapshot, pinned.table.io))
        _lists.put(key, found)
    return found


def entries_in(pinned: PinnedTable, manifests: Sequence[ManifestFile]) -> list[Entries]:
    """Return the live entries of each of some manifests.

    Raises:
        ColdReadError: A manifest is cut short.
        Exception: The reader's own, whatever it stumbles over.
    """
    found = {_key(each): _entries.get(_key(each)) for each in manifests}
    unknown = [each for each in manifests if found[_key(each)] is None]
    if len(unknown) > 1:
        with ThreadPoolExecutor(min(_THREADS, len(unknown))) as threads:
            read = list(threads.map(lambda each: _read(pinned, each), unknown))
    else:
        read = [_read(pinned, each) for each in unknown]
    found.update((_key(each), entries) for each, entries in zip(unknown, read, strict=True))
    return [found[_key(each)] or () for each in manifests]


def _key(manifest: ManifestFile) -> tuple[str, int]:
    return manifest.manifest_path, manifest.manifest_length


def _read(pinned: PinnedTable, manifest: ManifestFile) -> Entries:
    found = tuple(entries_of(manifest, pinned.table.io, discard_deleted=True))
    counts = (manifest.added_files_count, manifest.existing_files_count)
    # An Avro file that was cut off between two blocks reads as a shorter one.
    if None not in counts and len(found) != sum(count or 0 for count in counts):
        raise cut_short(pinned, manifest.manifest_path, len(found), sum(count or 0 for count in counts))
    _entries.put(_key(manifest), found)
    return found


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
        raise unreadable(pinned, exc) from exc


def cut_short(pinned: PinnedTable, path: str, found: int, written: int) -> ColdReadError:
    """Return the error for a list of files that has fewer than were written."""
    return ColdReadError(
        f"{path} of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} lists {found} files, and "
        f"{written} were written; it is cut short; restore it, or read another snapshot",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )


def manifest_list_of(pinned: PinnedTable, io: FileIO) -> bytes:
    """Return the file that lists the pinned snapshot's manifests, which is whole.

    Raises:
        ColdReadError: It could not be read.
    """
    assert pinned.snapshot is not None
    try:
        with WholeFiles(io).new_input(pinned.snapshot.manifest_list).open() as stream:
            return bytes(stream.read())
    except (DamagedError, OSError) as exc:
        raise unreadable(pinned, exc) from exc


def unreadable(pinned: PinnedTable, exc: Exception) -> ColdReadError:
    """Return the error for a manifest that its reader stumbled over."""
    return ColdReadError(
        f"a manifest of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} could not be read: "
        f"{type(exc).__name__}: {exc}; ask again: a new cut uses the newest snapshot",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )
