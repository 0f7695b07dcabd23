"""Records that share no field with the table are no rows of it, in every format that has names of fields.

All columns of these tables may be null, so each such record used to be a row of nulls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.bad_records import BadRecords
from hotset.decode.envelope import Envelope
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import DecodedRows, RowDecoder
from hotset.errors import DecodeError, SchemaMismatchError
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_records import record_of
from tests.hotset.raw import raw_records
from tests.hotset.small_registry import SmallRegistry, small_registry

SCHEMA = pa.schema([("id", pa.int64()), ("note", pa.string())])
CHANGES = pa.schema([*SCHEMA, ("op", pa.string())])
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
PLAIN = RecordFormat()
DEBEZIUM = RecordFormat(envelope=Envelope("debezium", "op"))

STRANGERS = {
    "of Debezium": (
        {"before": None, "after": {"id": 1}, "op": "c", "ts_ms": 5},
        r"it has 'before', 'after', 'op', 'ts_ms', and the table has 'id', 'note'; .*set envelope=debezium",
    ),
    "of Maxwell": (
        {"database": "d", "table": "t", "type": "insert", "data": {"id": 1}},
        "set envelope=maxwell",
    ),
    "with its schema": (
        {"schema": {"type": "struct", "fields": []}, "payload": {"id": 1}},
        "set schemas.enable=false",
    ),
    "in another case": ({"ID": 1, "x": 2}, r"names differ only in case \('ID' for 'id'\)"),
    "of another topic": ({"user": 1, "page": "/"}, "it may be of another topic"),
    "with many fields": ({f"f{n}": n for n in range(9)}, "'f5' and 3 more, and the table"),
    "with a long name": ({"n" * 500: 1}, rf"it has '{'n' * 40}', and"),
}


def decode(values: list[Any], form: RecordFormat = PLAIN, schema: pa.Schema = SCHEMA) -> DecodedRows:
    payloads = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    return RowDecoder(form, schema, {}, "t").decode(raw_records(payloads))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("value", "says"), STRANGERS.values(), ids=STRANGERS)
def test_a_record_without_a_field_of_the_table_is_bad_and_says_what_it_looks_like(
    value: dict[str, Any], says: str
) -> None:
    with pytest.raises(
        DecodeError, match=f"offset 101 is not a row of the table: its value has no field.*{says}"
    ):
        decode([{"id": 1}, value, {"note": "x"}])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "value",
    [{}, {"id": None}, {"note": None, "user": 1}, {"user": 1, "id": 2}, b'{"user": 1, "\\u0069d": null}'],
    ids=["nothing", "null", "null and another", "another first", "an escaped name"],
)
def test_a_record_with_a_field_of_the_table_or_with_none_at_all_is_a_row(value: Any) -> None:
    found = decode([value])

    assert (found.rows.num_rows, found.bad) == (1, ())


@pytest.mark.usefixtures("way")
def test_such_records_are_counted_where_bad_ones_are_left_out() -> None:
    found = decode([{"id": 1}, {"ID": 2}, {"id": 3}], RecordFormat(bad_records=BadRecords.SKIP))

    assert found.rows.column("id").to_pylist() == [1, 3]
    assert [bad.offset for bad in found.bad] == [101]


@pytest.mark.usefixtures("way")
def test_the_row_in_an_envelope_is_held_against_the_table() -> None:
    right = {"op": "c", "before": None, "after": {"id": 1}}
    wrong = {"op": "c", "before": None, "after": {"ID": 1}}
    wrapped = {"schema": {"type": "struct"}, "payload": wrong}

    assert decode([right], DEBEZIUM, CHANGES).rows.to_pylist() == [{"id": 1, "note": None, "op": "c"}]
    for value in (wrong, wrapped):
        with pytest.raises(DecodeError, match="'after' has no field of the table: it has 'ID', and"):
            decode([right, value], DEBEZIUM, CHANGES)


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        running.knows("/schemas/ids/1", json.dumps(record_of(("ID", "long"))))
        running.knows("/schemas/ids/2", json.dumps(record_of(("id", "long"))))
        change = record_of(("op", "string"), ("after", record_of(("ID", "long"), name="row")), name="change")
        running.knows("/schemas/ids/3", json.dumps(change))
        proto = 'syntax = "proto3"; message Row { int64 ID = 1; } message Right { int64 id = 1; }'
        running.knows("/schemas/ids/4", proto, "PROTOBUF")
        yield running


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


def registered(server: SmallRegistry, form: RecordFormat, schema: pa.Schema, *values: bytes) -> DecodedRows:
    raw = raw_records(list(values))
    none = pa.array([[]] * len(values), HEADERS)
    raw = pa.RecordBatch.from_arrays([*raw.columns, none], names=[*raw.schema.names, "headers"])
    registry = SchemaRegistry(parse_registry({"url": server.url}))
    return RowDecoder(form, schema, {}, "t", registry=registry).decode(raw)


def test_an_avro_schema_is_held_against_the_table(server: SmallRegistry) -> None:
    values = [framed(2, number(7)), framed(1, number(8))]
    change = framed(3, counted(b"c") + number(8))

    with pytest.raises(SchemaMismatchError, match=r"schema id 1: .*it has 'ID', .*only in case"):
        registered(server, RecordFormat("avro"), SCHEMA, *values)
    with pytest.raises(SchemaMismatchError, match=r"'row' has no field of the table: it has 'ID'"):
        registered(server, RecordFormat("avro", envelope=DEBEZIUM.envelope), CHANGES, change)
    skipping = RecordFormat("avro", bad_records=BadRecords.SKIP)
    found = registered(server, skipping, SCHEMA, *values)
    assert (found.rows.column("id").to_pylist(), len(found.bad)) == ([7], 1)


def test_a_protobuf_message_is_held_against_the_table(server: SmallRegistry) -> None:
    wrong, right = framed(4, b"\0\x08\x07"), framed(4, b"\x02\x02\x08\x07")

    found = registered(server, RecordFormat("protobuf"), SCHEMA, right)
    assert found.rows.column("id").to_pylist() == [7]
    with pytest.raises(DecodeError, match="message Row has no field of the table: it has 'ID'"):
        registered(server, RecordFormat("protobuf"), SCHEMA, wrong)
