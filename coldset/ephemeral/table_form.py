"""A table's metadata as JSON values, in the form in which an ephemeral snapshot is built on it.

UUID, schemas, specs, sort orders, refs and properties are those of the table; its history is what refs and
the pinned snapshot need, as after an expiry. Whoever gets such metadata must not be able to remove a file of
the real table by it: it names no older metadata files, and says that its files are not its own to remove.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.typedef import IcebergBaseModel

from coldset.table import PinnedTable

# Iceberg's maintenance leaves files alone that a table shares with others, which is said by this property.
_NOT_ITS_OWN: Final = {"gc.enabled": "false"}
_OF_SNAPSHOTS: Final = ("snapshots", "snapshot-log", "statistics", "partition-statistics")
_UNSORTED: Final = 0
_MAIN: Final = "main"


def metadata_form(metadata: TableMetadata) -> dict[str, Any]:
    """Return all of a table's metadata as JSON values."""
    # For version 3 the class itself refuses, since pyiceberg writes no such tables yet.
    found: dict[str, Any] = json.loads(
        IcebergBaseModel.model_dump_json(metadata, by_alias=True, exclude_none=True)
    )
    return found | {"properties": {**found.get("properties", {}), **_NOT_ITS_OWN}}


def pinned_form(pinned: PinnedTable) -> dict[str, Any]:
    """Return a table's metadata, in version 2 at least, whose main branch is at the pinned snapshot."""
    metadata = pinned.table.metadata
    told = metadata_form(metadata.to_v2() if isinstance(metadata, TableMetadataV1) else metadata)
    if pinned.snapshot_id is None:
        return told
    return told | {"current-schema-id": pinned.schema_id, **main_at(told, pinned.snapshot_id)}


def main_at(told: Mapping[str, Any], snapshot_id: int) -> dict[str, Any]:
    """Return what of a table's metadata says that its main branch is at a snapshot."""
    refs = told.get("refs", {})
    main = {"type": "branch", **refs.get(_MAIN, {}), "snapshot-id": snapshot_id}
    return {"current-snapshot-id": snapshot_id, "refs": {**refs, _MAIN: main}}


def table_form(pinned: PinnedTable) -> dict[str, Any]:
    """Return a table's metadata, in version 2 at least, with no more history than the snapshot needs."""
    metadata = pinned.table.metadata
    if isinstance(metadata, TableMetadataV1):
        metadata = metadata.to_v2()
    told = metadata_form(metadata)
    kept = {ref["snapshot-id"] for ref in told.get("refs", {}).values()} | {pinned.snapshot_id}
    for name in _OF_SNAPSHOTS:
        if name in told:
            told[name] = [each for each in told[name] if each["snapshot-id"] in kept]
    return told | {"metadata-log": [], "current-schema-id": pinned.schema_id}


def require_bound(told: dict[str, Any], schema: Schema, spec_id: int) -> None:
    """See to it that the default spec and sort order are of columns that a schema has.

    An older snapshot may be read by a schema that lacks columns which the table has been partitioned or
    sorted by since.

    Args:
        told: The metadata, which is changed if need be.
        schema: The schema.
        spec_id: The spec without fields.
    """
    known = set(schema.field_ids)
    if not _is_bound(told["partition-specs"], "spec-id", told["default-spec-id"], known):
        told["default-spec-id"] = spec_id
    if not _is_bound(told["sort-orders"], "order-id", told["default-sort-order-id"], known):
        told["default-sort-order-id"] = _UNSORTED
        if all(order["order-id"] != _UNSORTED for order in told["sort-orders"]):
            told["sort-orders"] = [*told["sort-orders"], {"order-id": _UNSORTED, "fields": []}]


def _is_bound(listed: list[dict[str, Any]], name: str, wanted: int, known: set[int]) -> bool:
    return all(
        field.get("source-id") in known
        for each in listed
        if each[name] == wanted
        for field in each["fields"]
        if field["transform"] != "void"
    )
