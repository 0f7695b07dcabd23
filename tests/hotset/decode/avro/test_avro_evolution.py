"""Records of other schemas than the table's: more fields, fewer, other names, other types, other files.

Each record is read by the schema it was written with; what it lacks is the newest
schema's default, or null.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from hotset.decode.avro.avro_compiler import compile_avro, compile_program
from hotset.errors import SchemaMismatchError
from hotset.registry.registered_schema import RegisteredSchema
from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_records import PATHS, Runner, decode, reasons, record_of, rows, schema_of

LONG, TEXT = pa.int64(), pa.string()
AB = pa.schema([("a", LONG), ("b", TEXT)])
TREE: dict[str, Any] = {
    "type": "record",
    "name": "tree",
    "fields": [
        {"name": "value", "type": "long"},
        {"name": "children", "type": {"type": "array", "items": "tree"}},
    ],
}


def aliased(name: str, kind: Any, *aliases: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "aliases": list(aliases), **more}


def record(*fields: dict[str, Any], name: str = "r", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


@pytest.mark.parametrize("runner", PATHS)
def test_fields_are_matched_by_name_in_any_order(runner: Runner) -> None:
    writer = record_of(("b", "string"), ("more", "string"), ("a", "int"))

    found = decode(runner, writer, AB, [counted(b"x") + counted(b"unread") + number(1)])

    assert rows(found) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("runner", PATHS)
def test_names_are_exact(runner: Runner) -> None:
    found = decode(runner, record_of(("A", "long"), ("b", "string")), AB, [number(1) + counted(b"x")])

    assert rows(found) == [{"a": None, "b": "x"}]


@pytest.mark.parametrize("runner", PATHS)
def test_what_was_renamed_is_found_by_the_writers_alias(runner: Runner) -> None:
    writer = record(aliased("new_a", "long", "older_a", "a"), aliased("b", "string"))

    assert rows(decode(runner, writer, AB, [number(1) + counted(b"x")])) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("runner", PATHS)
def test_what_was_renamed_later_is_found_by_the_newest_schemas_alias(runner: Runner) -> None:
    writer = record_of(("old_a", "long"), ("b", "string"))
    newest = record(aliased("a", "long", "old_a"), aliased("b", "string"))

    found = decode(runner, writer, AB, [number(1) + counted(b"x")], newest)

    assert rows(found) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("runner", PATHS)
def test_a_column_with_the_old_name_is_filled_by_the_new_field_of_a_schema_in_between(runner: Runner) -> None:
    writer = record_of(("new_a", "long"), ("b", "string"))
    newest = record(aliased("new_a", "long", "a"), aliased("b", "string"))

    found = decode(runner, writer, AB, [number(1) + counted(b"x")], newest)

    assert rows(found) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("runner", PATHS)
def test_a_field_fills_one_column_and_its_own_first(runner: Runner) -> None:
    columns = pa.schema([("a", LONG), ("new_a", LONG)])

    found = decode(runner, record(aliased("new_a", "long", "a")), columns, [number(1)])

    assert rows(found) == [{"a": None, "new_a": 1}]


def test_two_fields_that_were_one_column_are_a_mismatch() -> None:
    writer = schema_of(record(aliased("x", "long", "a"), aliased("y", "long", "a")))

    with pytest.raises(SchemaMismatchError, match="both say that they were called 'a'"):
        compile_program(writer, AB)


@pytest.mark.parametrize("runner", PATHS)
def test_what_the_writer_lacks_is_null_or_the_newest_schemas_default(runner: Runner) -> None:
    writer = record_of(("a", "long"))
    newest = record(aliased("a", "long"), aliased("b", ["null", "string"], default="none"))

    assert rows(decode(runner, writer, AB, [number(1)])) == [{"a": 1, "b": None}]
    assert rows(decode(runner, writer, AB, [number(1), number(2)], newest)) == [
        {"a": 1, "b": "none"},
        {"a": 2, "b": "none"},
    ]


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(
    ("avro", "default", "wanted", "value"),
    [
        ("int", -3, LONG, -3),
        ("float", 1.5, pa.float64(), 1.5),
        ("boolean", True, pa.bool_(), True),
        ("bytes", "\u00ff", pa.binary(), b"\xff"),
        ({"type": "fixed", "name": "f", "size": 2}, "\u0000\u00ff", pa.binary(2), b"\0\xff"),
        ({"type": "enum", "name": "e", "symbols": ["X", "Y"]}, "Y", TEXT, "Y"),
        ({"type": "string", "logicalType": "uuid"}, str(UUID(int=7)), pa.uuid(), UUID(int=7)),
        ({"type": "fixed", "name": "f", "size": 16}, "\u00ff" * 16, pa.uuid(), UUID(bytes=b"\xff" * 16)),
        (
            {"type": "array", "items": "string"},
            [str(UUID(int=7))],
            pa.list_(pa.field("element", pa.uuid(), nullable=False)),
            [UUID(int=7)],
        ),
        (["null", "long"], None, LONG, None),
        ({"type": "array", "items": "long"}, [1, 2], pa.list_(LONG), [1, 2]),
        ({"type": "map", "values": "long"}, {"k": 1}, pa.map_(TEXT, LONG), [("k", 1)]),
        (
            record_of(("x", "long"), name="in"),
            {"x": 7},
            pa.struct([("x", LONG), ("y", TEXT)]),
            {"x": 7, "y": None},
        ),
        (record(aliased("x", "long", default=9), name="in"), {}, pa.struct([("x", LONG)]), {"x": 9}),
    ],
)
def test_defaults_of_every_type(
    runner: Runner, avro: Any, default: Any, wanted: pa.DataType, value: Any
) -> None:
    newest = record(aliased("a", "long"), aliased("d", avro, default=default))

    found = decode(runner, record_of(("a", "long")), pa.schema([("d", wanted)]), [number(1)], newest)

    assert rows(found) == [{"d": value}]


@pytest.mark.parametrize("default", [1, {}, [1], 2**63, "\u20ac"])
def test_a_default_that_is_no_value_of_its_type_is_a_mismatch(default: Any) -> None:
    newest = schema_of(record(aliased("b", "bytes", default=default)))

    with pytest.raises(SchemaMismatchError, match="has a default for 'b' that is no value of its type"):
        compile_program(schema_of(record_of(("a", "long"))), pa.schema([("b", pa.binary())]), newest)


@pytest.mark.parametrize("runner", PATHS)
def test_structs_evolve_as_rows_do(runner: Runner) -> None:
    inner = pa.struct([("new", LONG), ("gone", TEXT), ("late", LONG)])
    writer = record_of(("s", ["null", record_of(("more", "string"), ("old", "int"), name="in")]))
    newest = record_of(
        ("s", record(aliased("new", "long", "old"), aliased("late", "long", default=5), name="in"))
    )

    payloads = [number(1) + counted(b"m") + number(2), number(0)]

    assert rows(decode(runner, writer, pa.schema([("s", inner)]), payloads, newest)) == [
        {"s": {"new": 2, "gone": None, "late": 5}},
        {"s": None},
    ]


@pytest.mark.parametrize("runner", PATHS)
def test_a_required_field_of_a_struct_that_is_absent_is_flagged_where_there_is_a_struct(
    runner: Runner,
) -> None:
    inner = pa.struct([pa.field("x", LONG, nullable=False)])
    writer = record_of(("s", ["null", record_of(("y", "long"), name="in")]))

    found = decode(runner, writer, pa.schema([("s", inner)]), [number(0), number(1) + number(2)])

    assert found.rows.to_pylist() == [{"s": None}, {"s": None}]
    assert reasons(found) == [(1, "column 's.x' is required, and is absent or null")]


@pytest.mark.parametrize("runner", PATHS)
def test_every_branch_of_a_union_may_be_the_column(runner: Runner) -> None:
    writer = record_of(("a", ["int", "null", "float", "long"]))
    payloads = [number(0) + number(1), number(1), number(2) + b"\0\0\x20\x40", number(3) + number(2**40)]

    found = decode(runner, writer, pa.schema([("a", pa.float64())]), payloads)

    assert rows(found) == [{"a": 1.0}, {"a": None}, {"a": 2.5}, {"a": 2.0**40}]


def test_a_union_with_a_branch_that_is_not_the_column_is_a_mismatch() -> None:
    with pytest.raises(SchemaMismatchError, match=r"column 'a' wants int64, and .* has string there"):
        compile_program(schema_of(record_of(("a", ["null", "long", "string"]))), AB)


@pytest.mark.parametrize("runner", PATHS)
def test_a_topic_of_several_record_types_gives_rows_of_each(runner: Runner) -> None:
    writer = [record_of(("a", "long"), name="one"), "null", record_of(("b", "string"), name="other")]

    found = decode(runner, writer, AB, [number(0) + number(1), number(1), number(2) + counted(b"x")])

    assert rows(found) == [{"a": 1, "b": None}, {"a": None, "b": None}, {"a": None, "b": "x"}]


@pytest.mark.parametrize("writer", ["string", ["null", "string"], {"type": "array", "items": "long"}])
def test_what_is_no_record_is_a_mismatch(writer: Any) -> None:
    with pytest.raises(SchemaMismatchError, match="only a record has fields for the table's columns"):
        compile_program(schema_of(writer), AB)


def test_a_wanted_record_inside_of_itself_is_a_mismatch() -> None:
    children = pa.list_(pa.struct([("value", LONG), ("children", pa.list_(pa.struct([("value", LONG)])))]))
    columns = pa.schema([("children", children)])

    with pytest.raises(SchemaMismatchError, match="'tree' that stands inside of itself"):
        compile_program(schema_of(TREE), columns)


@pytest.mark.parametrize("runner", PATHS)
def test_a_record_inside_of_itself_is_skipped(runner: Runner) -> None:
    leaf = number(1) + b"\0"
    payload = number(7) + number(2) + leaf + (number(2) + number(1) + leaf + b"\0") + b"\0"

    assert rows(decode(runner, TREE, pa.schema([("value", LONG)]), [payload])) == [{"value": 7}]


@pytest.mark.parametrize("runner", PATHS)
def test_types_of_referenced_schemas_are_found_also_through_references(runner: Runner) -> None:
    money = schema_of({**record_of(("cents", "long"), name="Money"), "namespace": "shop"})
    price = schema_of(
        {**record_of(("net", "Money"), ("gross", "shop.Money"), name="Price"), "namespace": "shop"},
        [("shop.Money", money)],
    )
    order = schema_of(
        {**record_of(("price", "shop.Price"), ("tip", ["null", "Money"]), name="Order"), "namespace": "shop"},
        [("shop.Money", money), ("shop.Price", price)],
    )
    cents = pa.struct([("cents", LONG)])
    columns = pa.schema([("price", pa.struct([("net", cents), ("gross", cents)])), ("tip", cents)])

    found = runner(compile_program(order, columns))(
        pa.array([number(1) + number(2) + number(1) + number(3)], pa.binary())
    )

    assert rows(found) == [{"price": {"net": {"cents": 1}, "gross": {"cents": 2}}, "tip": {"cents": 3}}]


@pytest.mark.parametrize("runner", PATHS)
def test_short_names_are_looked_for_in_the_namespace_and_then_outside(runner: Runner) -> None:
    inside = {"type": "fixed", "name": "id", "size": 1, "namespace": "a.b"}
    outside = {"type": "fixed", "name": "id", "size": 2, "namespace": ""}
    inner = {"type": "record", "name": "a.b.in", "fields": [aliased("x", inside), aliased("y", "id")]}
    writer = record(aliased("o", outside), aliased("s", inner), aliased("p", "id"), name="r")
    columns = pa.schema([("p", pa.binary(2)), ("s", pa.struct([("y", pa.binary(1))]))])

    assert rows(decode(runner, writer, columns, [b"ooxypp"])) == [{"p": b"pp", "s": {"y": b"y"}}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "7",
        "null",
        "[[[",
        "[" * 100_000,
        '{"type": "record", "name": "r"}',
        '{"type": "record", "fields": []}',
        '{"type": "record", "name": "r", "fields": [{"type": "long"}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a"}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "nobody"}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a", "type": []}, {"name": "a", "type": []}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "fixed", "name": "f"}}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "enum", "name": "e"}}]}',
        '{"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "record", "name": "r"}}]}',
        '{"type": "enum", "name": "e", "symbols": ["\\ud800"]}',
        '{"type": ' * 200 + '"long"' + "}" * 200,
    ],
)
def test_what_is_no_avro_schema_is_a_mismatch(text: str) -> None:
    with pytest.raises(SchemaMismatchError):
        compile_avro(RegisteredSchema("AVRO", text), AB)


def test_a_schema_that_takes_too_many_steps_is_a_mismatch() -> None:
    kinds = [record_of(*((f"f{n}", "long") for n in range(300)), name=f"n{kind}") for kind in range(200)]
    columns = pa.schema([(f"f{n}", LONG) for n in range(300)])

    with pytest.raises(SchemaMismatchError, match="takes more than 50000 steps to read"):
        compile_program(schema_of(kinds), columns)
    compile_program(schema_of(kinds[:100]), columns)
