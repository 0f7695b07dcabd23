"""Every column type a table may have, through both halves, as Spark sees it.

The same values are written as JSON records, read hot, frozen into files, and
read cold; both readings have to give Spark the same rows.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

# column: Arrow type, Spark type, JSON value, Python value from Spark
TYPES: dict[str, tuple[pa.DataType, str, Any, Any]] = {
    "boolean": (pa.bool_(), "boolean", True, True),
    "int32": (pa.int32(), "int", -(2**31), -(2**31)),
    "int64": (pa.int64(), "bigint", 2**63 - 1, 2**63 - 1),
    "float32": (pa.float32(), "float", 1.5, 1.5),
    "float64": (pa.float64(), "double", 0.1, 0.1),
    "decimal": (pa.decimal128(38, 9), "decimal(38,9)", "1.000000001", Decimal("1.000000001")),
    "text": (pa.string(), "string", 'é "\n\u0000', 'é "\n\u0000'),
    "binary": (pa.binary(), "binary", "AP8=", bytearray(b"\x00\xff")),
    "fixed": (pa.binary(2), "binary", "AP8=", bytearray(b"\x00\xff")),
    "date": (pa.date32(), "date", "0001-01-01", dt.date(1, 1, 1)),
    "local": (
        pa.timestamp("us"),
        "timestamp_ntz",
        "2026-01-02T03:04:05.000006",
        dt.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 -- a time without a zone is what is meant
    ),
    "list": (pa.list_(pa.int32()), "array<int>", [1, None], [1, None]),
    "map": (pa.map_(pa.string(), pa.float64()), "map<string,double>", {"a": 1}, {"a": 1.0}),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string())])))]),
        "struct<a:int,b:array<struct<c:string>>>",
        {"a": 1, "b": [{"c": "x"}]},
        (1, [("x",)]),
    ),
}


@pytest.fixture(scope="module")
def typed(lake: MakeLake) -> Lake:
    """A row of values and a row of nulls in each half."""
    schema = pa.schema([("n", pa.int32()), *((name, arrow) for name, (arrow, *_) in TYPES.items())])
    made = lake(schema=schema, partitions=1)
    for n in (0, 1):
        values = {name: value for name, (_, _, value, _) in TYPES.items()}
        produce(made.bootstrap, made.topic, [{"n": n, **values}, {"n": n + 10}])
        if n == 0:
            commit_until(made)
    return made


@pytest.mark.parametrize("column", TYPES)
def test_a_type_is_the_same_hot_and_cold(spark: SparkSession, typed: Lake, column: str) -> None:
    _, spark_type, _, value = TYPES[column]
    options = {**typed.options, "columns": f"n,{column}"}

    rows = spark.read.format("kafkaiceberg").options(**options).load(typed.table)

    assert rows.dtypes[1] == (column, spark_type)
    assert {row[0]: row[1] for row in rows.collect()} == {0: value, 1: value, 10: None, 11: None}


def test_an_instant_is_the_same_hot_and_cold(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=pa.schema([("at", pa.timestamp("us", tz="UTC"))]), partitions=1)
    produce(made.bootstrap, made.topic, [{"at": "2026-01-02T03:04:05.000006+02:00"}])
    commit_until(made)
    produce(made.bootstrap, made.topic, [{"at": "2026-01-02T01:04:05.000006Z"}])

    rows = spark.read.format("kafkaiceberg").options(**made.options).load(made.table)

    assert rows.dtypes == [("at", "timestamp")]
    instant = int(dt.datetime(2026, 1, 2, 1, 4, 5, 6, tzinfo=dt.UTC).timestamp()) * 1_000_000 + 6
    assert [row[0] for row in rows.selectExpr("unix_micros(at)").collect()] == [instant, instant]


def test_all_columns_at_once_keep_their_places(spark: SparkSession, typed: Lake) -> None:
    rows = spark.read.format("kafkaiceberg").options(**typed.options).load(typed.table)

    found = rows.where("n = 1").collect()[0].asDict()

    assert found == {"n": 1, **{name: value for name, (*_, value) in TYPES.items()}}


def test_a_time_of_day_is_refused_by_name_and_may_be_left_out(spark: SparkSession, lake: MakeLake) -> None:
    from pyspark.errors import PySparkException

    made = lake(schema=pa.schema([("id", pa.int32()), ("noon", pa.time64("us"))]), partitions=1)
    produce(made.bootstrap, made.topic, [{"id": 1, "noon": "12:00:00"}])
    reader = spark.read.format("kafkaiceberg").options(**made.options)

    with pytest.raises(PySparkException, match="'noon' is a time of day"):
        reader.load(made.table)

    assert reader.option("columns", "id").load(made.table).collect() == [(1,)]
