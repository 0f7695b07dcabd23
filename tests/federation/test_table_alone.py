"""Tables whose topic is gone: `read=cold` reads the table, and asks no broker.

It never happens by itself: a topic that is missing is an error that names the way.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from federation.options.config import Config
from federation.table import open_table
from hotset.errors import TopicNotFoundError
from tests.builders import Lake, commit_until, delete_topic, produce
from tests.conftest import MakeLake
from tests.sql_gateway.door import assert_error, open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka


def ids(lake: Lake, **options: str) -> list[int]:
    return sorted(lake.open(**options).scan().to_arrow()["order_id"].to_pylist())


@pytest.fixture
def table_only(lake: MakeLake) -> Lake:
    """Three rows in a table, and its topic deleted."""
    made = lake(schema=pa.schema([("order_id", pa.int64())]))
    produce(made.bootstrap, made.topic, [{"order_id": i} for i in range(3)])
    commit_until(made)
    delete_topic(made.bootstrap, made.topic)
    return made


def test_a_table_whose_topic_is_gone_is_an_error_that_names_the_way(table_only: Lake) -> None:
    with pytest.raises(TopicNotFoundError, match="read=cold"):
        table_only.open().cut()

    client = open_door(table_only)
    answer = client.post("/v1/sql", json={"sql": f"select * from {table_only.table}"})
    assert_error(answer, 400, "TOPIC_NOT_FOUND", says="read=cold")


@pytest.mark.spark
def test_spark_names_the_way_too(table_only: Lake, spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="read=cold"):
        spark.read.format("kafkaiceberg").options(**table_only.options).load(table_only.table)


@pytest.fixture
def silent_broker() -> Iterator[socket.socket]:
    """Listens, and never answers; a connection to it would show."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def cold(lake: Lake, listening: socket.socket) -> Lake:
    port = listening.getsockname()[1]
    return replace(lake, bootstrap=f"127.0.0.1:{port}").having(read="cold")


def assert_nobody_called(listening: socket.socket) -> None:
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_a_table_alone_is_read_without_asking_a_broker(
    table_only: Lake, silent_broker: socket.socket
) -> None:
    alone = cold(table_only, silent_broker)

    assert ids(alone) == [0, 1, 2]
    assert ids(alone, cut=alone.open().cut().token()) == [0, 1, 2]
    assert query(open_door(alone), f"select sum(order_id) from {alone.table}")["rows"] == [["3"]]
    assert_nobody_called(silent_broker)


@pytest.mark.spark
def test_spark_reads_a_table_alone_without_asking_a_broker(
    table_only: Lake, silent_broker: socket.socket, spark: SparkSession
) -> None:
    alone = cold(table_only, silent_broker)

    rows = spark.read.format("kafkaiceberg").options(**alone.options).load(alone.table)

    assert sorted(row.order_id for row in rows.collect()) == [0, 1, 2]
    assert_nobody_called(silent_broker)


def test_a_table_alone_needs_no_option_of_a_topic(table_only: Lake) -> None:
    plain = {key: value for key, value in table_only.options.items() if key.startswith("catalog.")}

    table = open_table(table_only.table, {**plain, "read": "cold"}, config=Config())

    assert sorted(table.scan().to_arrow()["order_id"].to_pylist()) == [0, 1, 2]
