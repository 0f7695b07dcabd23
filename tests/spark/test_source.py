"""`spark.read.format("kafkaiceberg")`: one frozen cut for each load, however it is used.

Spark may plan a relation more than once and scan it more than once; what is
produced in between must not show, and a new load must show it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.builders import Lake, commit_until, make_table, produce
from tests.conftest import MakeLake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])


def ids(first: int, end: int) -> list[dict[str, int]]:
    return [{"id": n} for n in range(first, end)]


def load(spark: SparkSession, lake: Lake, **options: str) -> DataFrame:
    return spark.read.format("kafkaiceberg").options(**{**lake.options, **options}).load(lake.table)


@pytest.fixture
def half(lake: MakeLake) -> Lake:
    """Ids 0 to 3 in the table, 4 and 5 beyond it."""
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, ids(0, 4))
    commit_until(made)
    produce(made.bootstrap, made.topic, ids(4, 6), partition=1)
    return made


def test_plain_pyspark_finds_the_source_by_its_name(half: Lake) -> None:
    script = f"""
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        rows = spark.read.format("kafkaiceberg").options(**{half.options!r}).load({half.table!r})
        print("sum", rows.selectExpr("sum(id)").first()[0])
        spark.stop()
    """

    # As in an activated environment: Spark runs the `python3` that it finds.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK")}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "sum 15" in ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select count(*) from t a join t b on a.id = b.id", [(6,)]),
        ("with x as (select * from t) select count(*) from x a cross join x b", [(36,)]),
        ("select count(*) from t where id in (select id from t)", [(6,)]),
        ("select (select max(id) from t), (select min(id) from t where id > 2)", [(5, 3)]),
        (
            "select sum(id) from (select * from t where id < 3 union all select * from t where id > 3)",
            [(12,)],
        ),
        ("select a.id from t a left anti join t b on a.id = b.id", []),
    ],
)
def test_a_load_is_one_cut_however_often_it_is_scanned(
    spark: SparkSession, half: Lake, sql: str, rows: list[tuple[int, ...]]
) -> None:
    load(spark, half).createOrReplaceTempView("t")
    before = spark.sql(sql)
    produce(half.bootstrap, half.topic, ids(6, 9))
    commit_until(half)

    assert [tuple(row) for row in before.collect()] == rows
    assert [tuple(row) for row in spark.sql(sql).collect()] == rows
    assert load(spark, half).count() == 9


def test_a_view_by_sql_is_a_cut_as_well(spark: SparkSession, half: Lake) -> None:
    given = ", ".join(f"`{key}` '{value}'" for key, value in {**half.options, "path": half.table}.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING kafkaiceberg OPTIONS ({given})")
    produce(half.bootstrap, half.topic, ids(6, 7))

    assert spark.sql("select count(*) from v a join v b using (id)").first()[0] == 6


def test_a_cut_token_reads_an_earlier_cut(spark: SparkSession, half: Lake) -> None:
    token = half.open().cut().token()
    produce(half.bootstrap, half.topic, ids(6, 9))
    commit_until(half)

    assert load(spark, half, cut=token).count() == 6
    assert load(spark, half).count() == 9


def test_columns_are_chosen_by_option(spark: SparkSession, half: Lake) -> None:
    rows = load(spark, half, columns="note,id")

    assert rows.columns == ["note", "id"]
    assert sorted(row.id for row in rows.collect()) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "do",
    [
        lambda rows: rows.select("note", "id").where("id >= 4").orderBy("id").collect(),
        lambda rows: rows.where("id >= 4 and note is null").orderBy("id").collect(),
    ],
)
def test_filters_and_projections_are_applied_by_spark(spark: SparkSession, half: Lake, do: Any) -> None:
    assert [row.id for row in do(load(spark, half))] == [4, 5]


def test_a_limit_gives_that_many_rows(spark: SparkSession, half: Lake) -> None:
    rows = load(spark, half)

    assert rows.limit(2).count() == 2
    assert len(rows.take(1)) == 1
    assert rows.limit(100).count() == 6


def test_counting_needs_no_column(spark: SparkSession, half: Lake) -> None:
    assert load(spark, half).count() == 6
    assert load(spark, half).selectExpr("count(1)", "count(note)").first() == (6, 0)


def test_halves_are_spread_over_tasks(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA, partitions=3)
    for first in (0, 10):
        produce(made.bootstrap, made.topic, ids(first, first + 10))
        commit_until(made)
    for partition in range(3):
        produce(made.bootstrap, made.topic, ids(20, 30), partition=partition)

    rows = load(spark, made, **{"maxRecordsPerPartition": "5", "split-size": "1"})

    assert rows.rdd.getNumPartitions() == 3 * 2 + 2
    assert rows.count() == 50


def test_an_empty_topic_and_an_empty_table_have_a_schema_and_no_rows(
    spark: SparkSession, lake: MakeLake
) -> None:
    rows = load(spark, lake(schema=SCHEMA))

    assert rows.schema.simpleString() == "struct<id:bigint,note:string>"
    assert rows.collect() == []


def test_a_table_that_only_one_half_fills_is_read(spark: SparkSession, lake: MakeLake) -> None:
    hot, cold = lake(schema=SCHEMA), lake(schema=SCHEMA)
    for made in (hot, cold):
        produce(made.bootstrap, made.topic, ids(0, 3))
    commit_until(cold)

    assert (load(spark, hot).count(), load(spark, cold).count()) == (3, 3)


def test_a_plain_table_needs_no_topic(spark: SparkSession, half: Lake) -> None:
    plain = {key: value for key, value in half.options.items() if key.startswith("catalog.")}

    rows = spark.read.format("kafkaiceberg").options(read="cold", **plain).load(half.table)

    assert rows.count() == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subscripe": "x"}, "OPTION_INVALID|did you mean subscribe"),
        ({"columns": "id,nope"}, "has no column 'nope'"),
        ({"kafka.group.id": "x"}, "uses no consumer group"),
        ({"snapshot-id": "1"}, "no snapshot 1"),
        ({"maxHotRecords": "1"}, "maxHotRecords=1"),
        ({"maxDrainBytes": "0"}, "above zero"),
    ],
)
def test_a_mistake_is_an_error_at_load(
    spark: SparkSession, half: Lake, options: dict[str, str], says: str
) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        load(spark, half, **options)

    assert re.search(says, str(caught.value))


def test_a_load_without_a_table_is_an_error(spark: SparkSession, half: Lake) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="no table is named"):
        spark.read.format("kafkaiceberg").options(**half.options).load()


def test_a_schema_from_the_user_is_refused_because_it_would_take_more_cuts(
    spark: SparkSession, half: Lake
) -> None:
    from pyspark.errors import PySparkException

    reader = spark.read.format("kafkaiceberg").options(**half.options).schema("id long")

    with pytest.raises(PySparkException, match="a cut for each scan"):
        reader.load(half.table).collect()


def test_a_bad_record_fails_the_job_and_is_named(spark: SparkSession, lake: MakeLake) -> None:
    from pyspark.errors import PySparkException

    made = lake(schema=SCHEMA, partitions=1)
    produce(made.bootstrap, made.topic, [*ids(0, 2), b"{bad"])

    with pytest.raises(PySparkException, match=r"partition 0 offset 2 is not a row"):
        load(spark, made).collect()


def test_a_table_made_anew_is_not_read_with_the_old_ones_schema(spark: SparkSession, half: Lake) -> None:
    half.catalog.drop_table(half.table)
    make_table(half.catalog, half.table, pa.schema([("id", pa.int32()), ("other", pa.string())]))

    rows = load(spark, half)

    assert rows.schema.simpleString() == "struct<id:int,other:string>"
    assert rows.count() == 6
