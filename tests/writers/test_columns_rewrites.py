"""Tables with Kafka columns that Spark deletes from and compacts, as their owners do.

Spark decides what its deletes and rewrites leave in summaries and manifests, and whether wide tables have
bounds; only Spark itself can show that the boundary survives them.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import StagedLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
COLUMNS = {"kafkaColumns": "partition=kafka_partition,offset=kafka_offset"}


def send(lake: StagedLake, counts: dict[int, int]) -> None:
    for partition, count in counts.items():
        rows, time_ms = [{"seq": partition}] * count, lake.stage.time_ms()
        produce(lake.bootstrap, lake.topic, rows, partition=partition, timestamp_ms=time_ms)


def append(lake: Lake, ends: dict[int, tuple[int, int]]) -> None:
    rows = [
        {"seq": p, "kafka_partition": p, "kafka_offset": o}
        for p, (start, end) in ends.items()
        for o in range(start, end)
    ]
    lake.load().append(pa.Table.from_pylist(rows, schema=ROWS))


def on_spark(spark_writer: StagedSpark, lake: Lake, statement: str) -> None:
    spark_writer.sql(lake.directory / "catalog.db", statement)


def union(lake: Lake) -> list[tuple[int, int]]:
    scan = lake.open(**COLUMNS).scan(["kafka_partition", "kafka_offset"])
    return sorted((row["kafka_partition"], row["kafka_offset"]) for row in scan.to_arrow().to_pylist())


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_rows_deleted_from_the_newest_end_stay_deleted_through_compaction(
    lake: MakeLake, spark_writer: StagedSpark, mode: str
) -> None:
    made = lake(schema=ROWS, properties={"write.delete.mode": mode})
    send(made, {0: 12, 1: 6})
    append(made, {0: (0, 10), 1: (0, 2)})
    append(made, {1: (2, 5)})
    left = [(0, o) for o in (*range(7), 10, 11)] + [(1, o) for o in range(6)]

    on_spark(
        spark_writer, made, f"DELETE FROM lake.{made.table} WHERE kafka_partition = 0 AND kafka_offset >= 7"
    )
    assert union(made) == left

    on_spark(
        spark_writer,
        made,
        f"CALL lake.system.rewrite_data_files(table => 'lake.{made.table}', "
        "options => map('rewrite-all', 'true'))",
    )
    assert len(list(made.load().scan().plan_files())) == 1
    assert union(made) == left

    append(made, {0: (10, 11)})
    assert union(made) == left


def test_a_table_of_120_columns_that_spark_has_written_has_no_bounds_and_is_settled_by_footers(
    lake: MakeLake, spark_writer: StagedSpark
) -> None:
    wide = pa.schema([*((f"c{i}", pa.int32()) for i in range(117)), *ROWS])
    made = lake(schema=wide)
    send(made, {0: 4})
    nulls = ", ".join(["CAST(NULL AS INT)"] * 117)
    on_spark(
        spark_writer,
        made,
        f"INSERT INTO lake.{made.table} SELECT /*+ COALESCE(1) */ {nulls}, id, CAST(0 AS INT), id "
        "FROM range(0, 3, 1, 1)",
    )
    [task] = made.load().scan().plan_files()
    assert made.load().schema().find_field("kafka_offset").field_id not in (task.file.lower_bounds or {})

    scan = made.open(**COLUMNS).scan(["kafka_offset"])

    assert scan.to_arrow()["kafka_offset"].to_pylist() == [0, 1, 2, 3]
    assert scan.taken.committed is not None
    assert "1 by Parquet footers" in scan.taken.committed.provenance
