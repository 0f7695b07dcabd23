"""What people write without us, in a few lines each, held to the same truth.

Three ways to join a topic and its table that look right: where the writer's consumer group stands, one past
the largest offset in the table, and Spark's Kafka source beside Spark's Iceberg table. They are fair copies:
each takes its own care, none is made worse than what is found in the wild.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.builders import HANG_S, Lake
from tests.oracle.checker import IDENTITY, Observed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION, OFFSET = "kafka_partition", "kafka_offset"
ROWS = pa.schema([(name, pa.int64() if name == "seq" else pa.string()) for name in IDENTITY])


def group_offset(lake: Lake) -> Observed:
    """The table as it is, and the topic from where the writer's group stands."""
    consumer = consumer_of(lake)
    try:
        wanted = [TopicPartition(lake.topic, p) for p in _partitions(consumer, lake)]
        starts = {c.partition: max(c.offset, 0) for c in consumer.committed(wanted, 10)}
        cold = lake.load().scan(selected_fields=IDENTITY).to_arrow()
        return _union(cold, tail(consumer, lake, starts))
    finally:
        consumer.close()


def column_max(lake: Lake) -> Observed:
    """The table as it is, and the topic from one past the largest offset in it."""
    table = lake.load()
    columns = table.scan(selected_fields=(PARTITION, OFFSET)).to_arrow()
    tops = columns.group_by(PARTITION).aggregate([(OFFSET, "max")]).to_pylist()
    consumer = consumer_of(lake)
    try:
        starts = dict.fromkeys(_partitions(consumer, lake), 0)
        starts |= {row[PARTITION]: row[f"{OFFSET}_max"] + 1 for row in tops}
        return _union(table.scan(selected_fields=IDENTITY).to_arrow(), tail(consumer, lake, starts))
    finally:
        consumer.close()


def by_hand(session: SparkSession, lake: Lake) -> Observed:
    """Spark's Iceberg table and Spark's Kafka source, split at the largest offset in the table."""
    own = session.newSession()  # with a catalog of its own
    conf = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".jdbc.schema-version": "V1"}
    conf[".uri"] = f"jdbc:sqlite:{lake.directory}/catalog.db?busy_timeout=10000"
    conf[".warehouse"] = lake.directory.as_uri()
    conf[".jdbc.init-catalog-tables"] = "false"
    conf[".cache-enabled"] = "false"
    for key, value in conf.items():
        own.conf.set(f"spark.sql.catalog.lake{key}", value)
    cold = own.table(f"lake.{lake.table}")
    tops = {r[0]: r[1] + 1 for r in cold.groupBy(PARTITION).agg({OFFSET: "max"}).collect()}
    consumer = consumer_of(lake)
    partitions = _partitions(consumer, lake)
    consumer.close()
    starts = json.dumps({lake.topic: {str(p): tops.get(p, 0) for p in partitions}})
    source = own.read.format("kafka").option("kafka.bootstrap.servers", lake.bootstrap)
    source = source.option("subscribe", lake.topic).option("startingOffsets", starts)
    hot = source.option("endingOffsets", "latest").load()
    return _union(cold.select(*IDENTITY).unionByName(_parsed(hot)).toArrow(), [])


def _parsed(records: DataFrame) -> DataFrame:
    from pyspark.sql.functions import col, from_json

    schema = "run string, producer string, seq bigint, txn string"
    return records.select(from_json(col("value").cast("string"), schema).alias("v")).select("v.*")


def consumer_of(lake: Lake) -> Consumer:
    settings = {"group.id": lake.topic, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    settings["fetch.wait.max.ms"] = 20  # so that an empty end is seen at once
    return Consumer(
        {"bootstrap.servers": lake.bootstrap, "enable.auto.commit": False, "log_level": 0, **settings}
    )


def _partitions(consumer: Consumer, lake: Lake) -> list[int]:
    return sorted(consumer.list_topics(lake.topic, 10).topics[lake.topic].partitions)


def tail(consumer: Consumer, lake: Lake, starts: Mapping[int, int]) -> list[dict[str, object]]:
    consumer.assign([TopicPartition(lake.topic, p, start) for p, start in starts.items()])
    found, open_ = [], set(starts)
    while open_:
        message = consumer.poll(HANG_S)
        if message is None:
            raise TimeoutError("the topic's end was not reached")
        error = message.error()
        if error is None:
            found.append(json.loads(message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:
            open_.discard(message.partition())
        else:
            raise KafkaException(error)
    return found


def _union(cold: pa.Table, hot: list[dict[str, object]]) -> Observed:
    rows = [{name: row.get(name) for name in IDENTITY} for row in hot]
    return Observed(pa.concat_tables([cold.select(IDENTITY).cast(ROWS), pa.Table.from_pylist(rows, ROWS)]))
