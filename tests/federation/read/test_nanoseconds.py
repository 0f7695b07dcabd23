"""Hot columns of nanoseconds in answers: to the last digit, in filters, in the store, and beside cold rows.

pyiceberg writes no table that has them, so most have hot rows only; Iceberg's Java library writes one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hotset.errors import DecodeError
from pipeline.errors import FreezeOptionError
from pipeline.freeze import freeze_once
from tests.builders import Lake, in_version_3, make_topic, produce, unique
from tests.coldset.agreement import new_table
from tests.coldset.rare_types import schema
from tests.coldset.shapes import Edit
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark
from tests.sql_gateway.door import assert_error, open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

SCHEMA = pa.schema([("id", pa.int32()), ("a", pa.timestamp("us")), ("b", pa.timestamp("us", tz="UTC"))])
DAY = "2026-01-02T03:04:05."
SECOND = 1_767_323_045 * 10**9


def row(number: int) -> dict[str, object]:
    return {"id": number, "a": f"{DAY}00000000{number}", "b": f"{DAY}00000000{number}Z"}


@pytest.fixture(params=["off", "on_demand"])
def fine(lake: MakeLake, request: pytest.FixtureRequest) -> Lake:
    """Rows 1 to 9, each a nanosecond after the one before, and one without any."""
    made = in_version_3(lake(schema=SCHEMA, partitions=1)).having(hotStore=request.param)
    produce(made.bootstrap, made.topic, [row(number) for number in range(1, 10)])
    produce(made.bootstrap, made.topic, [{"id": 10}])
    return made


@pytest.mark.usefixtures("way")
def test_rows_are_exact_as_they_come_and_as_they_were_kept(fine: Lake) -> None:
    for _ in range(2):
        rows = fine.open().scan().to_arrow()
        answer = fine.sql(f"select a::varchar a, b, typeof(a), typeof(b) from {fine.table} where id = 7").rows

        assert rows.schema.field("a").type == pa.timestamp("ns")
        assert rows.schema.field("b").type == pa.timestamp("ns", tz="UTC")
        for name in ("a", "b"):
            assert rows.column(name).cast(pa.int64()).to_pylist() == [
                *(SECOND + number for number in range(1, 10)),
                None,
            ]
        assert answer.column(0).to_pylist() == ["2026-01-02 03:04:05.000000007"]
        assert answer.column(1).cast(pa.int64()).to_pylist() == [SECOND + 7]
        assert [answer.column(n)[0].as_py() for n in (2, 3)] == ["TIMESTAMP_NS", "TIMESTAMPTZ_NS"]


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        (f"a = TIMESTAMP_NS '{DAY}000000003'", [3]),
        (f"a > TIMESTAMP_NS '{DAY}000000003' and a <= TIMESTAMP_NS '{DAY}000000006'", [4, 5, 6]),
        (f"b in (TIMESTAMPTZ_NS '{DAY}000000002Z', TIMESTAMPTZ_NS '{DAY}000000009Z')", [2, 9]),
        (f"a > TIMESTAMP '{DAY}000000'", list(range(1, 10))),
        (f"a >= TIMESTAMP '{DAY}000001'", []),
        ("a is null", [10]),
    ],
)
def test_filters_tell_one_nanosecond_from_the_next(fine: Lake, where: str, numbers: list[int]) -> None:
    for _ in range(2):
        answer = fine.sql(f"select id from {fine.table} where {where} order by id")

        assert [each["id"] for each in answer.rows.to_pylist()] == numbers


def test_a_json_answer_has_them_as_text(fine: Lake) -> None:
    sql = f"select a::varchar, b::varchar from {fine.table} where id = 9"

    assert query(open_door(fine), sql)["rows"][0][0] == "2026-01-02 03:04:05.000000009"
    refused = open_door(fine).post("/v1/sql", json={"sql": f"select a from {fine.table} where id = 9"})
    assert_error(refused, 400, "SQL_INVALID", says="VARCHAR")


def test_a_time_that_nanoseconds_do_not_reach_is_a_bad_record(fine: Lake) -> None:
    produce(fine.bootstrap, fine.topic, [{"id": 11, "a": "2500-01-01T00:00:00"}])
    sql = f"select id from {fine.table} where id > 9 order by id"
    why = "column 'a' wants timestamp[ns], and holds a value that is none"

    for _ in range(2):
        with pytest.raises(DecodeError, match="offset 10 "):
            fine.sql(f"select a from {fine.table}")
        assert fine.sql(sql, badRecords="skip").rows.to_pylist() == [{"id": 10}]
        nulls = fine.sql(
            f"select _kafkaiceberg_error e from {fine.table} where id is null", badRecords="null"
        )
        assert nulls.rows.to_pylist() == [{"e": why}]


@pytest.mark.spark
def test_a_table_that_no_freeze_can_write_is_refused_before_a_record_is_read(
    spark: SparkSession, lake: MakeLake
) -> None:
    made = in_version_3(lake(schema=SCHEMA, partitions=1))
    produce(made.bootstrap, made.topic, [b"{bad"])

    with pytest.raises(FreezeOptionError, match="format version 3"):
        freeze_once(spark, made.merged())


def test_hot_rows_stand_beside_cold_ones(spark_writer: StagedSpark, lake: MakeLake, tmp_path: Path) -> None:
    table = new_table(spark_writer, tmp_path)
    columns = schema("id int", "a timestamp_ns", "b timestamptz_ns")
    cold = [
        [
            n,
            ("java.time.LocalDateTime", f"{DAY}00000000{n}"),
            ("java.time.OffsetDateTime", f"{DAY}00000000{n}Z"),
        ]
        for n in (1, 2)
    ]
    table.run(
        [
            Edit("make_table", {"schema": columns, "properties": {"format-version": "3"}}),
            Edit("append", {"rows": cold}),
        ]
    )
    topic = make_topic(lake(partitions=1).bootstrap, unique("fine"), partitions=1, retention_ms="-1")
    boundary = json.dumps({"snapshot_id": table.pin().snapshot.snapshot_id, "partitions": {"0": 2}})
    made = Lake(lake(partitions=1).bootstrap, tmp_path, table.name, topic).having(
        **{**table.options, "read": "union", "committedOffsets": boundary}
    )
    commit = table.pin().snapshot.timestamp_ms  # the table may be a recording, and old
    produce(made.bootstrap, topic, [row(number) for number in (1, 2, 3, 4)], timestamp_ms=commit)

    found = made.open().scan().to_arrow().sort_by("id")
    answer = made.sql(
        f"select a::varchar a, b from {table.name} where b > TIMESTAMPTZ_NS '{DAY}000000001Z' order by a desc"
    ).rows

    for name in ("a", "b"):
        assert found.column(name).cast(pa.int64()).to_pylist() == [SECOND + number for number in (1, 2, 3, 4)]
    assert answer.column("a").to_pylist() == [f"2026-01-02 03:04:05.00000000{n}" for n in (4, 3, 2)]
    assert answer.column("b").cast(pa.int64()).to_pylist() == [SECOND + number for number in (4, 3, 2)]
