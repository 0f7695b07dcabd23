"""Spark Structured Streaming filling an Iceberg table from a topic, as its users run it.

This is a foreign writer for tests of boundaries: it knows nothing of this
project, and nothing of this project may be imported here. It takes what the
topic holds now in several epochs, each one commit, and ends.

    python -m stack.spark_writer BOOTSTRAP TOPIC CATALOG.db TABLE CHECKPOINT "seq long, ..." RECORDS_PER_EPOCH
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

JARS = Path(__file__).parents[1] / "build" / "jars" / "spark-writer"


def open_session(catalog_file: str) -> SparkSession:
    """Return a session that has the pyiceberg SQL catalog in `catalog_file` as catalog `lake`.

    Raises:
        Exception: Spark's own, if Java or a jar is missing.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.jars": ",".join(sorted(str(jar) for jar in JARS.glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{catalog_file}?busy_timeout=10000",
        "spark.sql.catalog.lake.warehouse": Path(catalog_file).parent.as_uri(),
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.jdbc.init-catalog-tables": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("spark_writer")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def stream(
    session: SparkSession,
    *,
    bootstrap: str,
    topic: str,
    table: str,
    checkpoint: str,
    schema: str,
    records_per_epoch: int,
) -> None:
    """Write what the topic holds now into the table, epoch by epoch.

    Args:
        session: From `open_session`.
        bootstrap: Kafka's address.
        topic: Topic name.
        table: Namespace and name in catalog `lake`.
        checkpoint: Folder of the query's checkpoint; kept between runs.
        schema: Columns, as Spark DDL.
        records_per_epoch: Records of one epoch, at most.

    Raises:
        Exception: Spark's own, if the query fails.
    """
    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", records_per_epoch)
        .load()
    )
    rows = records.select(from_json(col("value").cast("string"), schema).alias("v")).select("v.*")
    writer = rows.writeStream.format("iceberg").outputMode("append").trigger(availableNow=True)
    writer.option("checkpointLocation", checkpoint).toTable(f"lake.{table}").awaitTermination()


def main(arguments: list[str]) -> None:
    """Run one stream, from the command line.

    Raises:
        Exception: Spark's own, if the query fails.
    """
    bootstrap, topic, catalog_file, table, checkpoint, schema, records = arguments
    session = open_session(catalog_file)
    stream(
        session,
        bootstrap=bootstrap,
        topic=topic,
        table=table,
        checkpoint=checkpoint,
        schema=schema,
        records_per_epoch=int(records),
    )
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
