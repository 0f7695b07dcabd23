"""What a Protobuf field becomes, cell by cell: a value, or a refusal that says why.

Each cell is asked of the path in C and of the one without it.
"""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hotset.errors import SchemaMismatchError
from tests.hotset.proto import cell, decode, message_class, only_field, proto3, registered
from tests.hotset.protobuf_cells import (
    ENUM,
    IMPORTS,
    INSTANT,
    MESSAGES,
    NO_UUID,
    OUTSIDE,
    SCALARS,
    UUID,
    WELL_KNOWN,
)


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
    ("uint64 c = 1;", pa.timestamp("ns")),
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
    ("string", {str(UUID): 1, str(uuid.UUID(int=7)): 2}, pa.uuid(), [(uuid.UUID(int=7), 2), (UUID, 1)]),
    ("string", {str(UUID): 1, str(UUID).upper(): 2}, pa.uuid(), ("holds a key twice",)),
    ("string", {"k": 1}, pa.uuid(), (NO_UUID,)),
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
    ("optional string c = 1;", pa.uuid(), None),
    ("string c = 1;", pa.uuid(), f"column 'c' wants {pa.uuid()}, and {NO_UUID}"),
    ("google.protobuf.StringValue c = 1;", pa.uuid(), None),
    ("google.protobuf.Timestamp c = 1;", INSTANT, None),
    ("int32 d = 1;", pa.int32(), None),
]


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
