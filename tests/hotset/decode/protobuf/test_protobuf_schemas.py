"""Where descriptors come from, and which message of a schema a record is of.

Schemas here are texts, as a registry would hand them out; the compiler is the real one.
"""

from __future__ import annotations

import base64
import re

import pyarrow as pa
import pytest
from google.protobuf.descriptor import FileDescriptor

from hotset.decode.protobuf.descriptors import describe
from hotset.errors import SchemaMismatchError
from hotset.registry.registered_schema import RegisteredSchema
from tests.hotset.proto import decode, message_class, proto3, registered

COLUMNS = pa.schema([("a", pa.int32()), ("s", pa.string())])


def serialized(file: FileDescriptor) -> str:
    return base64.b64encode(file.serialized_pb).decode()


IMPORTED = proto3("package p; message P { int32 a = 1; } message Q { string s = 1; }")
IMPORTING = 'import "p/p.proto"; import "google/protobuf/timestamp.proto"; message M { p.P c = 1; }'


@pytest.mark.parametrize("own", ["text", "serialized"])
@pytest.mark.parametrize("imported", ["text", "serialized"])
def test_a_schema_and_its_imports_may_be_text_or_serialized(own: str, imported: str) -> None:
    writer = registered(f'syntax = "proto3"; {IMPORTING}', ("p/p.proto", IMPORTED))
    file = describe(writer)
    text = writer.text if own == "text" else serialized(file)
    reference = IMPORTED.text if imported == "text" else serialized(file.pool.FindFileByName("p/p.proto"))

    found = describe(registered(text, ("p/p.proto", registered(reference))))

    assert found.message_types_by_name["M"].fields_by_name["c"].message_type.full_name == "p.P"


def test_an_import_of_an_import_is_found_also_if_two_need_it() -> None:
    left = registered('syntax = "proto3"; import "p.proto"; message L { p.P p = 1; }', ("p.proto", IMPORTED))
    right = registered('syntax = "proto3"; import "p.proto"; message R { p.P p = 1; }', ("p.proto", IMPORTED))
    writer = registered(
        'syntax = "proto3"; import "l.proto"; import "r.proto"; message M { L l = 1; R r = 2; }',
        ("l.proto", left),
        ("r.proto", right),
    )

    assert [f.name for f in describe(writer).message_types_by_name["M"].fields] == ["l", "r"]


def test_one_name_for_two_imports_is_refused() -> None:
    left = registered('syntax = "proto3"; import "p.proto";', ("p.proto", IMPORTED))
    writer = registered("", ("l.proto", left), ("p.proto", proto3("message Other {}")))

    with pytest.raises(SchemaMismatchError, match=r"two different files by the name 'p\.proto'"):
        describe(writer)


def test_a_reference_may_have_the_name_that_a_schema_without_one_gets() -> None:
    writer = registered(
        'syntax = "proto3"; import "schema.proto"; message M { p.P c = 1; }', ("schema.proto", IMPORTED)
    )

    assert list(describe(writer).message_types_by_name) == ["M"]


REFUSED = [
    (registered("message"), "Expected"),
    (registered('{"type": "record"}'), "does not compile"),
    (proto3('import "x/y.proto";'), "x/y.proto"),
    (proto3("message M { Unknown c = 1; }"), "Unknown"),
    (proto3("message M { int32 a = 1; int32 b = 1; }"), "already been used"),
    (proto3("message M {" * 5_000), "recursion limit"),
    (registered("", ("../up.proto", IMPORTED)), "no name of a file"),
    (registered("", ("/etc/up.proto", IMPORTED)), "no name of a file"),
    (registered("", ("p.proto", IMPORTED), ("p.proto/q.proto", IMPORTED)), "cannot be compiled"),
]


@pytest.mark.parametrize(("writer", "said"), REFUSED)
def test_a_schema_that_describes_nothing_is_refused_with_what_the_compiler_says(
    writer: RegisteredSchema, said: str
) -> None:
    with pytest.raises(SchemaMismatchError, match=said):
        describe(writer)


def test_a_schema_without_messages_is_refused() -> None:
    with pytest.raises(SchemaMismatchError, match="has no message"):
        decode(proto3("enum E { ZERO = 0; }"), COLUMNS)


SEVERAL = proto3(
    "message A { int32 a = 1; message B { string s = 1; message C { int32 a = 3; } } "
    "message D { string s = 4; } } "
    "message Z { string a = 1; }"
)


def test_each_record_is_of_the_message_that_its_index_names() -> None:
    bodies = [
        b"\x00" + b"\x08\x01",  # the short form of [0]
        b"\x02\x00" + b"\x08\x02",  # [0]
        b"\x04\x00\x00" + b"\x0a\x01b",  # [0, 0]
        None,
        b"\x06\x00\x00\x00" + b"\x18\x03",  # [0, 0, 0]
        b"\x04\x00\x02" + b"\x22\x01d",  # [0, 1]
        b"\x00",
    ]

    decoded = decode(SEVERAL, COLUMNS, *bodies)

    assert decoded.faults == ()
    assert [tuple(row.values()) for row in decoded.rows.to_pylist()] == [
        (1, None),
        (2, None),
        (None, "b"),
        (None, None),
        (3, None),
        (None, "d"),
        (0, None),
    ]


BAD_INDEXES = [
    (b"", "cut short"),
    (b"\x80", "cut short"),
    (b"\x04\x00", "cut short"),
    (b"\x80\x80\x80\x80\x80\x00", "too long"),
    (b"\x01", "negative"),
    (b"\x02\x01", "negative"),
    (b"\xfe\xff\xff\xff\x0f", "2147483647 long"),
    (b"\x02\x06", r"\[3\] names no message"),
    (b"\x04\x00\x04", r"\[0, 2\] names no message"),
    (b"\x02\x02", "cannot become"),  # Z, whose field is a string
]


@pytest.mark.parametrize(("body", "reason"), BAD_INDEXES)
def test_a_record_whose_index_names_no_row_is_a_fault_and_takes_no_other_with_it(
    body: bytes, reason: str
) -> None:
    decoded = decode(SEVERAL, COLUMNS, b"\0\x08\x01", body, b"\0\x08\x02")

    assert [fault.row for fault in decoded.faults] == [1]
    assert re.search(reason, decoded.faults[0].reason)
    assert decoded.rows.column("a").to_pylist() == [1, None, 2]


def test_an_index_that_clients_count_differently_is_a_fault_only_where_it_makes_a_difference() -> None:
    writer = proto3(
        "message M { map<string, int32> m = 1; message A { int32 a = 1; } message B { string s = 1; } }"
    )

    decoded = decode(
        writer, COLUMNS, b"\x04\x00\x00\x08\x01", b"\x04\x00\x02\x08\x01", b"\x04\x00\x04\x0a\x01b"
    )

    assert decoded.rows.to_pylist() == [{"a": 1, "s": None}, {"a": None, "s": None}, {"a": None, "s": "b"}]
    assert [(f.row, "M.B to some clients and M.A to others" in f.reason) for f in decoded.faults] == [
        (1, True)
    ]


OLD = proto3("message M { int32 a = 1; string gone = 2; }")
NEW = proto3("message M { string s = 1; int32 a = 9; optional int32 renamed = 2; }")


def test_records_of_each_version_become_rows_by_the_names_of_fields() -> None:
    old = message_class(OLD, "M")(a=1, gone="x").SerializeToString()
    new = message_class(NEW, "M")(a=2, s="y", renamed=3).SerializeToString()

    assert decode(OLD, COLUMNS, b"\0" + old).rows.to_pylist() == [{"a": 1, "s": None}]
    assert decode(NEW, COLUMNS, b"\0" + new).rows.to_pylist() == [{"a": 2, "s": "y"}]


def test_no_columns_and_no_records_are_rows_too() -> None:
    assert decode(OLD, pa.schema([]), b"\0", b"\0\xff").faults[0].row == 1
    assert decode(OLD, pa.schema([]), b"\2\0", b"\0", b"\0\xff").faults[0].row == 2
    assert decode(OLD, COLUMNS).rows.num_rows == 0
