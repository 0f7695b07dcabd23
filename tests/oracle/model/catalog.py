"""Where the catalog and the manifests would be: pyiceberg's own metadata, made of a `World`.

The table objects are pyiceberg's, so that pinning, walking and proving run as they are. Loading the table and
reading manifests are steps of the question; nothing else here is.
"""

from __future__ import annotations

import uuid
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import LongType, NestedField

from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, PIN_TAG
from tests.oracle.model.state import Snap

if TYPE_CHECKING:
    from tests.oracle.model.edges import Edges

_SCHEMA: Final = Schema(NestedField(1, "id", LongType(), required=False))
_UUID: Final = uuid.UUID(int=7)


class Catalog:
    """A catalog of one table. Whatever would change the table is noted."""

    def __init__(self, edges: Edges, name: str) -> None:
        self._edges = edges
        self.name = name

    def _load_file_io(self, properties: Any = None, location: str | None = None) -> Any:
        raise AssertionError("no file is opened here")

    def load_table(self, identifier: str) -> Table:
        found = self._edges.run.step("loads the table", lambda w: (w.snaps, w.head, w.branch, w.tag))
        metadata = _metadata(*found)
        return Table(tuple(identifier.split(".")), metadata, "memory", Manifests(self._edges), self)  # type: ignore[arg-type]

    def commit_table(self, *_: Any) -> Any:
        self._edges.run.wrote("a commit to the table")
        raise AssertionError("a question must not commit")


@lru_cache(maxsize=50_000)
def _metadata(
    snaps: tuple[Snap, ...], head: int | None, branch: int | None, tag: int | None
) -> TableMetadataV2:
    pointers = (
        ("main", head, SnapshotRefType.BRANCH),
        ("audit", branch, SnapshotRefType.BRANCH),
        (PIN_TAG, tag, SnapshotRefType.TAG),
    )
    return TableMetadataV2(
        location="memory",
        table_uuid=_UUID,
        last_updated_ms=1,
        last_column_id=1,
        schemas=[_SCHEMA],
        current_schema_id=0,
        partition_specs=[UNPARTITIONED_PARTITION_SPEC],
        default_spec_id=0,
        last_partition_id=999,
        sort_orders=[UNSORTED_SORT_ORDER],
        default_sort_order_id=0,
        snapshots=[_snapshot(snap, {s.number: s for s in snaps}) for snap in snaps],
        current_snapshot_id=head,
        refs={
            name: SnapshotRef(snapshot_id=number, snapshot_ref_type=kind)
            for name, number, kind in pointers
            if number is not None
        },
        last_sequence_number=len(snaps),
        properties={},
    )


class Manifests:
    """Instead of a file store: the manifests of a snapshot, while the table has it."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    def of(self, snapshot: Snapshot) -> list[Any]:
        number = snapshot.snapshot_id
        snap = self._edges.run.step(f"reads the manifests of snapshot {number}", lambda w: w.snap(number))
        if snap is None:
            raise FileNotFoundError(f"the manifests of snapshot {number}")
        fates = ((snap.files, ManifestEntryStatus.EXISTING), (snap.removed, ManifestEntryStatus.DELETED))
        entries = [
            SimpleNamespace(status=fate, file_sequence_number=file.number, sequence_number=file.as_of)
            for files, fate in fates
            for file in files
        ]
        return [SimpleNamespace(content=ManifestContent.DATA, entries=entries)]


def manifests_of(snapshot: Snapshot, io: Any) -> list[Any]:
    """Instead of reading a snapshot's list of manifests."""
    return io.of(snapshot)


def entries_of(manifest: Any, io: Any, *, discard_deleted: bool) -> list[Any]:
    """Instead of reading a manifest."""
    return manifest.entries


def _snapshot(snap: Snap, others: dict[int, Snap]) -> Snapshot:
    parent = others.get(snap.parent or 0)
    kept = parent.files if parent else ()
    counts = {
        "total": sum(len(file.rows) for file in snap.files),
        "added": sum(len(file.rows) for file in snap.files if file not in kept),
        "deleted": sum(len(file.rows) for file in kept if file not in snap.files),
    }
    mark = {} if snap.mark is None else {OFFSETS_PROPERTY: snap.mark}
    return Snapshot(
        snapshot_id=snap.number,
        parent_snapshot_id=snap.parent,
        sequence_number=snap.number,
        timestamp_ms=snap.number,
        manifest_list="memory",
        summary=Summary(snap.operation, **mark, **{f"{kind}-records": str(n) for kind, n in counts.items()}),
        schema_id=0,
    )
