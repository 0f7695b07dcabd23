"""What bytes mean that no producer writes on purpose, on the path in C and on the one without it.

The runtime says what is a message; each case here was decided by it, and is written
down so that neither path can drift.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.decoded import Decoded
from hotset.decode.protobuf import protobuf_native as native
from hotset.decode.protobuf.protobuf_compiler import compile_protobuf
from tests.hotset.proto import decode, message_class, only_field, proto3, registered

WRITER = proto3(
    "enum Color { RED = 0; GREEN = 1; } "
    "message M { int32 i = 1; int64 l = 2; uint64 u = 3; bool b = 4; string s = 5; bytes y = 6; "
    "sint32 z = 7; Color c = 8; Sub sub = 9; repeated int32 r = 10; map<string, int32> m = 11; "
    "oneof o { int32 oi = 12; string os = 13; Sub om = 14; } optional int32 opt = 15; fixed32 f = 16; "
    "map<int32, Sub> ms = 17; M again = 18; } "
    "message Sub { int32 a = 1; repeated int32 r = 2; }"
)
SUB = pa.struct([("a", pa.int32()), ("r", pa.list_(pa.int32()))])
COLUMNS = {
    "i": pa.int32(),
    "l": pa.int64(),
    "u": pa.decimal128(20, 0),
    "b": pa.bool_(),
    "s": pa.string(),
    "y": pa.binary(),
    "z": pa.int64(),
    "c": pa.string(),
    "sub": SUB,
    "r": pa.list_(pa.int32()),
    "m": pa.map_(pa.string(), pa.int32()),
    "oi": pa.int32(),
    "os": pa.string(),
    "om": SUB,
    "opt": pa.int32(),
    "f": pa.int64(),
    "ms": pa.map_(pa.int32(), SUB),
}
SCHEMA = pa.schema(list(COLUMNS.items()))
BARE = dict.fromkeys(COLUMNS) | {
    **dict.fromkeys(("i", "l", "u", "z", "f"), 0),
    "b": False,
    "s": "",
    "y": b"",
    "c": "RED",
    "r": [],
    "m": [],
    "ms": [],
}
MINUS = b"\xff" * 9 + b"\x01"
DAMAGED = "not a Protobuf message"


def many(tag: bytes, count: int) -> bytes:
    """A message inside of a message, `count` times."""
    inner = b""
    for _ in range(count):
        size, coded = len(inner), b""
        while size > 0x7F:
            coded += bytes([size & 0x7F | 0x80])
            size >>= 7
        inner = tag + coded + bytes([size]) + inner
    return inner


CASES: list[tuple[str, bytes, dict[str, Any] | str]] = [
    ("nothing", b"", {}),
    ("a number of ten bytes", b"\x08" + MINUS, {"i": -1}),
    ("a number of eleven bytes", b"\x08" + b"\xff" * 10 + b"\x01", DAMAGED),
    ("a number longer than need be", b"\x08\x85\x80\x00", {"i": 5}),
    ("a number wider than its field", b"\x08\x85\x80\x80\x80\x80\x20", {"i": 5}),
    ("a tag longer than need be", b"\x88\x80\x80\x80\x00\x05", {"i": 5}),
    ("a tag beyond all", b"\x88\x80\x80\x80\x80\x80\x01\x05", DAMAGED),
    ("true in two bytes", b"\x20\x80\x02", {"b": True}),
    ("the largest number", b"\x18" + MINUS, {"u": 2**64 - 1}),
    ("a cut number", b"\x08\x80", DAMAGED),
    ("a field without a value", b"\x08", DAMAGED),
    ("a cut text", b"\x2a\x05ab", DAMAGED),
    ("a length beyond the record", b"\x2a\xff\xff\xff\xff\x07", DAMAGED),
    ("a length beyond all", b"\x2a" + MINUS, DAMAGED),
    ("a length in five bytes", b"\x2a\x81\x80\x80\x80\x00x", {"s": "x"}),
    ("a length in six bytes", b"\x2a\x81\x80\x80\x80\x80\x00x", DAMAGED),
    ("a cut fixed number", b"\x85\x01\x00\x00", DAMAGED),
    ("bytes behind the last field", b"\x08\x05\xff", DAMAGED),
    ("text that is not UTF-8", b"\x2a\x01\xff", "UTF-8"),
    ("text with a surrogate", b"\x2a\x03\xed\xa0\x80", "UTF-8"),
    ("text longer than need be", b"\x2a\x02\xc0\xaf", "UTF-8"),
    ("bytes that are not UTF-8", b"\x32\x01\xff", {"y": b"\xff"}),
    ("a text as a number", b"\x28\x05", {}),
    ("a number as bytes", b"\x0a\x01\x05", {}),
    ("a wire type that there is not", b"\x0e\x01", DAMAGED),
    ("field number 0", b"\x00\x01", DAMAGED),
    ("a field that there is not", b"\x98\x06\x05", {}),
    ("a group that there is not", b"\x9b\x06\x08\x01\x9c\x06", {}),
    ("a group that does not end", b"\x9b\x06\x08\x01", DAMAGED),
    ("a group that ends as another", b"\x9b\x06\xa4\x06", DAMAGED),
    ("an end without a group", b"\x9c\x06", DAMAGED),
    ("a name that there is not", b"\x40\x07", "holds 7, for which Color has no name"),
    ("a field twice", b"\x08\x01\x08\x02", {"i": 2}),
    ("a message twice", b"\x4a\x02\x08\x01\x4a\x03\x12\x01\x07", {"sub": {"a": 1, "r": [7]}}),
    ("a list in pieces", b"\x50\x01\x52\x02\x02\x03\x08\x09\x50\x04", {"i": 9, "r": [1, 2, 3, 4]}),
    ("a list that is cut", b"\x52\x02\x01\x80", DAMAGED),
    ("a key twice", b"\x5a\x05\x0a\x01k\x10\x01\x5a\x05\x0a\x01k\x10\x02", {"m": [("k", 2)]}),
    ("keys out of order", b"\x5a\x05\x0a\x01k\x10\x01\x5a\x05\x0a\x01a\x10\x02", {"m": [("a", 2), ("k", 1)]}),
    ("an entry without a key", b"\x5a\x02\x10\x01", {"m": [("", 1)]}),
    ("an entry without anything", b"\x5a\x00\x8a\x01\x00", {"m": [("", 0)], "ms": [(0, {"a": 0, "r": []})]}),
    ("an entry with more", b"\x5a\x07\x0a\x01k\x10\x01\x18\x01", {}),
    ("a member of a oneof after another", b"\x60\x05\x6a\x01x", {"os": "x"}),
    ("a message of a oneof, and again", b"\x72\x02\x08\x01\x60\x05\x72\x00", {"om": {"a": 0, "r": []}}),
    ("a damaged message of a oneof, replaced", b"\x72\x01\x08\x60\x05", DAMAGED),
    ("a damaged message in an entry, replaced", b"\x8a\x01\x03\x12\x01\x08\x8a\x01\x00", DAMAGED),
    ("a default that is there", b"\x78\x00", {"opt": 0}),
    ("damage in what no column has", b"\x92\x01\x01\x08", DAMAGED),
    ("80 levels in what no column has", many(b"\x92\x01", 80), {}),
    ("150 levels in what no column has", many(b"\x92\x01", 150), DAMAGED),
]


@pytest.fixture(params=["built", "pure"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KAFKAICEBERG_PURE", "1" if request.param == "pure" else "")
    return str(request.param)


@pytest.mark.parametrize(("payload", "expected"), [pytest.param(p, e, id=i) for i, p, e in CASES])
def test_bytes_mean_what_the_runtime_says(path: str, payload: bytes, expected: dict[str, Any] | str) -> None:
    decoded = decode(WRITER, SCHEMA, b"\0\x08\x01", b"\0" + payload, b"\0\x08\x02")

    assert decoded.rows.column("i").to_pylist()[::2] == [1, 2]
    if isinstance(expected, str):
        assert [fault.row for fault in decoded.faults] == [1]
        assert expected in decoded.faults[0].reason
    else:
        assert decoded.faults == ()
        assert decoded.rows.to_pylist()[1] == BARE | expected


def test_every_case_is_the_same_in_one_batch_on_both_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [b"\0" + payload for _, payload, _ in CASES]

    built = decode(WRITER, SCHEMA, None, *bodies, None)
    monkeypatch.setenv("KAFKAICEBERG_PURE", "1")
    pure = decode(WRITER, SCHEMA, None, *bodies, None)

    assert (built.rows, built.faults) == (pure.rows, pure.faults)


def test_an_enum_of_proto2_that_is_unknown_is_not_there(path: str) -> None:
    writer = only_field("optional E c = 1; repeated E d = 2;", around="enum E { A = 1; }", syntax="proto2")
    schema = pa.schema([("c", pa.string()), ("d", pa.list_(pa.string()))])

    decoded = decode(writer, schema, b"\0\x08\x09\x10\x01\x10\x09\x10\x01")

    assert decoded.rows.to_pylist() == [{"c": None, "d": ["A", "A"]}]


def test_text_of_proto2_that_is_not_utf8_is_a_fault_only_where_it_is_wanted(path: str) -> None:
    writer = only_field("optional string c = 1; optional string d = 2;", syntax="proto2")

    wanted = decode(writer, pa.schema([("c", pa.string())]), b"\0\x0a\x01\xff")
    other = decode(writer, pa.schema([("d", pa.string())]), b"\0\x0a\x01\xff\x12\x01d")

    assert "column 'c' wants string, and holds what is not UTF-8" in wanted.faults[0].reason
    assert other.rows.to_pylist() == [{"d": "d"}]


def test_groups_and_extensions_are_read(path: str) -> None:
    writer = only_field(
        "optional group G = 1 { optional int32 a = 1; } extensions 10 to 20; optional int32 c = 2;",
        around="extend M { optional string x = 10; }",
        syntax="proto2",
    )
    schema = pa.schema([("g", pa.struct([("a", pa.int32())])), ("c", pa.int32())])

    decoded = decode(writer, schema, b"\0\x0b\x08\x05\x0c\x10\x07", b"\0\x52\x01x", b"\0\x52\x05x")

    assert decoded.rows.to_pylist()[:2] == [{"g": {"a": 5}, "c": 7}, {"g": None, "c": None}]
    assert [fault.row for fault in decoded.faults] == [2]


def test_an_edition_is_read_by_its_features(path: str) -> None:
    writer = registered(
        'edition = "2023"; message M { int32 c = 1; int32 d = 2 [features.field_presence = IMPLICIT]; '
        "S s = 3 [features.message_encoding = DELIMITED]; } message S { int32 a = 1; }"
    )
    schema = pa.schema([("c", pa.int32()), ("d", pa.int32()), ("s", pa.struct([("a", pa.int32())]))])

    decoded = decode(writer, schema, b"\0", b"\0\x1b\x08\x05\x1c")

    assert decoded.rows.to_pylist() == [{"c": None, "d": 0, "s": None}, {"c": None, "d": 0, "s": {"a": 5}}]


def test_a_slice_of_records_is_decoded_as_they_are(path: str) -> None:
    bodies = pa.array([b"\0\x08\x01", b"\0\x08", None, b"\0\x08\x04", b"\0\x08\x05"], pa.binary())

    decoded = compile_protobuf(WRITER, SCHEMA)(bodies.slice(1, 3))

    assert decoded.rows.column("i").to_pylist() == [None, None, 4]
    assert [fault.row for fault in decoded.faults] == [0]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(payloads=st.lists(st.binary(max_size=24), min_size=1, max_size=4), data=st.data())
def test_bytes_of_all_kinds_are_the_same_on_both_paths(payloads: list[bytes], data: st.DataObject) -> None:
    made = message_class(WRITER, "M")(i=1, s="é", r=[1, 300], m={"b": 1, "a": 2}, oi=3)
    made.ms[5].r.append(1)
    good = made.SerializeToString()
    at = data.draw(st.integers(0, len(good)))
    bodies = [b"\0" + good[:at] + payload + good[at:] for payload in payloads]

    assert outcome(bodies, pure=False) == outcome(bodies, pure=True)


def outcome(bodies: list[bytes], *, pure: bool) -> tuple[pa.RecordBatch, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKAICEBERG_PURE", "1" if pure else "")
        decoded: Decoded = decode(WRITER, SCHEMA, *bodies)
        return decoded.rows, decoded.faults


def test_the_native_path_is_taken_where_it_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    if not native.is_built():
        pytest.skip("there was no compiler")
    monkeypatch.setattr(native, "reference_decoder", lambda *_: None)  # calling it would be an error

    assert decode(WRITER, SCHEMA, b"\0\x08\x01", None).rows.column("i").to_pylist() == [1, None]
