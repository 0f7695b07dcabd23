"""Topics that have no table yet: `read=hot` reads what the topic retains, and asks no catalog.

It never happens by itself: a table that is missing is an error that names the way.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coldset.errors import TableNotFoundError
from federation.doctor.examination import examine
from federation.errors import CutTokenError, OffsetGapError, OptionError, TableReplacedError
from kafkaiceberg.__main__ import main
from pipeline.errors import FreezeOptionError
from pipeline.freeze import freeze_once
from tests.builders import (
    Lake,
    add_partitions,
    commit_until,
    delete_records,
    make_topic,
    produce,
    unique,
    write_config,
)
from tests.conftest import MakeLake
from tests.sql_gateway.door import open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stack import KafkaBroker

pytestmark = pytest.mark.kafka

SCHEMA = "order_id bigint, region string, amount decimal(10,2), tags array<string>, at struct<x: int, y: int>"


def orders(first: int, end: int) -> list[dict[str, object]]:
    return [
        {"order_id": i, "region": "eu", "amount": f"{i}.50", "tags": ["a", "b"], "at": {"x": i, "y": -i}}
        for i in range(first, end)
    ]


@pytest.fixture
def topic_only(broker: KafkaBroker, tmp_path: Path) -> Lake:
    """Five orders in a topic; there is no table, and no catalog either."""
    name = unique("orders")
    make_topic(broker.bootstrap, name)
    produce(broker.bootstrap, name, orders(0, 3))
    produce(broker.bootstrap, name, orders(3, 5), partition=1)
    return Lake(
        broker.bootstrap, tmp_path / "nowhere", f"live.{name}", name, {"read": "hot", "schema": SCHEMA}
    )


def ids(lake: Lake, **options: str) -> list[int]:
    return sorted(lake.open(**options).scan().to_arrow()["order_id"].to_pylist())


def test_a_topic_is_read_alone(topic_only: Lake) -> None:
    scan = topic_only.open().scan()
    rows = scan.to_arrow().sort_by("order_id")

    assert rows.schema.field("amount").type == pa.decimal128(10, 2)
    assert [str(n) for n in rows["amount"].to_pylist()] == ["0.50", "1.50", "2.50", "3.50", "4.50"]
    assert rows["tags"].to_pylist()[0] == ["a", "b"]
    assert rows["at"].to_pylist()[4] == {"x": 4, "y": -4}
    assert scan.receipt.snapshot_id is None
    assert (scan.receipt.rows_cold, scan.receipt.rows_hot) == (0, 5)
    assert scan.receipt.boundary is not None
    assert scan.receipt.boundary["resolver"] == "none"
    assert "no table" in scan.receipt.boundary["provenance"]


def test_sql_over_a_topic_alone_joins_with_itself_at_one_cut(topic_only: Lake) -> None:
    answer = topic_only.sql(
        f"select sum(a.amount) as total, count(*) as n from {topic_only.table} a "
        f"join {topic_only.table} b using (order_id)"
    )

    assert [(str(row["total"]), row["n"]) for row in answer.rows.to_pylist()] == [("12.50", 5)]


def test_what_retention_removed_is_no_gap_of_a_topic_alone(topic_only: Lake) -> None:
    delete_records(topic_only.bootstrap, topic_only.topic, {0: 2})

    scan = topic_only.open().scan()

    assert sorted(scan.to_arrow()["order_id"].to_pylist()) == [2, 3, 4]
    assert [(p.committed, p.start, p.end) for p in scan.receipt.partitions] == [(2, 2, 3), (0, 0, 2)]
    assert scan.receipt.gaps == ()


def test_a_cut_token_reads_a_topic_alone_again(topic_only: Lake) -> None:
    token = topic_only.open().cut().token()
    produce(topic_only.bootstrap, topic_only.topic, orders(5, 7))
    add_partitions(topic_only.bootstrap, topic_only.topic, 3)
    produce(topic_only.bootstrap, topic_only.topic, orders(7, 8), partition=2)

    assert ids(topic_only, cut=token) == [0, 1, 2, 3, 4]
    assert ids(topic_only) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_cut_token_whose_records_are_gone_is_an_error(topic_only: Lake) -> None:
    token = topic_only.open().cut().token()
    delete_records(topic_only.bootstrap, topic_only.topic, {0: 2})

    with pytest.raises(OffsetGapError):
        topic_only.open(cut=token).scan()


def test_a_cut_token_is_of_one_schema_and_one_topic(topic_only: Lake) -> None:
    token = topic_only.open().cut().token()
    other = make_topic(topic_only.bootstrap, unique("other"))

    with pytest.raises(TableReplacedError):
        topic_only.open(cut=token, schema="order_id bigint").scan()
    with pytest.raises(CutTokenError):
        replace(topic_only, topic=other).open(cut=token).scan()


def test_offsets_may_be_columns_of_a_topic_alone(topic_only: Lake) -> None:
    rows = (
        topic_only.open(schema="order_id bigint, p int, o bigint", kafkaColumns="partition=p,offset=o")
        .scan()
        .to_arrow()
        .sort_by("order_id")
    )

    assert list(zip(rows["p"].to_pylist(), rows["o"].to_pylist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"read": "hot"}, "needs option 'schema'"),
        ({"schema": SCHEMA}, "needs read=hot"),
        ({"read": "hot", "schema": "x"}, "option 'schema' wants a type"),
        ({"read": "hot", "schema": SCHEMA, "snapshot-id": "5"}, "'snapshot-id' says nothing"),
        ({"read": "hot", "schema": SCHEMA, "tag": "v1"}, "'tag' says nothing"),
        ({"read": "warm"}, "one of union, cold, hot"),
    ],
)
def test_options_that_do_not_fit_are_an_error(lake: MakeLake, options: dict[str, str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        lake().open(**options).cut()


def test_a_table_that_is_missing_is_not_read_as_a_topic_alone(lake: MakeLake) -> None:
    made = replace(lake(), table="lake.missing")

    with pytest.raises(TableNotFoundError, match="read=hot"):
        made.open().cut()


def test_the_gateway_answers_over_a_topic_alone(topic_only: Lake) -> None:
    client = open_door(topic_only)

    body = query(client, f"select count(*) as n from {topic_only.table} where amount > 1")
    assert body["rows"] == [[4]]
    [receipt] = body["receipt"]["tables"]
    assert (receipt["snapshot_id"], receipt["rows_hot"]) == (None, 5)

    again = query(client, f"select count(*) from {topic_only.table}", **{topic_only.table: receipt["cut"]})
    assert again["rows"] == [[5]]
    freshness = client.get(f"/v1/tables/{topic_only.table}/freshness").get_json()
    assert (freshness["hot_span"], freshness["boundary"]["resolver"]) == (5, "none")
    assert client.get("/v1/tables").get_json()["tables"][0]["read"] == "hot"
    columns = client.get(f"/v1/tables/{topic_only.table}").get_json()["columns"]
    assert columns[0] == {"name": "order_id", "type": "int64", "nullable": True}


def test_the_command_line_cuts_a_topic_alone(
    topic_only: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(topic_only, tmp_path / "kafkaiceberg.toml"))

    assert main(["--config", config, "cut", "--json", topic_only.table]) == 0
    receipt = json.loads(capsys.readouterr().out)
    assert [(p["start"], p["end"]) for p in receipt["partitions"]] == [(0, 3), (0, 2)]
    assert main(["--config", config, "cut", "--explain", topic_only.table]) == 0
    assert "read=hot: no table is looked at" in capsys.readouterr().out


def test_there_is_nothing_to_examine_of_a_topic_alone(topic_only: Lake) -> None:
    with pytest.raises(OptionError, match="nothing to examine"):
        examine(topic_only.merged())


@pytest.mark.spark
def test_spark_reads_a_topic_alone(topic_only: Lake, spark: SparkSession) -> None:
    reader = spark.read.format("kafkaiceberg").options(**topic_only.options)
    rows = reader.load(topic_only.table)

    assert rows.schema.simpleString() == (
        "struct<order_id:bigint,region:string,amount:decimal(10,2),tags:array<string>,at:struct<x:int,y:int>>"
    )
    assert rows.selectExpr("count(*)", "sum(order_id)", "max(at.x)").first() == (5, 10, 4)


@pytest.mark.spark
def test_a_topic_alone_cannot_be_frozen(topic_only: Lake, spark: SparkSession) -> None:
    with pytest.raises(FreezeOptionError, match="create it in the catalog"):
        freeze_once(spark, topic_only.merged())


def test_a_topic_becomes_a_table_without_changing_its_rows(lake: MakeLake) -> None:
    made = lake(schema=pa.schema([("order_id", pa.int64())]))
    produce(made.bootstrap, made.topic, orders(0, 4))
    alone = made.having(read="hot", schema="order_id bigint")
    before = ids(alone)

    commit_until(made, {0: 3})

    assert before == ids(alone) == ids(made) == [0, 1, 2, 3]
