"""Tables with the latest row of each key, as Spark's MERGE makes them: refused, and never answered twice.

Beside them tables that people correct by hand, which are answered as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY
from federation.cut.take import take_cut
from federation.doctor.examination import examine
from federation.doctor.findings import Severity
from federation.errors import MergeNeededError
from pipeline.freeze import freeze_once, new_boundary
from tests.builders import Lake, clip, commit_until, produce
from tests.conftest import MakeLake
from tests.doctor.ward import found
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import StagedLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("id", pa.int64()), ("amount", pa.int64())])
PLACED = pa.schema(
    [*ROWS, ("_kafka_metadata", pa.struct([("partition", pa.int32()), ("offset", pa.int64())]))]
)
MODES = {f"write.{verb}.mode" for verb in ("merge", "update", "delete")}
MERGE = (
    "MERGE INTO {table} t USING (SELECT id, {amount} AS amount{more} FROM range({first}, {last})) s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def run(
    writer: StagedSpark, lake: Lake, statement: str, settings: Mapping[str, str] = MappingProxyType({})
) -> None:
    writer.sql(lake.directory / "catalog.db", statement.format(table=f"lake.{lake.table}"), settings)


def send(lake: StagedLake, amount: int) -> None:
    """A change of each of four keys."""
    rows, time_ms = [{"id": key, "amount": amount} for key in range(4)], lake.stage.time_ms()
    produce(lake.bootstrap, lake.topic, rows, timestamp_ms=time_ms)


def upsert_with_property(writer: StagedSpark, lake: Lake, amount: int, end: int) -> None:
    """What a micro-batch does whose writer sets our property."""
    boundary = new_boundary(clip(take_cut(lake.merged(merge="append")), {0: end}))
    statement = MERGE.format(table="{table}", amount=amount, more="", first=0, last=4)
    run(writer, lake, statement, {f"spark.sql.iceberg.snapshot-property.{OFFSETS_PROPERTY}": boundary})


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merge_with_our_property_is_refused_in_every_way_in(
    lake: MakeLake, spark_writer: StagedSpark, spark: SparkSession, mode: str
) -> None:
    made = lake(partitions=1, schema=ROWS, properties=dict.fromkeys(MODES, mode))
    for number in (1, 2):
        send(made, number)
        upsert_with_property(spark_writer, made, number, 4 * number)
    send(made, 3)

    with pytest.raises(MergeNeededError, match=r"replaces rows .*merge=append"):
        made.open().cut()
    with pytest.raises(MergeNeededError):
        made.sql(f"SELECT count(*) FROM {made.table}")
    with pytest.raises(MergeNeededError):
        freeze_once(spark, made.merged())
    with pytest.raises(Exception, match="MergeNeededError"):
        spark.read.format("kafkaiceberg").options(**made.options).load(made.table).count()

    finding = found(examine(made.merged()), "MERGE_NEEDED")
    assert finding.severity is Severity.ERROR
    assert made.open(read="cold").scan().to_arrow().num_rows == 4


def test_who_says_append_gets_all_rows_and_is_told_what_that_assumes(
    lake: MakeLake, spark_writer: StagedSpark
) -> None:
    made = lake(partitions=1, schema=ROWS, properties={"kafkaiceberg.merge": "append"})
    for number in (1, 2):
        send(made, number)
        upsert_with_property(spark_writer, made, number, 4 * number)
    send(made, 3)

    scan = made.open().scan()

    assert scan.to_arrow().num_rows == 8
    assert scan.receipt.to_dict()["assumed"] == ["append_only"]
    assert scan.receipt.boundary is not None
    assert scan.receipt.boundary["confidence"] == "estimated"
    assert found(examine(made.merged()), "MERGE_NEEDED").severity is Severity.WARNING


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merge_into_a_table_with_kafka_columns_and_no_mark_is_refused(
    lake: MakeLake, spark_writer: StagedSpark, mode: str
) -> None:
    made = lake(partitions=1, schema=PLACED, properties=dict.fromkeys(MODES, mode))
    for number in (0, 1):
        send(made, number)
        placed = f", named_struct('partition', 0, 'offset', {4 * number} + id) AS _kafka_metadata"
        run(
            spark_writer,
            made,
            MERGE.format(table="{table}", amount=number, more=placed, first=0, last=4),
        )

    with pytest.raises(MergeNeededError, match="replaces rows"):
        made.open().cut()


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_table_that_people_correct_by_hand_is_answered_as_before(
    lake: MakeLake, spark_writer: StagedSpark, mode: str
) -> None:
    made = lake(partitions=1, schema=ROWS, properties=dict.fromkeys(MODES, mode))
    rows, time_ms = [{"id": key, "amount": 1} for key in range(12)], made.stage.time_ms()
    produce(made.bootstrap, made.topic, rows, timestamp_ms=time_ms)
    commit_until(made, {0: 4})
    commit_until(made, {0: 8})

    run(spark_writer, made, "DELETE FROM {table} WHERE id = 1")
    run(spark_writer, made, "UPDATE {table} SET amount = 9 WHERE id = 2")
    run(spark_writer, made, MERGE.format(table="{table}", amount=7, more="", first=3, last=5))

    found_rows = {row["id"]: row["amount"] for row in made.open().scan().to_arrow().to_pylist()}
    assert found_rows == {key: {2: 9, 3: 7, 4: 7}.get(key, 1) for key in range(12) if key != 1}
    assert "MERGE_NEEDED" not in {finding.code for finding in examine(made.merged()).findings}
