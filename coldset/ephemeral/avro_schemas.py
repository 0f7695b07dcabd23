"""The Avro schemas of manifests and of their lists, with the field ids of the Iceberg specification.

pyiceberg writes neither version 3 nor delete manifests, and declares `equality_ids` as long where the
specification and Java say int; so the schemas are here. This file only holds and encodes them.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import fastavro


def _field(name: str, field_id: int, kind: Any, *, is_optional: bool = False) -> dict[str, Any]:
    told = {"name": name, "type": ["null", kind] if is_optional else kind, "field-id": field_id}
    return {**told, "default": None} if is_optional else told


def _map(key_id: int, value_id: int, value: str) -> dict[str, Any]:
    pair = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field("key", key_id, "int"), _field("value", value_id, value)],
    }
    return {"type": "array", "logicalType": "map", "items": pair}


def _list(element_id: int, kind: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind, "element-id": element_id}


_DATA_FILE: Final = (
    _field("content", 134, "int"),
    _field("file_path", 100, "string"),
    _field("file_format", 101, "string"),
    _field("partition", 102, {"type": "record", "name": "r102", "fields": []}),
    _field("record_count", 103, "long"),
    _field("file_size_in_bytes", 104, "long"),
    _field("column_sizes", 108, _map(117, 118, "long"), is_optional=True),
    _field("value_counts", 109, _map(119, 120, "long"), is_optional=True),
    _field("null_value_counts", 110, _map(121, 122, "long"), is_optional=True),
    _field("nan_value_counts", 137, _map(138, 139, "long"), is_optional=True),
    _field("lower_bounds", 125, _map(126, 127, "bytes"), is_optional=True),
    _field("upper_bounds", 128, _map(129, 130, "bytes"), is_optional=True),
    _field("key_metadata", 131, "bytes", is_optional=True),
    _field("split_offsets", 132, _list(133, "long"), is_optional=True),
    _field("equality_ids", 135, _list(136, "int"), is_optional=True),
    _field("sort_order_id", 140, "int", is_optional=True),
)
_FIRST_ROW_ID: Final = _field("first_row_id", 142, "long", is_optional=True)

_SUMMARY: Final = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", 509, "boolean"),
        _field("contains_nan", 518, "boolean", is_optional=True),
        _field("lower_bound", 510, "bytes", is_optional=True),
        _field("upper_bound", 511, "bytes", is_optional=True),
    ],
}
_LISTED: Final = (
    _field("manifest_path", 500, "string"),
    _field("manifest_length", 501, "long"),
    _field("partition_spec_id", 502, "int"),
    _field("content", 517, "int"),
    _field("sequence_number", 515, "long"),
    _field("min_sequence_number", 516, "long"),
    _field("added_snapshot_id", 503, "long"),
    _field("added_files_count", 504, "int"),
    _field("existing_files_count", 505, "int"),
    _field("deleted_files_count", 506, "int"),
    _field("added_rows_count", 512, "long"),
    _field("existing_rows_count", 513, "long"),
    _field("deleted_rows_count", 514, "long"),
    _field("partitions", 507, _list(508, _SUMMARY), is_optional=True),
    _field("key_metadata", 519, "bytes", is_optional=True),
)
_LISTED_ROW_ID: Final = _field("first_row_id", 520, "long", is_optional=True)

# What a field is where a writer did not say, as the specification reads older files.
_NOT_SAID: Final[Mapping[str, Any]] = {"content": 0, "sequence_number": 0, "min_sequence_number": 0}


def encode_manifest(entries: Iterable[Mapping[str, Any]], version: int, told: Mapping[str, str]) -> bytes:
    """Return a manifest.

    Args:
        entries: As in the specification, by the names there.
        version: Of the table's format, 2 or 3.
        told: The metadata of the file.
    """
    data_file = {
        "type": "record",
        "name": "r2",
        "fields": [*_DATA_FILE, *([_FIRST_ROW_ID] if version > 2 else [])],
    }
    entry = {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field("status", 0, "int"),
            _field("snapshot_id", 1, "long", is_optional=True),
            _field("sequence_number", 3, "long", is_optional=True),
            _field("file_sequence_number", 4, "long", is_optional=True),
            _field("data_file", 2, data_file),
        ],
    }
    return _encode(entry, entries, told)


def encode_manifest_list(listed: Iterable[Mapping[str, Any]], version: int, told: Mapping[str, str]) -> bytes:
    """Return a list of manifests; arguments are as those of `encode_manifest`."""
    fields = [*_LISTED, *([_LISTED_ROW_ID] if version > 2 else [])]
    return _encode({"type": "record", "name": "manifest_file", "fields": fields}, listed, told)


def decode_manifest_list(content: bytes) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a list of manifests of any version, by the names of the specification.

    Fields are found by their ids, since older writers used other names.

    Raises:
        ValueError: A field without which no list can be written is not there.
    """
    reader = fastavro.reader(io.BytesIO(content))
    schema: Any = reader.writer_schema
    known = {each["field-id"]: each["name"] for each in (*_LISTED, _LISTED_ROW_ID)}
    names = {
        each["name"]: known[each["field-id"]] for each in schema["fields"] if each.get("field-id") in known
    }
    found = []
    for record in reader:
        assert isinstance(record, dict)
        entry = {**_NOT_SAID, **{names[key]: value for key, value in record.items() if key in names}}
        if any(entry.get(each["name"]) is None for each in _LISTED if "default" not in each):
            raise ValueError(f"the list of manifests lacks counts of {entry.get('manifest_path')}")
        found.append(entry)
    return found


def _encode(schema: Any, records: Iterable[Mapping[str, Any]], told: Mapping[str, str]) -> bytes:
    found, into = list(records), io.BytesIO()
    # Equal contents are equal bytes, so a file may be written again while it is read.
    mark = hashlib.blake2b(repr((told, found)).encode(), digest_size=16).digest()
    fastavro.writer(into, schema, found, codec="deflate", metadata=dict(told), sync_marker=mark)
    return into.getvalue()
