"""A freeze into an object store, with credentials by reference, read back by each way in.

Executors write the files, so what reaches the store has to reach them, and nothing of it may be in
what is shipped to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.freeze import freeze_once
from stack import KafkaBroker
from stack.catalog_proxy import CatalogProxy
from stack.objects import ObjectStore
from stack.rest_catalog import RestCatalog
from tests.builders import Lake, RestLake, make_table, make_topic, produce, unique
from tests.coldset.sites import of_store
from tests.object_lakes import object_lake

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ROWS = [{"run": "r", "producer": "p", "seq": seq, "txn": None} for seq in range(6)]


@dataclass(frozen=True)
class LentLake(RestLake):
    """A lake whose catalog lends what its store wants."""

    @property
    def catalog_properties(self) -> dict[str, str]:
        return {"type": "rest", "uri": self.uri}


def agrees(lake: Lake, spark: SparkSession) -> None:
    """Freezes half of the records, and asks each way in for all of them."""
    produce(lake.bootstrap, lake.topic, ROWS[:3])
    result = freeze_once(spark, lake.merged())
    produce(lake.bootstrap, lake.topic, ROWS[3:])

    by_spark = spark.read.format("kafkaiceberg").options(**lake.options).load(lake.table)

    assert result.rows == 3
    assert sorted(lake.open().scan(["seq"]).to_arrow()["seq"].to_pylist()) == list(range(6))
    assert lake.sql(f"SELECT sum(seq) FROM {lake.table}").rows.column(0).to_pylist() == [15]
    assert sorted(row.seq for row in by_spark.select("seq").collect()) == list(range(6))


def test_a_freeze_writes_objects_with_credentials_by_reference(
    broker: KafkaBroker, store: ObjectStore, spark: SparkSession, tmp_path: Path
) -> None:
    lake = object_lake(broker.bootstrap, store, tmp_path)

    agrees(lake, spark)

    assert list((store.folder / lake.topic).rglob("*.parquet"))


def test_a_freeze_writes_objects_with_credentials_that_the_catalog_lends(
    broker: KafkaBroker, store: ObjectStore, rest_on_store: RestCatalog, spark: SparkSession, tmp_path: Path
) -> None:
    topic = make_topic(broker.bootstrap, unique("events"), partitions=1)
    with CatalogProxy.start(rest_on_store.uri) as proxy:
        proxy.add_to_answers(table={"config": of_store(store)})
        lake = LentLake(broker.bootstrap, tmp_path, f"lake.{topic}", topic, uri=proxy.uri)
        make_table(replace(lake, uri=rest_on_store.uri).catalog, lake.table)

        agrees(lake, spark)
