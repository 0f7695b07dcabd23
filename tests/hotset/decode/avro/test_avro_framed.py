"""Avro in Confluent's frame: each record by its own schema, and what the newest schema adds.

The registry is a few lines; one with serializers of others is in `tests/registry/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.envelope import Envelope
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError, SchemaMismatchError
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_records import record_of
from tests.hotset.raw import raw_records
from tests.hotset.small_registry import SmallRegistry, small_registry

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("note", pa.string())])
OLD = record_of(("number", "int"))
NEW = record_of(("note", ["null", "string"]), ("id", "long"))
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
NEWEST: dict[str, Any] = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "long", "aliases": ["number"]},
        {"name": "note", "type": "string", "default": "none"},
    ],
}


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        for place, tree in enumerate([OLD, NEW, NEWEST, record_of(("id", "string"))], 1):
            running.knows(f"/schemas/ids/{place}", json.dumps(tree))
        for place, kind in [(11, "long"), (12, ["null", "int"]), (13, "string")]:
            running.knows(f"/schemas/ids/{place}", json.dumps(kind))
        yield running


def rows_of(server: SmallRegistry, *values: bytes | None, reader: str = "none") -> list[dict[str, Any]]:
    raw = raw_records(values)
    none = pa.array([[]] * len(values), HEADERS)
    raw = pa.RecordBatch.from_arrays([*raw.columns, none], names=[*raw.schema.names, "headers"])
    registry = SchemaRegistry(parse_registry({"url": server.url}))
    record_format = RecordFormat("avro", reader_schema=reader)
    decoder = RowDecoder(record_format, SCHEMA, {}, "orders", registry=registry)
    rows: list[dict[str, Any]] = decoder.decode(raw).rows.to_pylist()
    return rows


def keyed(server: SmallRegistry, keys: list[bytes], fields: tuple[str, ...], columns: pa.Schema) -> Any:
    raw = raw_records([b'{"note": "x"}'] * len(keys))
    more = [pa.array(keys, pa.binary()), pa.array([[]] * len(keys), HEADERS)]
    raw = pa.RecordBatch.from_arrays([*raw.columns, *more], names=[*raw.schema.names, "key", "headers"])
    registry = SchemaRegistry(parse_registry({"url": server.url}))
    record_format = RecordFormat("json", key="avro", key_fields=fields)
    return RowDecoder(record_format, columns, {}, "orders", registry=registry).decode(raw).rows.to_pylist()


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


VALUES = [
    framed(1, number(1)),
    framed(2, number(1) + counted(b"x") + number(2)),
    framed(1, number(3)),
    framed(2, number(0) + number(4)),
]


def test_each_record_is_read_by_its_own_schema(server: SmallRegistry) -> None:
    assert rows_of(server, *VALUES[1::2]) == [{"id": 2, "note": "x"}, {"id": 4, "note": None}]


def test_a_schema_that_has_no_field_of_the_table_is_none_of_its_records(server: SmallRegistry) -> None:
    with pytest.raises(
        SchemaMismatchError, match="no field of the table: it has 'number', and the table has 'id'"
    ):
        rows_of(server, *VALUES)


def test_a_reader_schema_adds_names_and_defaults(server: SmallRegistry) -> None:
    assert rows_of(server, *VALUES, reader="3") == [
        {"id": 1, "note": "none"},
        {"id": 2, "note": "x"},
        {"id": 3, "note": "none"},
        {"id": 4, "note": None},
    ]


@pytest.mark.parametrize("wanted", [["a", "b", "d", "e"], ["a"], ["b"], ["d"], ["e"], ["e", "a"]])
@pytest.mark.parametrize("envelope", [None, Envelope("maxwell", "type")])
def test_a_column_is_filled_by_the_same_field_whichever_are_asked_for(
    server: SmallRegistry, wanted: list[str], envelope: Envelope | None
) -> None:
    fields = [
        {"name": "b", "type": "long", "aliases": ["a"]},
        {"name": "c", "type": "long", "aliases": ["d", "e"]},
    ]
    tree: dict[str, Any] = {"type": "record", "name": "r", "fields": fields}
    body = number(7) + number(8)
    if envelope is not None:
        tree, body = record_of(("type", "string"), ("data", tree), name="change"), counted(b"insert") + body
    server.knows("/schemas/ids/20", json.dumps(tree))
    whole = pa.schema([(name, pa.int64()) for name in ("a", "b", "d", "e")] + [("type", pa.string())])
    raw = raw_records([framed(20, body)])
    raw = raw.append_column("headers", pa.array([[]], HEADERS))
    registry = SchemaRegistry(parse_registry({"url": server.url}))
    decoder = RowDecoder(
        RecordFormat("avro", envelope=envelope),
        pa.schema([whole.field(name) for name in wanted]),
        {},
        "orders",
        whole=whole,
        registry=registry,
    )

    found = decoder.decode(raw).rows.to_pylist()

    # What has a field of its name is not what another once was called.
    filled = {"a": None, "b": 7, "d": 8, "e": None}
    assert found == [{name: filled[name] for name in wanted}]


def test_a_record_that_is_no_row_is_named(server: SmallRegistry) -> None:
    with pytest.raises(DecodeError, match=r"partition 3 offset 101 .*column 'id' ends too early"):
        rows_of(server, VALUES[1], framed(2, number(0)), VALUES[1])


def test_a_schema_that_no_row_can_be_made_of_names_its_first_record(server: SmallRegistry) -> None:
    with pytest.raises(
        SchemaMismatchError, match=r"schema id 4: column 'id' wants int64, .* has string there"
    ) as caught:
        rows_of(server, VALUES[1], framed(4, counted(b"x")))

    assert caught.value.details["offset"] == 101


def test_a_key_that_is_no_record_fills_the_one_column_of_keys(server: SmallRegistry) -> None:
    keys = [
        framed(11, number(7)),
        framed(12, number(1) + number(8)),
        framed(12, number(0)),
        framed(2, number(0) + number(9)),
    ]

    assert keyed(server, keys, ("id",), SCHEMA) == [{"id": n, "note": "x"} for n in (7, 8, None, 9)]
    assert keyed(server, keys, ("id",), pa.schema([SCHEMA.field("note")])) == [{"note": "x"}] * 4


def test_a_key_that_is_no_record_cannot_fill_several_columns(server: SmallRegistry) -> None:
    columns = pa.schema([*SCHEMA, pa.field("other", pa.int64())])

    with pytest.raises(SchemaMismatchError, match="only a record has fields for the table's columns"):
        keyed(server, [framed(11, number(7))], ("id", "other"), columns)


def test_a_key_of_another_type_than_its_column_is_a_mismatch(server: SmallRegistry) -> None:
    with pytest.raises(
        SchemaMismatchError, match=r"schema id 13: column 'id' wants int64, .* has string there"
    ):
        keyed(server, [framed(13, counted(b"x"))], ("id",), SCHEMA)
