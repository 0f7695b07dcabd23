"""Build the metadata of an ephemeral snapshot: what a commit of some appended files would have written.

The main branch leads to the new snapshot. Appended files have no partition values, so they are written under
a spec without fields, which is added if the table has none: engines prune them by their bounds. The table's
own metadata, as the base has it, is `table_form`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pyiceberg.io import load_file_io

from coldset.ephemeral.appended_file import AppendedFile
from coldset.ephemeral.avro_schemas import decode_manifest_list, encode_manifest, encode_manifest_list
from coldset.ephemeral.table_form import main_at, require_bound, table_form
from coldset.errors import UnsupportedTableError
from coldset.table import PinnedTable, manifest_list_of

_ADDED: Final = 1


@dataclass(frozen=True, slots=True)
class SnapshotBase:
    """What all ephemeral snapshots over one pinned snapshot have in common.

    Attributes:
        pinned: The table and its snapshot.
        version: The format version of what is built, 2 or 3.
        spec_id: The spec of appended files.
        told: The table's metadata as JSON values, with that spec.
        manifests: The pinned snapshot's manifests, as its list has them.
    """

    pinned: PinnedTable
    version: int
    spec_id: int
    told: Mapping[str, Any] = field(repr=False)
    manifests: Sequence[Mapping[str, Any]] = field(repr=False)

    def without_files(self) -> SnapshotBase:
        """Return the base for snapshots that have nothing of the pinned one but its table."""
        return replace(self, pinned=replace(self.pinned, snapshot=None), manifests=())


@dataclass(frozen=True, slots=True)
class EphemeralMetadata:
    """The metadata of one ephemeral snapshot.

    Attributes:
        snapshot_id: Its id.
        manifest_list: The content of its list of manifests.
        told: The table's metadata, to be written as JSON.
    """

    snapshot_id: int
    manifest_list: bytes = field(repr=False)
    told: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ListedManifest:
    """A manifest of appended files, and where it is."""

    path: str
    size_bytes: int
    files: int
    rows: int


def open_base(pinned: PinnedTable, io_properties: Mapping[str, str]) -> SnapshotBase:
    """Read what ephemeral snapshots over a pinned one are built on.

    Args:
        pinned: The table and its snapshot.
        io_properties: pyiceberg properties for reaching its files, secrets resolved.

    Raises:
        UnsupportedTableError: The table has something that such a snapshot cannot say.
        ColdReadError: The snapshot's list of manifests could not be read.
    """
    told = table_form(pinned)
    if told.get("encryption-keys"):
        raise UnsupportedTableError(
            f"table {pinned.identifier!r} is encrypted, and its hot records would not be; "
            "read it in SQL instead",
            table=pinned.identifier,
        )
    specs = told["partition-specs"]
    spec_id = next((spec["spec-id"] for spec in specs if not spec["fields"]), None)
    if spec_id is None:
        spec_id = 1 + max(spec["spec-id"] for spec in specs)
        told["partition-specs"] = [*specs, {"spec-id": spec_id, "fields": []}]
    require_bound(told, pinned.schema, spec_id)
    return SnapshotBase(pinned, told["format-version"], spec_id, told, _manifests(pinned, io_properties))


def build_manifest(base: SnapshotBase, files: Sequence[AppendedFile]) -> bytes:
    """Return a manifest of appended files, which any snapshot over the same schema may list."""
    entries = [{"status": _ADDED, "data_file": found.told} for found in files]
    told = {
        "schema": base.pinned.schema.model_dump_json(),
        "schema-id": str(base.pinned.schema.schema_id),
        "partition-spec": json.dumps([]),
        "partition-spec-id": str(base.spec_id),
        "format-version": str(base.version),
        "content": "data",
    }
    return encode_manifest(entries, base.version, told)


def build_snapshot(
    base: SnapshotBase,
    appended: Sequence[ListedManifest],
    *,
    snapshot_id: int,
    timestamp_ms: int,
    manifest_list_path: str,
    location: str | None,
    summary: Mapping[str, str],
) -> EphemeralMetadata:
    """Return the metadata of a snapshot that appends manifests to the pinned one.

    Args:
        base: What it is built on.
        appended: The manifests.
        snapshot_id: Its id, which no other snapshot has.
        timestamp_ms: When it was made (epoch milliseconds, UTC).
        manifest_list_path: Where its list of manifests will be.
        location: Where the table is said to be; None for where it is.
        summary: What its summary says beside counts.
    """
    parent = base.pinned.snapshot
    sequence = base.told.get("last-sequence-number", 0) + 1
    listed = [dict(each) for each in base.manifests] + [
        _listed(each, base.spec_id, snapshot_id, sequence) for each in appended
    ]
    first_row_id = base.told.get("next-row-id", 0)
    next_row_id = _assign_row_ids(listed, first_row_id) if base.version > 2 else first_row_id
    snapshot: dict[str, Any] = {
        "snapshot-id": snapshot_id,
        **({} if parent is None else {"parent-snapshot-id": parent.snapshot_id}),
        "sequence-number": sequence,
        "timestamp-ms": max(timestamp_ms, base.told["last-updated-ms"]),
        "manifest-list": manifest_list_path,
        "summary": {"operation": "append", **_counts(base, appended), **summary},
        "schema-id": base.pinned.schema.schema_id,
        **(
            {"first-row-id": first_row_id, "added-rows": next_row_id - first_row_id}
            if base.version > 2
            else {}
        ),
    }
    told = {
        **base.told,
        **({} if location is None else {"location": location}),
        "last-sequence-number": sequence,
        "last-updated-ms": snapshot["timestamp-ms"],
        **main_at(base.told, snapshot_id),
        "snapshots": [*base.told.get("snapshots", []), snapshot],
        "snapshot-log": [
            *base.told.get("snapshot-log", []),
            {"snapshot-id": snapshot_id, "timestamp-ms": snapshot["timestamp-ms"]},
        ],
        **({"next-row-id": next_row_id} if base.version > 2 else {}),
    }
    header = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent is None else str(parent.snapshot_id),
        "sequence-number": str(sequence),
        "format-version": str(base.version),
        **({"first-row-id": str(first_row_id)} if base.version > 2 else {}),
    }
    return EphemeralMetadata(snapshot_id, encode_manifest_list(listed, base.version, header), told)


def _manifests(pinned: PinnedTable, io_properties: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    if pinned.snapshot is None:
        return ()
    if not pinned.snapshot.manifest_list:
        raise UnsupportedTableError(
            f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} has no list of manifests, as only "
            "the first writers of format version 1 left it out; rewrite the table's manifests",
            table=pinned.identifier,
        )
    content = manifest_list_of(pinned, load_file_io(dict(io_properties), pinned.table.location()))
    try:
        return decode_manifest_list(content)
    except ValueError as exc:
        raise UnsupportedTableError(
            f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} cannot be built on: {exc}; "
            "rewrite the table's manifests",
            table=pinned.identifier,
        ) from exc


def _listed(found: ListedManifest, spec_id: int, snapshot_id: int, sequence: int) -> dict[str, Any]:
    return {
        "manifest_path": found.path,
        "manifest_length": found.size_bytes,
        "partition_spec_id": spec_id,
        "content": 0,
        "sequence_number": sequence,
        "min_sequence_number": sequence,
        "added_snapshot_id": snapshot_id,
        "added_files_count": found.files,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": found.rows,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [],
    }


def _assign_row_ids(listed: Sequence[dict[str, Any]], first: int) -> int:
    """Give data manifests without one the id of their first row; return the next that is free."""
    for each in listed:
        if each["content"] == 0 and each.get("first_row_id") is None:
            each["first_row_id"] = first
            first += each["added_rows_count"] + each["existing_rows_count"]
    return first


def _counts(base: SnapshotBase, appended: Sequence[ListedManifest]) -> dict[str, str]:
    """Return the counts of a summary; totals only where the parent's summary has them."""
    rows, files = sum(each.rows for each in appended), sum(each.files for each in appended)
    found = {"added-data-files": str(files), "added-records": str(rows)}
    parent = base.pinned.snapshot
    before: Mapping[str, str] = {"total-records": "0", "total-data-files": "0"}
    if parent is not None:
        before = {} if parent.summary is None else parent.summary.additional_properties
    for name, more in (("total-records", rows), ("total-data-files", files)):
        if (text := before.get(name, "")).isdecimal():
            found[name] = str(int(text) + more)
    for name in ("total-delete-files", "total-position-deletes", "total-equality-deletes"):
        if name in before:
            found[name] = before[name]
    return found
