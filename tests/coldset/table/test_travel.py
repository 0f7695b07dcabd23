"""A table as it was: by snapshot, by branch or tag and by time, as Spark's Iceberg reader has it.

The table changes its schema, goes back and has a branch, so that going by the newest of anything is wrong.
"""

from __future__ import annotations

from typing import Any

from coldset.table.catalog import pin
from tests.coldset.agreement import SparkTable, as_sorted, as_typed, on_sites
from tests.coldset.shapes import MERGE_ON_READ, NOTE, DeleteByKey, Step, rows, table
from tests.coldset.tables import read

HISTORY: tuple[Step, ...] = (
    table("id BIGINT, a STRING", **MERGE_ON_READ),
    rows(0, 6, NOTE),
    "ALTER TABLE {t} CREATE TAG first",
    "ALTER TABLE {t} CREATE BRANCH side",
    "DELETE FROM {t} WHERE id = 1",
    rows(6, 4, NOTE),
    "ALTER TABLE {t} RENAME COLUMN a TO b",
    "ALTER TABLE {t} ADD COLUMN c INT",
    "INSERT INTO {t}.branch_side VALUES (100, 'side', 7)",
    "INSERT INTO {t} VALUES (20, 'n', 1)",
    DeleteByKey(("id",), "id", 2),
    "ALTER TABLE {t} CREATE TAG last",
    "ALTER TABLE {t} DROP COLUMN c",
)


def wanted(made: SparkTable, clause: str) -> Any:
    return made.writer.rows(made.spark, f"SELECT * FROM lake.{made.name} {clause}")


def hold(made: SparkTable, clause: str, **which: Any) -> None:
    pinned = pin(made.catalog, made.name, **which)
    found, rows_of_spark = read(pinned, storage=made.storage), wanted(made, clause)

    assert found.schema.names == rows_of_spark.schema.names, clause
    assert as_sorted(found) == as_sorted(as_typed(rows_of_spark, found.schema)), clause


@on_sites
def test_a_table_is_read_as_it_was(spark_table: SparkTable) -> None:
    spark_table.run(HISTORY)
    metadata = spark_table.pin().table.metadata
    spark_table.writer.sql(
        spark_table.spark,
        f"CALL lake.system.rollback_to_snapshot('{spark_table.name}', {metadata.snapshots[1].snapshot_id})",
    )
    times = [each.timestamp_ms for each in spark_table.pin().table.metadata.snapshot_log]

    for each in metadata.snapshots:
        hold(spark_table, f"VERSION AS OF {each.snapshot_id}", snapshot_id=each.snapshot_id)
    for name in ("first", "last", "side", "main"):
        hold(spark_table, f"VERSION AS OF '{name}'", ref=name)
    for time in times:
        hold(spark_table, f"TIMESTAMP AS OF timestamp_millis({time})", as_of_ms=time)
    assert pin(spark_table.catalog, spark_table.name, as_of_ms=times[0] - 1).snapshot is None
