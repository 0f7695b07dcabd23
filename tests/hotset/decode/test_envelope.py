"""Changes to rows become rows: which one, what was done, and what is no change.

Records are those of real connectors; the decoders of the formats are the real ones.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded
from hotset.decode.envelope import Envelope, EnvelopeDecoder
from hotset.decode.formats import RecordFormat, require_columns
from hotset.decode.json.json_decoder import decode_json
from hotset.decode.protobuf.protobuf_compiler import compile_protobuf
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError, UnsupportedFormatError
from tests.hotset.changes import debezium, maxwell, mysql_source, text, with_schema
from tests.hotset.proto import message_class, proto3
from tests.hotset.raw import raw_records

ORDERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string()), ("op", pa.string())])
CDC = pa.struct(
    [
        pa.field("op", pa.string(), nullable=False),
        pa.field("ts", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("source", pa.string(), nullable=False),
        pa.field("target", pa.string(), nullable=False),
        pa.field("key", pa.struct([pa.field("id", pa.int64(), nullable=False)])),
    ]
)
WITH_CDC = pa.schema([("id", pa.int64()), ("_cdc", CDC)])
WITHOUT_KEY = pa.schema([("id", pa.int64()), ("_cdc", pa.struct([f for f in CDC if f.name != "key"]))])
DEBEZIUM = Envelope("debezium", "op")
OLD, NEW = {"id": 1, "note": "old"}, {"id": 1, "note": "new"}
AT = dt.datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=dt.UTC)

CHANGES = [debezium("r", None, OLD), debezium("c", None, OLD), debezium("u", OLD, NEW), debezium("d", NEW)]
ROWS = [{**OLD, "op": "r"}, {**OLD, "op": "c"}, {**NEW, "op": "u"}, {**NEW, "op": "d"}]


def decoded(*records: Any, envelope: Envelope = DEBEZIUM, schema: pa.Schema = ORDERS) -> Decoded:
    decode = EnvelopeDecoder(decode_json, envelope, may_be_wrapped=True)
    payloads = [record if isinstance(record, bytes | None) else text(record) for record in records]
    found = decode(pa.array(payloads, pa.binary()), schema)
    assert found.rows.schema == schema
    assert found.rows.num_rows == len(records)
    found.rows.validate(full=True)
    return found


def reason(record: Any, schema: pa.Schema = ORDERS) -> str:
    found = decoded(CHANGES[0], record, CHANGES[3], schema=schema)
    assert [fault.row for fault in found.faults] == [1]
    assert found.rows.column("id").to_pylist() == [1, None, 1]
    return found.faults[0].reason


def test_each_change_is_a_row_with_what_was_done() -> None:
    found = decoded(*CHANGES)

    assert found.faults == ()
    assert found.rows.to_pylist() == ROWS


def test_changes_with_and_without_a_schema_beside_them_may_be_mixed() -> None:
    found = decoded(*(with_schema(c) if n % 2 else c for n, c in enumerate(CHANGES)), None)

    assert found.faults == ()
    assert found.rows.to_pylist() == [*ROWS, dict.fromkeys(ORDERS.names)]


@pytest.mark.parametrize("columns", [["op"], ["id"], ["note", "id"], []])
def test_only_the_columns_wanted_are_there(columns: list[str]) -> None:
    schema = pa.schema([ORDERS.field(name) for name in columns])

    found = decoded(*CHANGES, schema=schema)

    assert found.faults == ()
    assert found.rows.num_rows == len(CHANGES)
    assert found.rows.to_pylist() == [{name: row[name] for name in columns} for row in ROWS]


NO_CHANGES = [
    (debezium("t"), "its op 't' is a truncation of the whole table"),
    (debezium("m", message={"prefix": "x"}), "its op 'm' is a message and no change"),
    (debezium("x", OLD, NEW), "its op 'x' is none that is known"),
    (debezium(None, OLD, NEW), "it has no 'op'"),
    (OLD, "it has no 'op'"),
    (with_schema(None), "it has no 'op'"),
    ({"payload": debezium("c", None, NEW)}, "it has no 'op'"),
    (debezium("c", OLD), "(op 'c') without 'after'"),
    (debezium("u", OLD), "(op 'u') without 'after'"),
    (debezium("d", None, NEW), "(op 'd') without 'before'"),
    (debezium("c", None, {"id": "1"}), "'id' wants int64"),
    (debezium("c", None, [NEW]), "'after' wants struct"),
    (debezium(1, None, NEW), "'op' wants string"),  # type: ignore[arg-type]
    (b"{", "not one JSON document"),
    (b"[]", "not a JSON object"),
]


@pytest.mark.parametrize(("record", "said"), NO_CHANGES)
def test_what_is_no_change_of_a_row_is_a_fault_that_says_so(record: Any, said: str) -> None:
    assert said in reason(record)


def test_a_column_that_only_the_other_row_lacks_is_not_missing() -> None:
    found = decoded(debezium("u", {"note": "no key"}, NEW))

    assert found.faults == ()
    assert found.rows.to_pylist() == [{**NEW, "op": "u"}]


def test_a_required_column_that_a_delete_does_not_tell_names_its_record() -> None:
    decoder = RowDecoder(RecordFormat(envelope=DEBEZIUM), ORDERS, {}, "t")

    with pytest.raises(DecodeError, match=r"offset 101 .*'id' is required, and is absent or null"):
        decoder.decode(raw_records([text(CHANGES[0]), text(debezium("d", {"note": "x"}))]))


def test_bytes_of_a_decimal_are_not_taken_for_a_number() -> None:
    schema = pa.schema([("id", pa.int64()), ("amount", pa.decimal128(10, 2)), ("op", pa.string())])

    assert "no decimal number" in reason(debezium("c", None, {"id": 1, "amount": "A+c="}), schema)


def cdc_rows(record_format: RecordFormat, schema: pa.Schema, *records: tuple[Any, Any]) -> list[Any]:
    raw = raw_records([text(value) for _, value in records])
    keys = pa.array([None if key is None else text(key) for key, _ in records], pa.binary())
    raw = raw.append_column("key", keys)
    decoder = RowDecoder(record_format, schema, {}, "t")
    assert decoder.needs_keys == (record_format.key is not None)
    rows: list[Any] = decoder.decode(raw).rows.to_pylist()
    return rows


def test_the_column_of_the_sinks_transform_is_filled_as_the_transform_does() -> None:
    described = RecordFormat(envelope=Envelope("debezium"), key="json")
    key = {"id": 1}

    rows = cdc_rows(
        described,
        WITH_CDC,
        (key, CHANGES[0]),
        (with_schema(key), CHANGES[2]),
        (key, CHANGES[3]),
        (None, CHANGES[1]),
    )

    same = {"ts": AT, "source": "public.orders", "target": "public.orders"}
    assert [row["_cdc"] for row in rows] == [
        {"op": "I", "offset": 100, "key": {"id": 1}, **same},
        {"op": "U", "offset": 101, "key": {"id": 1}, **same},
        {"op": "D", "offset": 102, "key": {"id": 1}, **same},
        {"op": "I", "offset": 103, "key": None, **same},
    ]


def test_a_source_without_schemas_is_named_by_its_database() -> None:
    rows = cdc_rows(
        RecordFormat(envelope=Envelope("debezium", None, "lake.{db}_{table}_v1")),
        WITHOUT_KEY,
        (None, debezium("c", None, NEW, source=mysql_source())),
    )

    assert rows[0]["_cdc"]["source"] == "inventory.orders"
    assert rows[0]["_cdc"]["target"] == "lake.inventory_orders_v1"


@pytest.mark.parametrize("ts_ms", [None, 2**63 - 1, -(2**63)])
def test_a_change_that_does_not_tell_its_time_is_a_fault(ts_ms: int | None) -> None:
    found = reason(debezium("c", None, NEW, ts_ms=ts_ms), WITHOUT_KEY)

    assert found == "its value is no change of a row: nothing in it tells _cdc.ts"


def test_a_change_that_does_not_tell_its_table_is_a_fault() -> None:
    assert "_cdc.source" in reason(debezium("c", None, NEW, source=None), WITHOUT_KEY)


@pytest.mark.parametrize(
    ("key", "said"), [({"id": "x"}, "column 'id' wants int64"), ({"other": 1}, "it has no 'id'")]
)
def test_a_bad_key_is_a_fault_of_its_record(key: Any, said: str) -> None:
    described = RecordFormat(envelope=Envelope("debezium"), key="json")

    with pytest.raises(DecodeError, match=rf"offset 101 .*its key: {said}"):
        cdc_rows(described, WITH_CDC, ({"id": 1}, CHANGES[0]), (key, CHANGES[1]))


def test_changes_in_another_format_are_decoded_by_it() -> None:
    writer = proto3(
        "message Envelope { Row before = 1; Row after = 2; Source source = 3; optional string op = 4; "
        "optional int64 ts_ms = 5; } message Row { int64 id = 1; optional string note = 2; } "
        "message Source { optional string db = 1; optional string schema = 2; optional string table = 3; }"
    )
    make = message_class(writer, "Envelope")
    bodies = [
        b"\0" + make(after=OLD, op="c").SerializeToString(),
        b"\0" + make(before=OLD, op="d").SerializeToString(),
    ]
    decode = EnvelopeDecoder(
        lambda payloads, schema, headers=None: compile_protobuf(writer, schema)(payloads),
        DEBEZIUM,
        may_be_wrapped=False,
    )

    found = decode(pa.array([*bodies, b"\0", b"\0\x0a"], pa.binary()), ORDERS)

    assert found.rows.to_pylist()[:2] == [{**OLD, "op": "c"}, {**OLD, "op": "d"}]
    assert [fault.row for fault in found.faults] == [2, 3]


def test_changes_that_maxwell_tells_are_rows() -> None:
    records = [
        maxwell("insert", OLD),
        maxwell("update", NEW, old={"note": "old"}),
        maxwell("delete", NEW),
        maxwell("bootstrap-insert", OLD),
        maxwell("bootstrap-start", {}),
        maxwell("table-drop", None),
    ]

    found = decoded(*records, envelope=Envelope("maxwell", "op"))

    assert [row["op"] for row in found.rows.to_pylist()] == [
        *("insert", "update", "delete", "bootstrap-insert"),
        *(None, None),
    ]
    assert found.rows.column("note").to_pylist() == ["old", "new", "new", "old", None, None]
    assert [fault.row for fault in found.faults] == [4, 5]


ODD = pa.struct([("op", pa.string()), ("lsn", pa.int64())])
REFUSED = [
    (RecordFormat(envelope=Envelope("debezium")), ORDERS, "no column would show it"),
    (RecordFormat(envelope=Envelope("maxwell")), WITHOUT_KEY, "no column would show it"),
    (RecordFormat(envelope=Envelope("debezium", "what")), ORDERS, "names 'what'"),
    (RecordFormat(envelope=Envelope("debezium", "id")), ORDERS, "names 'id'"),
    (RecordFormat(envelope=DEBEZIUM, key="string", key_fields=("op",)), ORDERS, "names 'op'"),
    (RecordFormat("string", envelope=DEBEZIUM), ORDERS, "has no envelope"),
    (RecordFormat(envelope=Envelope("debezium")), WITH_CDC, "'keyFormat'"),
    (
        RecordFormat(envelope=Envelope("debezium")),
        pa.schema([("_cdc", ODD)]),
        "'_cdc.lsn' of type int64 is none",
    ),
]


@pytest.mark.parametrize(("record_format", "schema", "said"), REFUSED)
def test_a_table_that_cannot_show_what_was_done_is_refused(
    record_format: RecordFormat, schema: pa.Schema, said: str
) -> None:
    with pytest.raises(UnsupportedFormatError, match=said):
        require_columns(record_format, schema, {})


def test_a_table_that_can_is_not() -> None:
    require_columns(RecordFormat(envelope=DEBEZIUM), ORDERS, {})
    require_columns(RecordFormat(envelope=Envelope("debezium")), WITHOUT_KEY, {})
    require_columns(RecordFormat(envelope=Envelope("debezium"), key="json"), WITH_CDC, {})
