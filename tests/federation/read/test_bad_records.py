"""Bad records in answers: through the library, SQL and Spark, each policy tells of them in its own way.

Two of five records are bad: one is no JSON, one has a fraction where the table has a whole number. One good
record is in the table already, so that cold rows are seen, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from federation.errors import OptionError, SqlError
from federation.receipt_lines import render_receipt
from hotset.decode.bad_records import LETTERS, MARKS
from hotset.errors import DecodeError
from kafkaiceberg.__main__ import main
from tests.builders import Lake, commit_until, produce, write_config
from tests.conftest import MakeLake
from tests.sql_gateway.door import assert_error, open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("amount", pa.int32())])
BAD = [b'{"id": 2, "amount": 2', b'{"id": 3, "amount": 1.5}']
FIRST_BAD = [
    {"partition": 0, "offset": 2, "reason": "its value is not one JSON document"},
    {
        "partition": 1,
        "offset": 0,
        "reason": "column 'amount' wants int32, and holds a number with fraction or exponent",
    },
]


@pytest.fixture(params=["off", "on_demand"])
def half(lake: MakeLake, request: pytest.FixtureRequest) -> Lake:
    """Id 0 in the table; behind it ids 1, 4 and two records that are no rows. With and without a store."""
    made = lake(schema=SCHEMA).having(hotStore=request.param)
    produce(made.bootstrap, made.topic, [{"id": 0, "amount": 0}])
    commit_until(made)
    produce(made.bootstrap, made.topic, [{"id": 1, "amount": 1}, BAD[0], {"id": 4, "amount": 4}])
    produce(made.bootstrap, made.topic, BAD[1:], partition=1)
    return made


def short(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**bad, "reason": bad["reason"].partition(" (")[0]} for bad in found]


def test_a_bad_record_is_an_error_unless_said_otherwise(half: Lake) -> None:
    for bad_records in ({}, {"badRecords": "fail"}):
        with pytest.raises(DecodeError, match="badRecords") as caught:
            half.open(**bad_records).scan().to_arrow()
    assert caught.value.details["offset"] in (0, 2)


def test_skip_counts_what_it_leaves_out(half: Lake) -> None:
    scan = half.open(badRecords="skip").scan()

    assert sorted(scan.to_arrow()["id"].to_pylist()) == [0, 1, 4]
    told = scan.receipt.to_dict()
    assert (told["rows_cold"], told["rows_hot"], told["records_bad"]) == (1, 2, 2)
    assert short(told["first_bad"]) == FIRST_BAD
    text = render_receipt(scan.receipt)
    assert "bad: 2 hot records are no rows of the table" in text
    assert "partition 1 offset 0: column 'amount' wants int32" in text


def test_the_receipt_names_the_first_bad_records_only(half: Lake) -> None:
    produce(half.bootstrap, half.topic, [b"{"] * 20)

    scan = half.open(badRecords="skip").scan(["id"])

    assert scan.to_arrow().num_rows == 3
    assert scan.receipt.records_bad == 22
    assert [(bad.partition, bad.offset) for bad in scan.receipt.first_bad] == [
        (0, n) for n in (2, 4, 5, 6, 7)
    ]


@pytest.mark.parametrize("columns", ["count(*)", "count(id)", "count(amount)"])
def test_a_skipped_record_is_skipped_whatever_is_asked_for(half: Lake, columns: str) -> None:
    answer = half.sql(f"select {columns} from {half.table}", badRecords="skip")

    assert answer.values() == [[3]]
    assert answer.receipts[0].records_bad == 2


def test_the_policy_may_be_a_property_of_the_table(half: Lake) -> None:
    half.load().transaction().set_properties({"kafkaiceberg.badRecords": "skip"}).commit_transaction()

    assert half.open().scan().to_arrow().num_rows == 3


def test_null_keeps_rows_that_say_why(half: Lake) -> None:
    scan = half.open(badRecords="null").scan()
    rows = sorted(scan.to_arrow().to_pylist(), key=str)

    assert scan.schema.names == [*SCHEMA.names, *(mark.name for mark in MARKS)]
    assert all(field.nullable for field in scan.schema)
    told = [(row["id"], row["_kafkaiceberg_partition"], row["_kafkaiceberg_offset"]) for row in rows]
    assert told == [(0, None, None), (1, 0, 1), (4, 0, 3), (None, 0, 2), (None, 1, 0)]
    assert [row["_kafkaiceberg_error"] is not None for row in rows] == [False] * 3 + [True] * 2
    assert (scan.receipt.rows_hot, scan.receipt.records_bad) == (4, 2)


@pytest.mark.parametrize("columns", [["_kafkaiceberg_error"], ["_kafkaiceberg_offset", "id"]])
def test_columns_that_say_why_are_columns(half: Lake, columns: list[str]) -> None:
    rows = half.open(badRecords="null").scan(columns).to_arrow()

    assert (rows.column_names, rows.num_rows) == (columns, 5)


def test_sql_finds_rows_by_why_they_are_bad(half: Lake) -> None:
    answer = half.sql(
        f"select _kafkaiceberg_partition p, _kafkaiceberg_offset o from {half.table} "
        "where _kafkaiceberg_error is not null order by 1, 2",
        badRecords="null",
    )

    assert answer.rows.to_pylist() == [{"p": 0, "o": 2}, {"p": 1, "o": 0}]


def test_a_column_of_the_same_name_is_a_clash(lake: MakeLake) -> None:
    made = lake(schema=pa.schema([("_kafkaiceberg_error", pa.string())]))
    produce(made.bootstrap, made.topic, [{"_kafkaiceberg_error": "mine"}])

    assert made.open().scan().to_arrow().to_pylist() == [{"_kafkaiceberg_error": "mine"}]
    with pytest.raises(OptionError, match="_kafkaiceberg_error"):
        made.open(badRecords="null").scan()


def test_dead_letters_are_a_table_of_their_own(half: Lake) -> None:
    kept = half.having(badRecords="dead_letter")
    scan = kept.open().scan()
    letters = (
        Lake(kept.bootstrap, kept.directory, f"{kept.table}$dead_letters", kept.topic, kept.extra)
        .open()
        .scan(cut=scan.cut)
    )
    found = letters.to_arrow().sort_by("partition")

    assert sorted(scan.to_arrow()["id"].to_pylist()) == [0, 1, 4]
    assert found.schema == LETTERS
    assert [(row["offset"], row["value"]) for row in found.to_pylist()] == [(2, BAD[0]), (0, BAD[1])]
    assert found["topic"].to_pylist() == [kept.topic] * 2
    assert found["error"].to_pylist()[1] == FIRST_BAD[1]["reason"]
    assert all(at.year > 2000 for at in found["timestamp"].to_pylist())
    assert scan.receipt.records_bad == letters.receipt.records_bad == 2
    assert scan.receipt.rows_hot == letters.receipt.rows_hot == 2
    assert letters.receipt.cut == scan.receipt.cut
    assert letters.receipt.table == kept.table


@pytest.mark.parametrize(
    "written", ["{0}$dead_letters", '"{0}$dead_letters"', '{1}."{2}$DEAD_LETTERS"', "{2}$dead_letters"]
)
def test_sql_reads_dead_letters_by_name(half: Lake, written: str) -> None:
    namespace, _, last = half.table.partition(".")
    name = written.format(half.table, namespace, last)

    answer = half.sql(f"select value, error from {name} order by partition", badRecords="dead_letter")

    assert [row["value"] for row in answer.rows.to_pylist()] == BAD
    assert (answer.receipts[0].rows_cold, answer.receipts[0].rows_hot) == (0, 2)


def test_rows_and_dead_letters_of_one_statement_share_a_cut(half: Lake) -> None:
    answer = half.sql(
        f"select (select count(*) from {half.table}) as n, count(*) as bad, max(l.offset) as o, "
        f'max(octet_length(l.value)) as b from "{half.table}$dead_letters" as l',
        badRecords="dead_letter",
    )

    assert answer.rows.to_pylist() == [{"n": 3, "bad": 2, "o": 2, "b": len(BAD[1])}]
    [receipt] = answer.receipts
    assert (receipt.table, receipt.records_bad, receipt.rows_hot, receipt.rows_cold) == (half.table, 2, 2, 1)


@pytest.mark.parametrize("policy", ["fail", "skip", "null"])
def test_there_are_dead_letters_only_if_they_are_asked_for(half: Lake, policy: str) -> None:
    with pytest.raises(OptionError, match="badRecords=dead_letter"):
        half.sql(f'select * from "{half.table}$dead_letters"', badRecords=policy)


def test_dead_letters_are_no_table_to_cut_or_to_register(half: Lake, tmp_path: Path) -> None:
    letters = Lake(half.bootstrap, half.directory, f"{half.table}$dead_letters", half.topic)

    with pytest.raises(OptionError, match=f"part of '{half.table}'"):
        letters.merged()
    with pytest.raises(SqlError, match="there is no table"):
        half.sql("select * from nothing$dead_letters")


def test_the_gateway_shows_dead_letters(half: Lake) -> None:
    kept = half.having(badRecords="dead_letter")
    client = open_door(kept)

    body = query(client, f"select value from {kept.table}$dead_letters where partition = 1")
    shown = client.get(f"/v1/tables/{kept.table}$dead_letters").get_json()

    assert body["row_count"] == 1
    assert body["receipt"]["tables"][0]["records_bad"] == 2
    assert [column["name"] for column in shown["columns"]] == LETTERS.names
    assert "records_bad" not in client.get(f"/v1/tables/{kept.table}/freshness").get_json()
    refused = open_door(half).get("/v1/sql", query_string={"q": f"from {half.table}$dead_letters"})
    assert_error(refused, 400, "OPTION_INVALID", says="no dead letters")


def test_the_command_line_prints_what_is_bad(
    half: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(half.having(badRecords="skip"), tmp_path / "kafkaiceberg.toml"))

    assert main(["--config", config, "query", f"select id from {half.table}"]) == 0
    assert "bad: 2 hot records are no rows" in capsys.readouterr().out
    assert main(["--config", config, "query", "--json", f"select id from {half.table}"]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]["tables"][0]
    assert short(receipt["first_bad"]) == FIRST_BAD


def test_a_topic_that_is_read_alone_has_dead_letters(half: Lake) -> None:
    alone = half.having(read="hot", schema="id bigint, amount int", badRecords="dead_letter")

    answer = alone.sql(f"select count(*) as n from {alone.table}$dead_letters")

    assert answer.rows.to_pylist() == [{"n": 2}]


def test_a_table_that_is_read_alone_has_none(half: Lake) -> None:
    answer = half.sql(
        f"select count(*) as n from {half.table}$dead_letters", badRecords="dead_letter", read="cold"
    )

    assert answer.rows.to_pylist() == [{"n": 0}]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("policy", "part", "count"),
    [("skip", "", 3), ("null", "", 5), ("dead_letter", "", 3), ("dead_letter", "$dead_letters", 2)],
)
def test_spark_reads_bad_records_as_the_policy_says(
    half: Lake, spark: SparkSession, policy: str, part: str, count: int
) -> None:
    options = {**half.options, "badRecords": policy, "maxRecordsPerPartition": "1"}
    rows = spark.read.format("kafkaiceberg").options(**options).load(half.table + part)

    assert rows.count() == count
    if part:
        found = rows.orderBy("partition").collect()
        assert [bytes(row.value) for row in found] == BAD
        assert found[1].headers == []
    elif policy == "null":
        bad = rows.where("_kafkaiceberg_error is not null").orderBy("_kafkaiceberg_partition").collect()
        assert [(row.id, row._kafkaiceberg_offset) for row in bad] == [(None, 2), (None, 0)]
