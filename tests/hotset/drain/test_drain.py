"""Exact ranges from a real broker: every record once, to the end, or an error.

The broker's own behaviour is what is tested against: tombstones, compression,
retention, a topic that goes away, a broker that freezes.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.errors import (
    HotReadTimeoutError,
    HotsetError,
    KafkaUnavailableError,
    OffsetOutOfRangeError,
    TopicChangedError,
    TopicNotFoundError,
)
from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.log_bounds import read_log_bounds, require_topic_id
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits
from stack import KafkaBroker
from tests.builders import delete_records, delete_topic, make_topic, produce, unique

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("way")]

COMMITTED = Isolation.READ_COMMITTED
LIMITS = DrainLimits()


@pytest.fixture(scope="module")
def client(broker: KafkaBroker) -> KafkaClient:
    return connect({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    # Some records here are old, and must not be gone before they are read.
    return make_topic(broker.bootstrap, unique("drained"), partitions=2, retention_ms="-1")


def soon() -> Deadline:
    return Deadline.after_ms(30_000)


def values(
    client: KafkaClient, topic: str, *ranges: OffsetRange, limits: DrainLimits = LIMITS
) -> list[tuple[int, int, bytes | None]]:
    chunks = drain(client, topic, ranges, COMMITTED, soon(), limits)
    return [(row["partition"], row["offset"], row["value"]) for chunk in chunks for row in chunk.to_pylist()]


def test_a_range_is_read_from_its_start_to_before_its_end(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(10)])

    found = values(client, topic, OffsetRange(0, 3, 6))

    assert found == [(0, 3, b"3"), (0, 4, b"4"), (0, 5, b"5")]


def test_several_partitions_are_read_together_each_in_order(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    for partition in (0, 1):
        produce(broker.bootstrap, topic, [b"%d" % n for n in range(2500)], partition=partition)

    found = values(client, topic, OffsetRange(0, 0, 2500), OffsetRange(1, 100, 2000))

    assert [offset for partition, offset, _ in found if partition == 0] == list(range(2500))
    assert [offset for partition, offset, _ in found if partition == 1] == list(range(100, 2000))


@pytest.mark.parametrize(
    "ranges", [(), (OffsetRange(0, 0, 0),), (OffsetRange(0, 7, 7), OffsetRange(1, 0, 0))]
)
def test_empty_ranges_ask_the_broker_nothing(ranges: tuple[OffsetRange, ...]) -> None:
    nowhere = connect({"bootstrap.servers": "127.0.0.1:9"})

    assert list(drain(nowhere, "none", ranges, COMMITTED, soon())) == []


def test_a_tombstone_is_a_record_without_a_value(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"a", None, b""])

    assert [value for *_, value in values(client, topic, OffsetRange(0, 0, 3))] == [b"a", None, b""]


def test_keys_and_headers_do_not_disturb(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"v", key=b"k", partition=0, headers=[("h", b"x"), ("h", None)], timestamp=1234)
    assert producer.flush(30) == 0

    [chunk] = drain(client, topic, (OffsetRange(0, 0, 1),), COMMITTED, soon())

    assert chunk.to_pylist() == [{"partition": 0, "offset": 0, "timestamp_ms": 1234, "value": b"v"}]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression_is_read(client: KafkaClient, broker: KafkaBroker, topic: str, codec: str) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 50, "log_level": 0}
    )
    sent = [b"%d" % n * 50 for n in range(500)]
    for value in sent:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0

    assert [value for *_, value in values(client, topic, OffsetRange(0, 0, 500))] == sent


def test_a_record_of_about_a_megabyte_is_read(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    large = b"x" * 999_000
    produce(broker.bootstrap, topic, [b"a", large, b"b"])

    assert [value for *_, value in values(client, topic, OffsetRange(0, 0, 3))] == [b"a", large, b"b"]


def test_chunks_keep_to_their_limits(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(5000)])
    limits = DrainLimits(chunk_rows=1000)

    chunks = list(drain(client, topic, (OffsetRange(0, 0, 5000),), COMMITTED, soon(), limits))

    assert [chunk.num_rows for chunk in chunks] == [1000] * 5


def test_aborted_records_are_skipped_and_end_the_range(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for value, end in ((b"no", producer.abort_transaction), (b"yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(30)
        end(30)

    assert values(client, topic, OffsetRange(0, 0, 4)) == [(0, 2, b"yes")]
    assert values(client, topic, OffsetRange(0, 0, 2)) == []


def test_a_start_that_retention_removed_is_an_error_that_names_it(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(10)])
    delete_records(broker.bootstrap, topic, {0: 5})

    with pytest.raises(OffsetOutOfRangeError) as caught:
        values(client, topic, OffsetRange(0, 2, 10))

    assert (caught.value.details["start"], caught.value.details["end"]) == (2, 10)


def test_a_range_past_the_end_of_the_log_is_never_short(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"a"])

    with pytest.raises(HotsetError) as caught:
        values(client, topic, OffsetRange(0, 0, 5), limits=DrainLimits(no_progress_ms=500))

    assert caught.value.code in ("HOT_READ_TIMEOUT", "OFFSET_OUT_OF_RANGE")


def test_a_deleted_topic_is_a_declared_error(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, [b"a"])
    delete_topic(broker.bootstrap, topic)

    with pytest.raises(HotsetError) as caught:
        values(client, topic, OffsetRange(0, 0, 1), limits=DrainLimits(no_progress_ms=2000))

    assert caught.value.code in ("TOPIC_NOT_FOUND", "TOPIC_CHANGED", "HOT_READ_TIMEOUT")


def test_a_recreated_topic_is_noticed_by_its_id(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    old = client.describe(topic, soon()).topic_id
    delete_topic(broker.bootstrap, topic)
    with pytest.raises(TopicNotFoundError):
        require_topic_id(client, topic, old, soon())

    make_topic(broker.bootstrap, topic)

    with pytest.raises(TopicChangedError, match="recreated"):
        require_topic_id(client, topic, old, soon())


def test_bounds_are_those_of_the_log(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, [b"a", b"b", b"c"])
    delete_records(broker.bootstrap, topic, {0: 1})

    bounds = read_log_bounds(client, topic, COMMITTED, soon())

    assert [(p.log_start, p.end, p.high_watermark) for p in bounds.partitions] == [(1, 3, 3), (0, 0, 0)]


def test_a_topic_that_is_not_there_is_said_to_be_so(client: KafkaClient) -> None:
    with pytest.raises(TopicNotFoundError):
        read_log_bounds(client, unique("none"), COMMITTED, soon())


def test_an_unreachable_broker_is_an_error_within_the_deadline() -> None:
    nowhere = connect({"bootstrap.servers": "127.0.0.1:9"})
    deadline = Deadline.after_ms(500)

    with pytest.raises(KafkaUnavailableError, match=r"127\.0\.0\.1:9.*within 500 ms"):
        read_log_bounds(nowhere, "orders", COMMITTED, deadline)

    assert deadline.has_passed


def test_a_frozen_broker_ends_a_read_at_its_deadline(frail_broker: KafkaBroker) -> None:
    topic = make_topic(frail_broker.bootstrap, unique("frozen"), partitions=1)
    produce(frail_broker.bootstrap, topic, [b"a"])
    client = connect({"bootstrap.servers": frail_broker.bootstrap})
    frail_broker.pause()

    try:
        with pytest.raises(HotReadTimeoutError, match=r"left: 0\[0,1\)"):
            list(drain(client, topic, (OffsetRange(0, 0, 1),), COMMITTED, Deadline.after_ms(500)))
    finally:
        frail_broker.resume()

    assert values(client, topic, OffsetRange(0, 0, 1)) == [(0, 0, b"a")]
