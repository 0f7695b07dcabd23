"""A freeze on Spark: what was hot is cold afterwards, once, or nothing has changed.

Fences and killed committers are the oracle's; here is what one freeze does to
tables of different kinds, and what it refuses.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
)

from federation.cut.take import take_cut
from hotset.errors import DecodeError
from pipeline.errors import FreezeOptionError
from pipeline.freeze import freeze_once, stage
from tests.builders import Lake, produce
from tests.conftest import MakeLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("grp", pa.string())])


def rows(first: int, end: int) -> list[dict[str, Any]]:
    return [{"id": n, "grp": "abc"[n % 3]} for n in range(first, end)]


def ids(lake: Lake, **options: str) -> list[int]:
    return sorted(lake.open(**options).scan(["id"]).to_arrow().column("id").to_pylist())


def test_hot_rows_become_cold_once(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)
    for partition in (0, 1):
        produce(made.bootstrap, made.topic, rows(partition * 5, partition * 5 + 5), partition=partition)

    done = freeze_once(spark, made.merged())

    assert (done.rows, done.snapshot_id) == (10, made.load().current_snapshot().snapshot_id)  # type: ignore[union-attr]
    assert made.open().cut().hot_span == 0
    assert ids(made) == ids(made, read="cold") == list(range(10))


def test_freezes_go_on_from_one_another(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)

    for first in (0, 4):
        produce(made.bootstrap, made.topic, rows(first, first + 4))
        assert freeze_once(spark, made.merged()).rows == 4

    assert ids(made, read="cold") == list(range(8))


def test_nothing_hot_is_no_commit(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)

    done = freeze_once(spark, made.merged())

    assert (done.snapshot_id, done.rows, done.files) == (None, 0, 0)
    assert made.load().snapshots() == []


def test_a_partitioned_table_is_frozen_into_its_partitions(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)
    with made.load().update_spec() as spec:
        spec.add_identity("grp")
    produce(made.bootstrap, made.topic, rows(0, 9))

    done = freeze_once(spark, made.merged())

    partitions = {task.file.partition[0] for task in made.load().scan().plan_files()}
    assert (done.rows, partitions) == (9, {"a", "b", "c"})
    assert ids(made, read="cold") == list(range(9))


def test_a_changed_schema_is_frozen_in_its_new_form(spark: SparkSession, lake: MakeLake) -> None:
    from pyiceberg.types import StringType

    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, rows(0, 1))
    freeze_once(spark, made.merged())
    with made.load().update_schema() as change:
        change.add_column("note", StringType())
    produce(made.bootstrap, made.topic, [{"id": 1, "note": "new"}])

    freeze_once(spark, made.merged())

    found = made.open(read="cold").scan(["id", "note"]).to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 0, "note": None}, {"id": 1, "note": "new"}]


def test_a_bad_record_ends_the_freeze_and_leaves_nothing(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, rows(0, 3), partition=0)
    produce(made.bootstrap, made.topic, [*rows(3, 5), b"{bad"], partition=1)

    with pytest.raises(DecodeError) as caught:
        freeze_once(spark, made.merged())

    assert (caught.value.details["partition"], caught.value.details["offset"]) == (1, 2)
    assert made.load().snapshots() == []
    assert list(made.directory.rglob("*.parquet")) == []


def test_what_ended_a_freeze_is_told_even_if_its_files_cannot_be_deleted(
    spark: SparkSession, lake: MakeLake, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("any")
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, [b"{bad"], partition=1)
    taken = take_cut(made.merged(**{"catalog.s3.secret-access-key": f"${{file:{secret}}}"}))
    secret.unlink()

    with pytest.raises(DecodeError) as caught:
        stage(spark, taken)

    assert (caught.value.details["partition"], caught.value.details["offset"]) == (1, 0)


def test_skipped_records_are_left_out_for_good_and_counted(spark: SparkSession, lake: MakeLake) -> None:
    made = lake(schema=SCHEMA).having(badRecords="skip")
    produce(made.bootstrap, made.topic, [*rows(0, 3), b'{"id": "x"}'], partition=0)
    produce(made.bootstrap, made.topic, [b"{bad", *rows(3, 4), b'{"id": 4, "extra": 1}'], partition=1)

    done = freeze_once(spark, made.merged(maxRecordsPerPartition="2"))

    assert (done.rows, done.left_out.records, done.left_out.unmapped) == (5, 2, ("extra",))
    assert [(bad.partition, bad.offset) for bad in done.left_out.first] == [(0, 3), (1, 0)]
    summary = made.load().current_snapshot().summary  # type: ignore[union-attr]
    assert summary is not None
    assert summary["kafkaiceberg.records-bad"] == "2"
    scan = made.open(badRecords="fail").scan(["id"])
    assert sorted(scan.to_arrow()["id"].to_pylist()) == list(range(5))
    assert scan.receipt.records_bad == 0


@pytest.mark.parametrize("policy", ["null", "dead_letter"])
def test_bad_records_that_are_shown_beside_rows_are_not_frozen_away(
    spark: SparkSession, lake: MakeLake, policy: str
) -> None:
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, rows(0, 3))

    with pytest.raises(FreezeOptionError, match=f"badRecords={policy}"):
        freeze_once(spark, made.merged(badRecords=policy))
    assert made.load().snapshots() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("snapshot-id", "1"),
        ("branch", "b"),
        ("tag", "t"),
        ("cut", "kic1.x"),
        ("columns", "id"),
        ("read", "cold"),
    ],
)
def test_what_cannot_be_frozen_into_is_refused(
    spark: SparkSession, lake: MakeLake, name: str, value: str
) -> None:
    made = lake(schema=SCHEMA)

    with pytest.raises(FreezeOptionError, match=name):
        freeze_once(spark, made.merged(**{name: value}))


@pytest.mark.parametrize(
    ("transform", "column", "expected"),
    [
        (DayTransform(), "at", 3),
        (HourTransform(), "at", 3),
        (MonthTransform(), "at", 2),
        (BucketTransform(4), "id", 2),
        (TruncateTransform(1), "grp", 3),
    ],
    ids=str,
)
def test_a_table_with_transformed_partitions_is_frozen(
    spark: SparkSession, lake: MakeLake, transform: Transform[Any, Any], column: str, expected: int
) -> None:
    made = lake(schema=SCHEMA.append(pa.field("at", pa.timestamp("us", tz="UTC"))))
    with made.load().update_spec() as spec:
        spec.add_field(column, transform, "part")
    days = ["2026-01-31T10:00:00Z", "2026-02-01T10:00:00Z", "2026-02-02T10:00:00Z"]
    produce(made.bootstrap, made.topic, [{**row, "at": days[row["id"] % 3]} for row in rows(0, 9)])

    freeze_once(spark, made.merged())

    partitions = {task.file.partition[0] for task in made.load().scan().plan_files()}
    assert len(partitions) >= expected
    assert ids(made, read="cold") == list(range(9))
