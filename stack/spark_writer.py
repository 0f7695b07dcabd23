"""Spark Structured Streaming filling Iceberg tables from topics, as its users run it.

This is a foreign writer for tests of boundaries: it knows nothing of this
project, and nothing of this project may be imported here but how to start a
program. A Spark session takes many seconds to start, so one program serves
many requests, one JSON object a line: it takes what a topic holds now in
several epochs, each one commit, or runs a statement.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from stack import iceberg_edits
from stack.errors import StackError
from stack.iceberg_java import delete_by_key
from stack.spark_catalogs import Catalog, settings_of
from stack.stoppable import Stoppable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[1]
JARS = ROOT / "build" / "jars" / "spark-writer"
ANSWER_S = 300.0


class SparkWriter(Stoppable):
    """The program, as its owner sees it; it ends when its owner does, since it reads the owner's pipe."""

    def __init__(self, directory: Path, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """Start the program, with Spark settings of its own; its log is `spark.log` in `directory`."""
        self.log_path = directory / "spark.log"
        with self.log_path.open("ab") as log:
            self._program = subprocess.Popen(
                [sys.executable, "-m", "stack.spark_writer", json.dumps(dict(settings))],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def stream(self, catalog: Catalog, **request: Any) -> None:
        """Write what a topic holds now into a table, epoch by epoch; the request is that of `stream`.

        Raises:
            StackError: The query failed; the message has Spark's own words.
        """
        self._ask(catalog, {"stream": request})

    def sql(
        self, catalog: Catalog, statement: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Run one statement with these Spark settings; tables are those of catalog `lake`.

        Raises:
            StackError: The statement failed.
        """
        self._ask(catalog, {"sql": statement, "settings": dict(settings)})

    def rows(self, catalog: Catalog, statement: str) -> pa.Table:
        """Return what Spark answers to a statement.

        Raises:
            StackError: The statement failed.
        """
        answer = self.log_path.with_suffix(".arrow")
        self._ask(catalog, {"sql": statement, "settings": {}, "into": str(answer)})
        with pa.ipc.open_file(answer) as reader:
            return reader.read_all()

    def delete_by_key(self, catalog: Catalog, **request: Any) -> None:
        """Delete rows by key; the request is that of `stack.iceberg_java.delete_by_key`.

        Raises:
            StackError: It failed; the message has Java's own words.
        """
        self._ask(catalog, {"delete_by_key": request})

    def edit(self, catalog: Catalog, edit: str, **request: Any) -> None:
        """Do what no statement can; the request is that of a function of `stack.iceberg_edits`.

        Raises:
            StackError: It failed; the message has Java's own words.
        """
        self._ask(catalog, {"edit": edit, "request": request})

    def stop(self) -> None:
        """End the program."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        try:
            self._program.wait(20)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        self._program.stdout.close()

    def _ask(self, catalog: Catalog, request: dict[str, Any]) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        late = threading.Timer(ANSWER_S, self._program.kill)
        late.start()
        try:
            self._program.stdin.write(json.dumps({"catalog": settings_of(catalog), **request}) + "\n")
            self._program.stdin.flush()
            line = self._program.stdout.readline()
        except OSError as exc:
            raise StackError(f"the Spark writer has ended; see {self.log_path}") from exc
        finally:
            late.cancel()
        if not line:
            raise StackError(f"the Spark writer ended, or took more than {ANSWER_S:g} s; see {self.log_path}")
        if error := json.loads(line).get("error"):
            raise StackError(error)


def stream(
    session: SparkSession,
    *,
    table: str,
    checkpoint: str,
    schema: str,
    source: dict[str, str],
    select: str = "v.*",
    where: str = "value IS NOT NULL",
    records_per_epoch: int = 60,
    epochs_kept: int = 100,
    is_native: bool = True,
) -> None:
    """Write what the topic holds now into the table, epoch by epoch.

    Args:
        session: From `open_session`.
        table: Namespace and name in catalog `lake`.
        checkpoint: Folder of the query's checkpoint; kept between runs.
        schema: Columns of the values, as Spark DDL.
        source: Options of Spark's Kafka source.
        select: What is written, of the Kafka source's columns and the value `v`.
        where: Which records are written.
        records_per_epoch: Records of one epoch, at most.
        epochs_kept: Epochs that the checkpoint keeps, at least.
        is_native: By Iceberg's streaming sink; else by `foreachBatch`, which leaves no mark.

    Raises:
        Exception: Spark's own, if the query fails.
    """
    from pyspark.sql.functions import col, from_json

    session.conf.set("spark.sql.streaming.minBatchesToRetain", epochs_kept)
    records = (
        session.readStream.format("kafka")
        .option("kafka.isolation.level", "read_committed")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", records_per_epoch)
        .options(**source)
        .load()
    )
    values = records.withColumn("v", from_json(col("value").cast("string"), schema))
    rows = values.where(where).selectExpr(*select.split(", "))
    writer = rows.writeStream.outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", checkpoint)
    if is_native:
        query = writer.format("iceberg").toTable(f"lake.{table}")
    else:

        def append(batch: DataFrame, _epoch: int) -> None:
            batch.writeTo(f"lake.{table}").append()

        query = writer.foreachBatch(append).start()
    query.awaitTermination()


def open_session(more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Return a session that has the jars, these settings, and no catalog yet.

    Raises:
        Exception: Spark's own, if Java or a jar is missing.
    """
    from pyspark.sql import SparkSession

    settings = {
        **more,
        "spark.jars": ",".join(sorted(str(jar) for jar in JARS.glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    }
    builder = SparkSession.builder.master("local[2]").appName("spark_writer")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def with_catalog(session: SparkSession, catalog: Mapping[str, str]) -> SparkSession:
    """Return a session of its own that has the catalog of these settings as catalog `lake`."""
    own = session.newSession()
    own.conf.set("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in catalog.items():
        own.conf.set(f"spark.sql.catalog.lake.{key}", value)
    own.createDataFrame([], "unused int")  # makes it the active session, where streams look for catalogs
    return own


def _keep(answer: pa.Table, path: str) -> None:
    with pa.ipc.new_file(path, answer.schema) as writer:
        writer.write_table(answer)


def serve(requests: IO[str], answers: IO[str], settings: Mapping[str, str]) -> None:
    """Answer each request line with one line, until there are no more.

    Raises:
        Exception: Spark's own, if no session could be opened.
    """
    session = open_session(settings)
    kept: tuple[object, SparkSession | None] = (None, None)
    for line in requests:
        request = json.loads(line)
        # Statements without settings of their own share the last session, which took a while to make.
        is_shared = "stream" not in request and not request.get("settings")
        own = kept[1] if is_shared and kept[0] == request["catalog"] else None
        try:
            own = own or with_catalog(session, request["catalog"])
            kept = (request["catalog"], own) if is_shared else kept
            _carry_out(own, request)
            answer = {}
        except Exception as exc:  # noqa: BLE001 - Spark's errors are for the owner to judge
            answer = {"error": str(exc)[:4000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    session.stop()


def _carry_out(session: SparkSession, request: dict[str, Any]) -> None:
    if "stream" in request:
        stream(session, **request["stream"])
    elif "delete_by_key" in request:
        delete_by_key(session, **request["delete_by_key"])
    elif "edit" in request:
        getattr(iceberg_edits, request["edit"])(session, **request["request"])
    else:
        for key, value in request["settings"].items():
            session.conf.set(key, value)
        found = session.sql(request["sql"])
        if "into" in request:
            _keep(found.toArrow(), request["into"])


if __name__ == "__main__":
    # Spark's program prints to standard output too; the answers need a way of their own.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers, json.loads(sys.argv[1]))
