"""The schema a user writes down for a topic without a table, in Spark's words.

What Spark itself makes of such a text is the reference: both must read the same columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coldset.table.empty_table import pin_absent
from federation.errors import OptionError
from federation.options.ddl import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MONEY = pa.decimal128(10, 2)
UTC = pa.timestamp("us", tz="UTC")

READ = [
    ("id bigint", {"id": pa.int64()}),
    ("a INT, b Integer,c long", {"a": pa.int32(), "b": pa.int32(), "c": pa.int64()}),
    ("a: float, b : double", {"a": pa.float32(), "b": pa.float64()}),
    ("amount decimal(10,2), whole decimal, few dec(5)", {"amount": MONEY}),
    (
        "at timestamp, here timestamp_ntz, day date",
        {"at": UTC, "here": pa.timestamp("us"), "day": pa.date32()},
    ),
    ("tags array<string>", {"tags": pa.list_(pa.string())}),
    ("deep array<array<map<string,array<int>>>>", {}),
    ("m map<string, decimal(10,2)>", {"m": pa.map_(pa.string(), MONEY)}),
    ("s struct<a: int, b: struct<c: boolean>>", {}),
    ("`a b` string, `tick``ed` binary, `1st` int", {"a b": pa.string(), "tick`ed": pa.binary()}),
    ("id bigint COMMENT 'it''s, \"an\" id', s string", {"s": pa.string()}),
    ("timestamp timestamp, `comment` string, map map<int,int>", {"timestamp": UTC}),
    ("\n  a  int\n, b\tstring ", {"b": pa.string()}),
]


@pytest.mark.parametrize(("text", "some"), READ)
def test_a_schema_is_read(text: str, some: dict[str, pa.DataType]) -> None:
    schema = parse_schema(text)

    assert {name: schema.field(name).type for name in some} == some
    assert all(field.nullable for field in schema)


def test_a_required_column_is_required() -> None:
    schema = parse_schema("id bigint NOT NULL, note string, s struct<x: int not null>")

    assert [field.nullable for field in schema] == [False, True, True]
    assert not schema.field("s").type.field("x").nullable


@pytest.mark.spark
@pytest.mark.parametrize("text", [text for text, _ in READ])
def test_spark_reads_the_same(spark: SparkSession, text: str) -> None:
    from federation.spark.spark_schema import spark_schema

    assert (
        spark_schema(parse_schema(text)).simpleString()
        == spark.createDataFrame([], text).schema.simpleString()
    )


@pytest.mark.parametrize("text", [text for text, _ in READ])
def test_a_table_of_that_schema_has_its_columns(text: str) -> None:
    schema = parse_schema(text)

    pinned = pin_absent("lake.orders", schema)

    assert pinned.arrow_schema == schema
    assert (pinned.snapshot_id, pinned.schema_id) == (None, 0)
    assert pinned.uuid == pin_absent("lake.orders", parse_schema(text)).uuid
    assert pinned.uuid != pin_absent("lake.other", schema).uuid


WRONG = [
    ("", "a name"),
    ("   ", "a name"),
    ("id", "a type at its end"),
    ("id bigint,", "a name at its end"),
    ("id bigint note string", "',' or the end at 'note string'"),
    ("id varint", "one of the types .* at 'varint'"),
    ("id tinyint", "one of the types"),
    ("id bigint, ID string", "'ID' twice"),
    ("s struct<a: int, A: int>", "'A' twice"),
    ("s struct<>", "a name at '>'"),
    ("tags array<string", "'>' at its end"),
    ("tags array", "'<' at its end"),
    ("m map<string>", "',' at '>'"),
    ("d decimal(39,2)", "precision is 1 to 38"),
    ("d decimal(5,6)", "scale at most"),
    ("d decimal(0)", "precision is 1 to 38"),
    ("d decimal(x)", "a number"),
    ("id bigint NOT", "NULL after NOT"),
    ("id bigint COMMENT 5", "a text in quotes"),
    ("1st int", "backquotes"),
    ("id bigint; drop table x", "at '; drop table x'"),
    ("id int 'x'", "at \"'x'\""),
    ("`open int", "a name or a type"),
    ("a " + "array<" * 5000 + "int" + ">" * 5000, "more than 32 deep"),
    ("a " + "struct<x:" * 5000, "more than 32 deep"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=lambda value: str(value)[:30])
def test_what_is_no_schema_is_an_error_that_says_where(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        parse_schema(text)
