"""Topics that were deleted and made anew, under writers whose record does not say which topic they read.

Rows that hold the time of their record tell; else the commit's own time must do, and clocks that producers
set are trusted no further than they fit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.errors import TopicReplacedError
from tests.builders import Lake, delete_records, delete_topic, make_topic
from tests.conftest import MakeLake
from tests.federation.boundary.query_epochs import stream
from tests.federation.flink_stories import FIXTURES, Played
from tests.federation.query_story import forget

pytestmark = pytest.mark.kafka

MINUTE_MS = 60_000
ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
TIMED = pa.schema([*ROWS, ("kafka_timestamp", pa.int64())])
COLUMNS = "partition=kafka_partition,offset=kafka_offset"


@pytest.fixture
def played(lake: MakeLake) -> Iterator[Played]:
    with Played(lake) as player:
        yield player


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def send(lake: Lake, count: int, since_ms: int, *, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": lake.bootstrap, "log_level": 0})
    for n in range(count):
        producer.produce(lake.topic, b'{"seq": %d}' % n, partition=partition, timestamp=since_ms + n)
    assert producer.flush(60) == 0


def make_anew(lake: Lake, count: int, since_ms: int, partitions: int = 1) -> None:
    delete_topic(lake.bootstrap, lake.topic)
    make_topic(lake.bootstrap, lake.topic, partitions=partitions)
    for partition in range(partitions):
        send(lake, count, since_ms, partition=partition)
    forget()


def told(lake: Lake, **options: str) -> tuple[str, list[str]]:
    """The confidence, and what was assumed."""
    receipt = lake.open(**options).scan()
    receipt.to_arrow()
    found = receipt.receipt.to_dict()
    return found["boundary"]["confidence"], found["assumed"]


@pytest.fixture
def streamed(lake: MakeLake) -> Lake:
    """Eight records of which Spark has committed five, with no time in the table."""
    made = lake(partitions=1, schema=ROWS)
    made = made.having(checkpointLocation=str(made.directory / "checkpoint"))
    send(made, 8, now_ms() - MINUTE_MS)
    stream(made, 0, 0, 5)
    return made


def test_a_log_that_is_older_than_the_commit_is_taken_for_the_tables(streamed: Lake) -> None:
    assert told(streamed) == ("proven", ["record_times"])


@pytest.mark.parametrize("count", [3, 6, 9], ids=["shorter", "as long", "longer"])
def test_a_log_that_is_all_younger_than_the_commit_is_another(streamed: Lake, count: int) -> None:
    make_anew(streamed, count, now_ms() + 2 * MINUTE_MS)

    with pytest.raises(TopicReplacedError, match="younger than snapshot"):
        streamed.open().cut()


def test_a_topic_made_anew_within_the_leeway_of_clocks_is_no_more_than_estimated(streamed: Lake) -> None:
    make_anew(streamed, 9, now_ms())

    assert told(streamed) == ("estimated", ["same_topic"])


def test_a_producer_whose_clock_is_ahead_makes_no_topic_another(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    made = made.having(checkpointLocation=str(made.directory / "checkpoint"))
    send(made, 3, now_ms() - MINUTE_MS)
    send(made, 5, now_ms() + 5 * MINUTE_MS)
    stream(made, 0, 0, 5)

    assert told(made) == ("estimated", ["same_topic"])


def test_one_partition_that_is_older_speaks_for_the_topic(lake: MakeLake) -> None:
    """Partitions of a topic are made together."""
    made = lake(partitions=2, schema=ROWS)
    made = made.having(checkpointLocation=str(made.directory / "checkpoint"))
    send(made, 5, now_ms() - MINUTE_MS)
    send(made, 5, now_ms() + 5 * MINUTE_MS, partition=1)
    stream(made, 0, 0, 5)
    marks = {SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: "1"}
    offsets = f'v1\n{{}}\n{{"{made.topic}":{{"0":5,"1":5}}}}\n'
    (made.directory / "checkpoint" / "offsets" / "1").write_text(offsets)
    rows = [{"seq": seq, "kafka_partition": 1, "kafka_offset": seq} for seq in range(5)]
    made.load().append(pa.Table.from_pylist(rows, schema=ROWS), snapshot_properties=marks)

    assert told(made) == ("estimated", ["same_topic"])


def test_a_log_that_has_nothing_of_the_table_any_more_shows_nothing(streamed: Lake) -> None:
    delete_records(streamed.bootstrap, streamed.topic, {0: 5})

    assert told(streamed) == ("estimated", ["same_topic"])


def test_what_was_seen_of_a_topic_is_not_said_of_its_namesake(streamed: Lake) -> None:
    """In the process that has looked before, the topic has an identity."""
    assert told(streamed) == ("proven", ["record_times"])
    delete_topic(streamed.bootstrap, streamed.topic)
    make_topic(streamed.bootstrap, streamed.topic, partitions=1)
    send(streamed, 9, now_ms() - MINUTE_MS)

    with pytest.raises(TopicReplacedError, match="came from id"):
        streamed.open().cut()


def test_times_in_the_rows_tell_under_any_writer(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=TIMED)
    made = made.having(checkpointLocation=str(made.directory / "checkpoint"))
    since_ms = now_ms() - MINUTE_MS
    send(made, 8, since_ms)
    checkpointed(made, since_ms)

    assert told(made) == ("exact", [])

    make_anew(made, 9, now_ms())
    for boundary in ("auto", "spark", "columns"):
        with pytest.raises(TopicReplacedError, match="offset"):
            made.open(boundary=boundary).cut()


def checkpointed(lake: Lake, since_ms: int) -> None:
    """Five rows with times that Spark has committed."""
    stream(lake, 0, 0, 0)
    rows: list[dict[str, Any]] = [
        {"seq": n, "kafka_partition": 0, "kafka_offset": n, "kafka_timestamp": since_ms + n} for n in range(5)
    ]
    offsets = f'v1\n{{}}\n{{"{lake.topic}":{{"0":5}}}}\n'
    (lake.directory / "checkpoint" / "offsets" / "1").write_text(offsets)
    marks = {SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: "1"}
    lake.load().append(pa.Table.from_pylist(rows, schema=TIMED), snapshot_properties=marks)


def test_the_topic_of_a_real_flink_table_is_found_out_when_it_was_made_anew(played: Played) -> None:
    made = played("plain", "flink_plain", until=2)
    location = {"checkpointLocation": str(FIXTURES / "plain")}
    assert told(made, **location) == ("proven", ["record_times"])

    make_anew(made, 100, now_ms() + 2 * MINUTE_MS, partitions=3)

    with pytest.raises(TopicReplacedError, match="younger than snapshot"):
        made.open(**location).cut()
