"""What a Protobuf field becomes, cell by cell: a value, or a refusal that says why.

Each cell is asked of the path in C and of the one without it.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hotset.errors import SchemaMismatchError
from tests.hotset.proto import cell, decode, message_class, only_field, proto3, registered

UTC = dt.UTC
NAIVE = pa.timestamp("us")
INSTANT = pa.timestamp("us", tz="UTC")
OUTSIDE = "outside its range"
ROUNDED = "would have to be rounded"

# Type of the field, what is set in it, the column, and what it becomes; a text in a tuple is a refusal's.
SCALARS: list[tuple[str, Any, pa.DataType, Any]] = [
    ("bool", True, pa.bool_(), True),
    ("bool", False, pa.bool_(), False),
    ("int32", -(2**31), pa.int32(), -(2**31)),
    ("int32", -1, pa.int64(), -1),
    ("sint32", -5, pa.int32(), -5),
    ("sfixed32", -5, pa.int32(), -5),
    ("uint32", 2**31 - 1, pa.int32(), 2**31 - 1),
    ("uint32", 2**31, pa.int32(), (OUTSIDE,)),
    ("uint32", 2**32 - 1, pa.int64(), 2**32 - 1),
    ("fixed32", 2**32 - 1, pa.int64(), 2**32 - 1),
    ("int64", 2**31, pa.int32(), (OUTSIDE,)),
    ("int64", -(2**63), pa.int64(), -(2**63)),
    ("sint64", -(2**63), pa.int64(), -(2**63)),
    ("sfixed64", 2**63 - 1, pa.int64(), 2**63 - 1),
    ("uint64", 2**63 - 1, pa.int64(), 2**63 - 1),
    ("uint64", 2**63, pa.int64(), (OUTSIDE,)),
    ("fixed64", 2**63, pa.int64(), (OUTSIDE,)),
    ("uint64", 2**64 - 1, pa.decimal128(20, 0), Decimal(2**64 - 1)),
    ("int32", -7, pa.decimal128(6, 2), Decimal("-7.00")),
    ("int32", 10_000, pa.decimal128(6, 2), (OUTSIDE,)),
    ("int64", 9_999, pa.decimal128(6, 2), Decimal("9999.00")),
    ("int64", 1_700_000_000_000, INSTANT, dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    ("int64", -1, NAIVE, dt.datetime(1969, 12, 31, 23, 59, 59, 999000)),  # noqa: DTZ001
    ("int64", 2**62, INSTANT, (OUTSIDE,)),
    ("float", 1.5, pa.float32(), 1.5),
    ("float", 1.5, pa.float64(), 1.5),
    ("double", 0.1, pa.float64(), 0.1),
    ("double", 0.1, pa.float32(), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ("double", 1e39, pa.float32(), (OUTSIDE,)),
    ("double", math.inf, pa.float32(), math.inf),
    ("string", "é\0", pa.string(), "é\0"),
    ("bytes", b"\0\xff", pa.binary(), b"\0\xff"),
    ("bytes", b"\0\xff", pa.binary(2), b"\0\xff"),
    ("bytes", b"\0\xff", pa.binary(3), ("holds 2 bytes",)),
    ("E", 1, pa.string(), "ONE"),
    ("E", 1, pa.int32(), 1),
    ("E", 7, pa.string(), ("holds 7, for which E has no name",)),
    ("E", -7, pa.int64(), -7),
]
ENUM = "enum E { ZERO = 0; ONE = 1; }"


@pytest.fixture(params=["built", "pure"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKAICEBERG_PURE", "1" if request.param == "pure" else "")


def told(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return isinstance(found, str) and expected[0] in found
    return bool(found == expected)


@pytest.mark.parametrize(("kind", "value", "wanted", "expected"), SCALARS)
def test_a_scalar_is_what_it_says_or_refused(
    kind: str, value: Any, wanted: pa.DataType, expected: Any
) -> None:
    writer = only_field(f"{kind} c = 1;", around=ENUM)
    repeated = only_field(f"repeated {kind} c = 1;", around=ENUM)
    mapped = only_field(f"map<string, {kind}> c = 1;", around=ENUM)

    single = cell(writer, wanted, message_class(writer, "M")(c=value).SerializeToString())
    several = cell(repeated, pa.list_(wanted), message_class(repeated, "M")(c=[value]).SerializeToString())
    entries = cell(
        mapped, pa.map_(pa.string(), wanted), message_class(mapped, "M")(c={"k": value}).SerializeToString()
    )

    assert told(single, expected), single
    assert told(several, expected if isinstance(expected, tuple) else [expected]), several
    assert told(entries, expected if isinstance(expected, tuple) else [("k", expected)]), entries


REFUSED_TYPES = [
    ("int64 c = 1;", pa.float64()),
    ("bool c = 1;", pa.int32()),
    ("string c = 1;", pa.int64()),
    ("string c = 1;", pa.date32()),
    ("bytes c = 1;", pa.string()),
    ("double c = 1;", pa.int64()),
    ("double c = 1;", pa.decimal128(10, 2)),
    ("uint64 c = 1;", INSTANT),
    ("int64 c = 1;", pa.timestamp("ns")),
    ("repeated int32 c = 1;", pa.int32()),
    ("int32 c = 1;", pa.list_(pa.int32())),
    ("map<string, int32> c = 1;", pa.struct([("k", pa.int32())])),
    ("map<string, int32> c = 1;", pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))),
    ("map<int32, int32> c = 1;", pa.map_(pa.string(), pa.int32())),
    ("S c = 1;", pa.string()),
    ("S c = 1;", pa.struct([("a", pa.string())])),
    ("T c = 1;", pa.struct([("t", pa.struct([("t", pa.struct([("v", pa.int32())]))]))])),
]


@pytest.mark.parametrize(("declaration", "wanted"), REFUSED_TYPES)
def test_a_type_that_cannot_become_the_columns_is_refused_before_any_record(
    declaration: str, wanted: pa.DataType
) -> None:
    around = "message S { int32 a = 1; } message T { T t = 1; int32 v = 2; }"
    writer = registered(f'syntax = "proto3"; message Outer {{ {around} {declaration} int32 z = 9; }}')

    with pytest.raises(SchemaMismatchError, match="'c"):
        decode(writer, pa.schema([("c", wanted), ("v", pa.string()), ("t", pa.int32()), ("a", pa.string())]))


def test_a_recursive_message_is_a_column_as_far_as_it_is_not_recursive() -> None:
    writer = only_field("T c = 1;", around="message T { T t = 1; int32 v = 2; }")
    message = message_class(writer, "M")()
    message.c.v = 1
    message.c.t.v = 2

    assert cell(writer, pa.struct([("v", pa.int32())]), message.SerializeToString()) == {"v": 1}


SCALAR_KEYS = [
    ("string", {"b": 1, "a": 2, "": 3}, pa.string(), [("", 3), ("a", 2), ("b", 1)]),
    ("int32", {3: 1, -1: 2}, pa.int32(), [(-1, 2), (3, 1)]),
    ("uint64", {2**64 - 1: 1}, pa.decimal128(20, 0), [(Decimal(2**64 - 1), 1)]),
    ("uint64", {2**64 - 1: 1}, pa.int64(), (OUTSIDE,)),
    ("bool", {True: 1, False: 2}, pa.bool_(), [(False, 2), (True, 1)]),
]


@pytest.mark.parametrize(("kind", "value", "wanted", "expected"), SCALAR_KEYS)
def test_a_map_is_in_the_order_of_its_keys(
    kind: str, value: dict[Any, int], wanted: pa.DataType, expected: Any
) -> None:
    writer = only_field(f"map<{kind}, int32> c = 1;")

    found = cell(writer, pa.map_(wanted, pa.int32()), message_class(writer, "M")(c=value).SerializeToString())

    assert told(found, expected), found


STRUCT = pa.struct([("a", pa.int32()), ("z", pa.string())])
ABSENT = [
    ("int32 c = 1;", pa.int32(), 0),
    ("string c = 1;", pa.string(), ""),
    ("E c = 1;", pa.string(), "ZERO"),
    ("optional int32 c = 1;", pa.int32(), None),
    ("oneof o { int32 c = 1; string d = 2; }", pa.int32(), None),
    ("S c = 1;", STRUCT, None),
    ("repeated int32 c = 1;", pa.list_(pa.int32()), []),
    ("map<string, int32> c = 1;", pa.map_(pa.string(), pa.int32()), []),
    ("google.protobuf.Int32Value c = 1;", pa.int32(), None),
    ("google.protobuf.Timestamp c = 1;", INSTANT, None),
    ("int32 d = 1;", pa.int32(), None),
]
WELL_KNOWN = "google/protobuf/timestamp.proto google/protobuf/wrappers.proto"


@pytest.mark.parametrize(("declaration", "wanted", "expected"), ABSENT)
def test_what_is_absent_is_null_where_the_schema_can_tell_and_else_its_default(
    declaration: str, wanted: pa.DataType, expected: Any
) -> None:
    writer = only_field(declaration, around=ENUM + "message S { int32 a = 1; }", imports=WELL_KNOWN)

    assert cell(writer, wanted, b"") == expected


def test_a_default_that_proto2_declares_counts_and_others_are_null() -> None:
    writer = only_field("optional int32 c = 1 [default = 7]; optional int32 d = 2;", syntax="proto2")
    schema = pa.schema([("c", pa.int32()), ("d", pa.int32())])

    assert decode(writer, schema, b"\0").rows.to_pylist() == [{"c": 7, "d": None}]


def test_what_proto2_requires_is_required() -> None:
    writer = only_field("required int32 c = 1; repeated M m = 2;", syntax="proto2")

    assert cell(writer, pa.int32(), b"") == "its value lacks what its schema requires (c)"
    assert "m[0].c" in cell(writer, pa.int32(), b"\x08\x01\x12\x00")


def test_a_member_of_a_oneof_replaces_the_one_before_it() -> None:
    writer = only_field("oneof o { int32 c = 1; string d = 2; }")
    schema = pa.schema([("c", pa.int32()), ("d", pa.string())])

    decoded = decode(writer, schema, b"\0\x08\x05\x12\x01x", b"\0\x12\x01x\x08\x00")

    assert decoded.rows.to_pylist() == [{"c": None, "d": "x"}, {"c": 0, "d": None}]


def seconds(number: int, nanos: int = 0) -> dict[str, int]:
    return {"seconds": number, "nanos": nanos}


MESSAGES: list[tuple[str, dict[str, Any], pa.DataType, Any]] = [
    ("google.protobuf.Timestamp", {}, INSTANT, dt.datetime(1970, 1, 1, tzinfo=UTC)),
    (
        "google.protobuf.Timestamp",
        seconds(-1, 999_999_000),
        NAIVE,
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
    ),
    ("google.protobuf.Timestamp", seconds(0, 1), INSTANT, (ROUNDED,)),
    ("google.protobuf.Timestamp", seconds(0, -1000), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(0, 10**9), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(253_402_300_800), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(5), pa.struct([("seconds", pa.int64())]), {"seconds": 5}),
    ("google.protobuf.Duration", seconds(5), pa.struct([("seconds", pa.int64())]), {"seconds": 5}),
    ("google.protobuf.Int32Value", {}, pa.int32(), 0),
    ("google.protobuf.UInt64Value", {"value": 2**63}, pa.int64(), (OUTSIDE,)),
    ("google.protobuf.StringValue", {"value": "x"}, pa.string(), "x"),
    ("google.protobuf.BytesValue", {"value": b"x"}, pa.binary(), b"x"),
    ("google.protobuf.Any", {"value": b"x"}, pa.struct([("value", pa.binary())]), {"value": b"x"}),
    ("google.type.Date", {"year": 2026, "month": 2, "day": 28}, pa.date32(), dt.date(2026, 2, 28)),
    ("google.type.Date", {"year": 2026, "month": 2, "day": 29}, pa.date32(), (OUTSIDE,)),
    ("google.type.Date", {"year": 2026, "month": 2}, pa.date32(), (OUTSIDE,)),
    ("google.type.TimeOfDay", {"hours": 3, "nanos": 6000}, pa.time64("us"), dt.time(3, 0, 0, 6)),
    ("google.type.TimeOfDay", {"hours": 24}, pa.time64("us"), (OUTSIDE,)),
    ("google.type.TimeOfDay", {"nanos": 1}, pa.time64("us"), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\x03\xe7", "scale": 2}, pa.decimal128(6, 2), Decimal("9.99")),
    ("confluent.type.Decimal", {"value": b"\xff", "scale": 0}, pa.decimal128(6, 2), Decimal("-1.00")),
    ("confluent.type.Decimal", {"value": b"\x0a", "scale": 3}, pa.decimal128(6, 2), Decimal("0.01")),
    ("confluent.type.Decimal", {"value": b"\x0b", "scale": 3}, pa.decimal128(6, 2), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": -4}, pa.decimal128(6, 2), (OUTSIDE,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": -(2**31)}, pa.decimal128(6, 2), (OUTSIDE,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": 2**31 - 1}, pa.decimal128(6, 2), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\0", "scale": 2**31 - 1}, pa.decimal128(6, 2), Decimal("0.00")),
    ("confluent.type.Decimal", {"scale": 1}, pa.decimal128(6, 2), ("without digits",)),
]
IMPORTS = (
    f"{WELL_KNOWN} google/protobuf/duration.proto google/protobuf/any.proto google/type/date.proto "
    "google/type/timeofday.proto confluent/type/decimal.proto confluent/meta.proto"
)


@pytest.mark.parametrize(("kind", "value", "wanted", "expected"), MESSAGES)
def test_a_well_known_message_is_what_it_says_or_refused(
    kind: str, value: dict[str, Any], wanted: pa.DataType, expected: Any
) -> None:
    writer = only_field(f"{kind} c = 1;", imports=IMPORTS)

    found = cell(writer, wanted, message_class(writer, "M")(c=value).SerializeToString())

    assert told(found, expected), found


def test_fields_of_messages_are_matched_by_name_however_deep() -> None:
    writer = proto3(
        "message M { repeated S c = 1; message S { map<string, T> m = 7; } message T { int64 n = 2; } }"
    )
    wanted = pa.list_(
        pa.struct([("m", pa.map_(pa.string(), pa.struct([("new", pa.int32()), ("n", pa.int64())])))])
    )
    message = message_class(writer, "M")()
    message.c.add().m["k"].n = 5
    message.c.add()

    found = cell(writer, wanted, message.SerializeToString())

    assert found == [{"m": [("k", {"new": None, "n": 5})]}, {"m": []}]


def test_a_required_field_of_a_struct_that_is_absent_is_a_fault_with_its_path() -> None:
    writer = only_field("S c = 1;", around="message S { optional int32 a = 1; }")
    wanted = pa.struct([pa.field("a", pa.int32(), nullable=False)])

    assert cell(writer, wanted, b"\x0a\x00") == "column 'c.a' is required, and is absent"
    assert cell(writer, wanted, b"") is None
