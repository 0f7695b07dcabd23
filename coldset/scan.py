"""Plan which files a pinned snapshot is made of, and group them into tasks.

Planning is a pure function of the snapshot, so plans are kept by table UUID and
snapshot id and shared between statements. A task carries all that is needed to
read it elsewhere, without secrets and without the catalog. Reading is `read`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.manifest import ManifestContent
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

from coldset.ancestry import summary_value
from coldset.avro import DamagedError, manifests_of, require_whole
from coldset.catalog import PinnedTable
from coldset.errors import ColdReadError, UnsupportedTableError

_PLANS_KEPT: Final = 64

# Files without rows too, as imports leave them, or a manifest would seem to have lost them.
_ALL_FILES: Final = {"include_empty_files": "true"}


@dataclass(frozen=True, slots=True)
class ColdTask:
    """Some data files of one snapshot, with the delete files that apply to them.

    Attributes:
        identifier: The table, for messages.
        snapshot_id: The snapshot the files belong to.
        metadata: The table's metadata without its history: schemas, specs, properties.
        schema: The schema the rows must have.
        files: The files, as pyiceberg plans them.
    """

    identifier: str
    snapshot_id: int
    metadata: TableMetadata = field(repr=False)
    schema: Schema = field(repr=False)
    files: tuple[FileScanTask, ...] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """Bytes of the data files."""
        return sum(f.file.file_size_in_bytes for f in self.files)

    @property
    def exact_rows(self) -> int | None:
        """Rows in these files by metadata alone; None if deletes must be applied first."""
        if any(f.delete_files for f in self.files):
            return None
        return sum(f.file.record_count for f in self.files)


def plan_cold(pinned: PinnedTable, *, split_bytes: int) -> tuple[ColdTask, ...]:
    """Return the tasks that together read the pinned snapshot, each file in one.

    Args:
        pinned: The loaded table and its snapshot.
        split_bytes: Bytes of data files that one task should not exceed; a
            single larger file is still one task.

    Raises:
        UnsupportedTableError: The snapshot has equality deletes.
        ColdReadError: A manifest could not be read.
    """
    if pinned.snapshot is None:
        return ()
    metadata = pinned.layout
    return tuple(
        ColdTask(pinned.identifier, pinned.snapshot.snapshot_id, metadata, pinned.schema, group)
        for group in _group(plan_files(pinned), split_bytes)
    )


_plans: OrderedDict[tuple[str, int], tuple[FileScanTask, ...]] = OrderedDict()
_plans_lock = threading.Lock()


def plan_files(pinned: PinnedTable) -> tuple[FileScanTask, ...]:
    """Return the data files of the pinned snapshot, which is not None, with their delete files.

    Raises:
        UnsupportedTableError: The snapshot has equality deletes.
        ColdReadError: A manifest could not be read.
    """
    assert pinned.snapshot is not None
    key = (pinned.uuid, pinned.snapshot.snapshot_id)
    with _plans_lock:
        if key in _plans:
            _plans.move_to_end(key)
            return _plans[key]
    found = _read_plan(pinned, pinned.snapshot.snapshot_id)
    with _plans_lock:
        _plans[key] = found
        while len(_plans) > _PLANS_KEPT:
            _plans.popitem(last=False)
    return found


def _read_plan(pinned: PinnedTable, snapshot_id: int) -> tuple[FileScanTask, ...]:
    try:
        _require_whole_files(pinned)
        scan = pinned.table.scan(snapshot_id=snapshot_id, options=_ALL_FILES)
        found = tuple(scan.plan_files())
        _require_all(pinned, found)
    except (UnicodeDecodeError, DamagedError) as exc:  # ValueErrors too
        raise _unreadable(pinned, exc) from exc
    except (ValueError, NotImplementedError) as exc:
        what = (
            "equality deletes" if "equality deletes" in str(exc) else f"what cannot be planned here ({exc})"
        )
        raise UnsupportedTableError(
            f"snapshot {snapshot_id} of table {pinned.identifier!r} has {what}, which is not supported yet; "
            "compact the table, or read an earlier snapshot",
            table=pinned.identifier,
            snapshot_id=snapshot_id,
        ) from exc
    except ColdReadError:
        raise
    except Exception as exc:
        # A damaged Avro file makes its reader stumble in any way there is.
        raise _unreadable(pinned, exc) from exc
    return found


def _require_whole_files(pinned: PinnedTable) -> None:
    assert pinned.snapshot is not None
    io = pinned.table.io
    for manifest in manifests_of(pinned.snapshot, io):
        require_whole(io, manifest.manifest_path)


def _require_all(pinned: PinnedTable, found: Sequence[FileScanTask]) -> None:
    # An Avro file that was cut off between two blocks reads as a shorter one.
    assert pinned.snapshot is not None
    manifests = [
        manifest
        for manifest in pinned.snapshot.manifests(pinned.table.io)
        if manifest.content == ManifestContent.DATA
    ]
    counts = [(m.added_files_count, m.existing_files_count) for m in manifests]
    listed = sum((added or 0) + (existing or 0) for added, existing in counts)
    is_counted = all(None not in count for count in counts)
    total = summary_value(pinned.snapshot, "total-data-files") or "0"
    is_empty = not manifests and total.isdecimal() and int(total) > 0
    if is_empty or (is_counted and listed != len(found)):
        raise ColdReadError(
            f"the manifests of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} list "
            f"{len(found)} data files, and {int(total) if is_empty else listed} were written; a file is cut "
            "short; restore it, or read another snapshot",
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


def _group(files: Iterable[FileScanTask], split_bytes: int) -> list[tuple[FileScanTask, ...]]:
    groups: list[tuple[FileScanTask, ...]] = []
    group: list[FileScanTask] = []
    size_bytes = 0
    for task in files:
        if group and size_bytes + task.file.file_size_in_bytes > split_bytes:
            groups.append(tuple(group))
            group, size_bytes = [], 0
        group.append(task)
        size_bytes += task.file.file_size_in_bytes
    if group:
        groups.append(tuple(group))
    return groups
