"""Tables with Kafka columns whose topic was deleted and made anew: rows of two topics are never joined.

Name and offsets are the same as before; the time of the records is not. Where a table does not have it,
or Kafka has none of the records any more, the boundary is no more than estimated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from federation.boundary import boundary_cache as cache
from federation.boundary.columns import topic_identity as identity
from federation.errors import TopicReplacedError
from stack import KafkaBroker
from tests.builders import Lake, delete_records, delete_topic, make_topic, produce, wait_until
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

# Of now, or retention would remove what is sent.
FIRST_MS = time.time_ns() // 1_000_000 - 60_000
SECOND_MS = FIRST_MS + 5_000
TIMES = {
    "milliseconds": pa.int64(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
NAMED = {"kafkaColumns": "partition=p,offset=o,timestamp=t"}


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """Each test is a process that has seen nothing yet."""
    cache._found.clear()
    identity._older_seen.clear()


def schema_of(kind: pa.DataType = TIMES["milliseconds"]) -> pa.Schema:
    return pa.schema([("seq", pa.int64()), ("p", pa.int32()), ("o", pa.int64()), ("t", kind)])


def send(lake: Lake, count: int, since_ms: int, *, partition: int = 0, start: int = 0) -> None:
    producer = Producer({"bootstrap.servers": lake.bootstrap, "log_level": 0})
    for offset in range(start, start + count):
        producer.produce(
            lake.topic, b'{"seq": %d}' % offset, partition=partition, timestamp=since_ms + offset
        )
    assert producer.flush(60) == 0


def append(
    lake: Lake, offsets: Iterable[int], since_ms: int | None, *, partition: int = 0, **summary: str
) -> None:
    """One data file, as a writer makes it that has read these records."""
    schema = lake.load().schema().as_arrow()
    rows: list[dict[str, Any]] = []
    for offset in offsets:
        time_ms = None if since_ms is None else pa.scalar(since_ms + offset, pa.int64())
        if time_ms is not None and pa.types.is_timestamp(schema.field("t").type):
            time_ms = time_ms.cast(pa.timestamp("ms")).cast(schema.field("t").type)
        rows.append(
            {"seq": offset, "p": partition, "o": offset, "t": None if time_ms is None else time_ms.as_py()}
        )
    lake.load().append(pa.Table.from_pylist(rows, schema=schema), snapshot_properties=summary)


def make_anew(lake: Lake, partitions: int = 2) -> None:
    delete_topic(lake.bootstrap, lake.topic)
    make_topic(lake.bootstrap, lake.topic, partitions=partitions)


def answer(lake: Lake) -> tuple[list[int], str]:
    scan = lake.open(**NAMED).scan()
    rows = scan.to_arrow()
    assert scan.receipt.boundary is not None
    return sorted(rows["o"].to_pylist()), scan.receipt.boundary["confidence"]


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("count", [3, 9], ids=["shorter", "longer"])
def test_a_topic_that_was_made_anew_is_noticed_whatever_it_holds(
    lake: MakeLake, kind: str, count: int
) -> None:
    made = lake(schema=schema_of(TIMES[kind]))
    send(made, 8, FIRST_MS)
    append(made, range(5), FIRST_MS)
    assert answer(made) == (list(range(8)), "proven")
    make_anew(made)
    send(made, count, SECOND_MS)
    cache._found.clear()

    with pytest.raises(TopicReplacedError, match="partition 0") as caught:
        made.open(**NAMED).cut()

    assert caught.value.details["offset"] in (0, min(count, 5) - 1)


@pytest.mark.parametrize("has_holes", [False, True])
def test_what_was_remembered_is_of_the_topic_that_was_looked_into(lake: MakeLake, has_holes: bool) -> None:
    """In the process that has asked before, nothing is looked at again."""
    made = lake(schema=schema_of())
    send(made, 3, FIRST_MS)
    produce(made.bootstrap, made.topic, [None], partition=0)
    send(made, 4, FIRST_MS, start=4)
    append(made, (0, 1, 2, 4, 5) if has_holes else range(3), FIRST_MS)
    made.open(**NAMED).cut()
    make_anew(made)
    send(made, 9, FIRST_MS)

    with pytest.raises(TopicReplacedError, match="came from id"):
        made.open(**NAMED).cut()


def test_holes_of_a_table_without_times_are_proven_of_one_topic_only(lake: MakeLake) -> None:
    columns = {"kafkaColumns": "partition=p,offset=o"}
    made = lake(schema=schema_of())
    send(made, 1, FIRST_MS)
    produce(made.bootstrap, made.topic, [None], partition=0)
    send(made, 3, FIRST_MS)
    append(made, (0, 2), FIRST_MS)
    made.open(**columns).cut()
    make_anew(made)
    send(made, 9, FIRST_MS)

    with pytest.raises(TopicReplacedError, match="came from id"):
        made.open(**columns).cut()


def test_one_partition_is_enough_to_notice_it(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    for partition in (0, 1):
        send(made, 3, FIRST_MS, partition=partition)
        append(made, range(3), FIRST_MS, partition=partition)
    make_anew(made)
    send(made, 5, SECOND_MS, partition=1)

    with pytest.raises(TopicReplacedError, match="partition 1"):
        made.open(**NAMED).cut()


def test_one_file_may_hold_the_ends_of_several_partitions(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    places = [(0, offset) for offset in range(5)] + [(1, offset) for offset in range(3)]
    for partition, count in ((0, 5), (1, 4)):
        send(made, count, FIRST_MS, partition=partition)
    rows = [{"seq": o, "p": p, "o": o, "t": FIRST_MS + o} for p, o in places]
    made.load().append(pa.Table.from_pylist(rows, schema=schema_of()))

    assert answer(made) == (sorted([*range(5), *range(4)]), "proven")


def test_a_writer_that_went_on_where_the_old_topic_ended_has_passed_over_the_new_one(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    append(made, range(4), FIRST_MS)
    send(made, 9, SECOND_MS)
    append(made, range(4, 7), SECOND_MS)

    with pytest.raises(TopicReplacedError, match="offset 0 "):
        made.open(**NAMED).cut()


def test_rows_of_both_topics_at_one_offset_are_of_the_new_one_too(lake: MakeLake) -> None:
    """Its writer began again at the first record, and has come further than the old topic went."""
    made = lake(schema=schema_of())
    append(made, range(4), FIRST_MS)
    send(made, 7, SECOND_MS)
    append(made, range(6), SECOND_MS)

    # Four offsets are in the table twice, and whether that is meant is not for us to say.
    assert answer(made) == (sorted([*range(4), *range(7)]), "estimated")


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_the_time_is_the_one_that_consumers_see(broker: KafkaBroker, lake: MakeLake, kind: str) -> None:
    made = lake(schema=schema_of(), topic=False)
    make_topic(broker.bootstrap, made.topic, message_timestamp_type=kind)
    send(made, 4, FIRST_MS)
    rows = made.open(read="hot", schema="seq bigint").scan().to_arrow()
    assert rows.num_rows == 4
    seen = made.open(**NAMED).scan().to_arrow()
    made.load().append(seen.slice(0, 3))

    assert answer(made) == (list(range(4)), "proven")


def test_the_newest_record_that_compaction_has_left_is_compared(broker: KafkaBroker, lake: MakeLake) -> None:
    made = lake(schema=schema_of(), topic=False)
    make_topic(
        broker.bootstrap,
        made.topic,
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
    )
    producer = Producer({"bootstrap.servers": made.bootstrap, "log_level": 0})
    for offset, key in enumerate(["a", "b", "c", "c", "c", "c"]):
        # Segments end by the times of records, and the last one is never compacted.
        when_ms = FIRST_MS + 1000 * offset
        producer.produce(made.topic, b'{"seq": 0}', key=key, partition=0, timestamp=when_ms)
        producer.flush(60)
    rows = [{"seq": 0, "p": 0, "o": offset, "t": FIRST_MS + 1000 * offset} for offset in range(4)]
    made.load().append(pa.Table.from_pylist(rows, schema=schema_of()))
    wait_until(lambda: len(visible(made)) == 4, "the log to be compacted", 120)

    committed = made.open(**NAMED).scan().taken.committed

    assert committed is not None
    assert committed.confidence == "proven"
    assert committed.looked[-2].startswith("2 records")


def visible(lake: Lake) -> list[int]:
    return lake.open(read="hot", schema="seq bigint").scan().to_arrow()["seq"].to_pylist()


def test_without_times_the_commit_must_do(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    send(made, 4, FIRST_MS)
    append(made, range(2), FIRST_MS)

    committed = made.open(kafkaColumns="partition=p,offset=o").scan().taken.committed

    assert committed is not None
    assert (committed.assumed, committed.confidence) == (("record_times",), "proven")
    assert any("made anew would not be noticed" in sentence for sentence in committed.looked)


def test_rows_that_lack_their_time_tell_nothing(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    send(made, 4, FIRST_MS)
    append(made, range(2), None)

    assert answer(made) == (list(range(4)), "proven")


def test_what_retention_has_removed_tells_nothing(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    send(made, 4, FIRST_MS)
    append(made, range(2), FIRST_MS)
    delete_records(made.bootstrap, made.topic, {0: 2})

    assert answer(made) == (list(range(4)), "estimated")


def test_the_topic_that_was_compared_is_named(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    send(made, 4, FIRST_MS)
    append(made, range(2), FIRST_MS)
    taken = made.open(**NAMED).scan().taken

    assert taken.committed is not None
    assert taken.committed.topic_id == taken.cut.topic_id


def test_a_table_without_rows_has_nothing_that_could_be_of_another_topic(lake: MakeLake) -> None:
    made = lake(schema=schema_of())
    send(made, 2, FIRST_MS)
    append(made, (), None)

    assert answer(made) == ([0, 1], "proven")
