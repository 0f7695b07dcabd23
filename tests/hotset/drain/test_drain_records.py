"""What a record has, to the byte, whichever way it was taken.

A real broker holds every kind of record there is: nulls and empty ones, keys, headers, timestamps of both
kinds, aborted ones, very large ones.
"""

from __future__ import annotations

import os

import pytest
from confluent_kafka import Producer

from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.errors import HotsetError, KafkaProtocolError
from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.offsets import OffsetRange
from hotset.kafka.record_source import DrainLimits
from hotset.native.availability import native_available
from stack import KafkaBroker
from tests.builders import delete_topic, make_topic, produce, unique
from tests.hotset.reading import COMMITTED, chunks_of, everything, send, send_header_name

pytestmark = pytest.mark.kafka

MEGABYTE = 1024 * 1024

both_ways = pytest.mark.usefixtures("way")

Headers = list[tuple[str, bytes | None]]


@pytest.fixture(scope="module")
def client(broker: KafkaBroker) -> KafkaClient:
    return connect({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    # Records here are of any time, and old ones must not be gone before they are read.
    return make_topic(broker.bootstrap, unique("records"), partitions=2, retention_ms="-1")


@both_ways
def test_keys_headers_and_timestamps_are_those_of_the_record(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    headers: Headers = [("é", b"x"), ("é", None), ("", b"")]
    send(
        broker,
        topic,
        [
            {"value": b"v", "key": b"k", "headers": headers, "timestamp": 1234},
            {"value": None, "key": b"", "timestamp": 1},
            {"value": b"", "key": None, "headers": [("h", b"\x00")], "timestamp": 2},
        ],
    )

    table = everything(client, topic, OffsetRange(0, 0, 3))

    assert table.to_pydict() == {
        "partition": [0, 0, 0],
        "offset": [0, 1, 2],
        "timestamp_ms": [1234, 1, 2],
        "value": [b"v", None, b""],
        "key": [b"k", b"", None],
        "timestamp_type": [0, 0, 0],
        "headers": [
            [{"key": name, "value": value} for name, value in headers],
            [],
            [{"key": "h", "value": b"\x00"}],
        ],
    }


@both_ways
def test_the_brokers_own_time_is_told_from_the_producers(client: KafkaClient, broker: KafkaBroker) -> None:
    topic = make_topic(
        broker.bootstrap, unique("stamped"), partitions=1, message_timestamp_type="LogAppendTime"
    )
    send(broker, topic, [{"value": b"v", "timestamp": 1234}])

    table = everything(client, topic, OffsetRange(0, 0, 1))

    assert table["timestamp_type"].to_pylist() == [1]
    assert table["timestamp_ms"][0].as_py() > 1234


@both_ways
def test_a_header_whose_name_is_no_text_is_an_error_that_names_the_record(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    send(broker, topic, [{"value": b"v", "headers": [("h", b"x")]}])
    send_header_name(broker, topic, b"\xff\xfe")

    assert everything(client, topic, OffsetRange(0, 0, 1)).num_rows == 1
    with pytest.raises(KafkaProtocolError, match=f"{topic}.*partition 0 offset 1 has a header"):
        everything(client, topic, OffsetRange(0, 0, 2))
    assert sum(chunk.num_rows for chunk in chunks_of(client, topic, OffsetRange(0, 0, 2))) == 2


@both_ways
def test_a_record_larger_than_a_chunk_is_a_chunk(client: KafkaClient, broker: KafkaBroker) -> None:
    topic = make_topic(broker.bootstrap, unique("large"), partitions=1, max_message_bytes=str(6 * MEGABYTE))
    sent = [b"a", os.urandom(5 * MEGABYTE), b"b", b"c"]
    send(broker, topic, [{"value": value} for value in sent], **{"message.max.bytes": 6 * MEGABYTE})
    limits = DrainLimits(memory_bytes=MEGABYTE)

    chunks = list(chunks_of(client, topic, OffsetRange(0, 0, 4), limits=limits))

    assert [chunk.column("value").to_pylist() for chunk in chunks] == [[sent[0]], [sent[1]], sent[2:]]


@both_ways
@pytest.mark.parametrize("memory_bytes", [1, 10**15])
@pytest.mark.parametrize(
    "settings",
    [{"message.max.bytes": "30000000"}, {"fetch.max.bytes": "20000000"}, {"fetch.message.max.bytes": "1000"}],
    ids=str,
)
def test_memory_goes_with_every_setting_of_a_user(
    broker: KafkaBroker, topic: str, settings: dict[str, str], memory_bytes: int
) -> None:
    produce(broker.bootstrap, topic, [b"a", b"b" * 5000])
    client = connect({"bootstrap.servers": broker.bootstrap, **settings})
    limits = DrainLimits(memory_bytes=memory_bytes)

    assert everything(client, topic, OffsetRange(0, 0, 2), limits=limits)["value"].to_pylist() == [
        b"a",
        b"b" * 5000,
    ]


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_what_is_held_at_a_time_is_less_than_the_memory(lanes: int) -> None:
    limits = DrainLimits(memory_bytes=64 * MEGABYTE, lanes=lanes)
    chunks = (lanes + 1) * limits.chunk_bytes

    for partitions in (1, 2, 30 // lanes):
        answer = partitions * limits.piece_bytes(partitions)
        assert chunks + lanes * (limits.ahead_bytes + answer) <= limits.memory_bytes // 2


@both_ways
def test_chunks_keep_to_their_bytes(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    send(broker, topic, [{"value": b"v" * 600, "key": b"k" * 300, "headers": [("h", b"x" * 99)]}] * 500)
    limits = DrainLimits(memory_bytes=40_000)

    plain = list(chunks_of(client, topic, OffsetRange(0, 0, 500), limits=limits))
    whole = list(
        chunks_of(client, topic, OffsetRange(0, 0, 500), limits=limits, has_keys=True, has_headers=True)
    )

    assert limits.chunk_bytes == 5_000
    assert [chunk.num_rows for chunk in plain] == [8] * 62 + [4]
    assert [chunk.num_rows for chunk in whole] == [5] * 100


@both_ways
def test_a_range_that_ends_in_markers_and_aborted_records_ends(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for number, end in enumerate([producer.commit_transaction, producer.abort_transaction] * 10):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, b"%d" % number, partition=partition)
        producer.flush(30)
        end(30)

    table = everything(client, topic, OffsetRange(0, 0, 40), OffsetRange(1, 1, 39))

    seen = [b"%d" % number for number in range(0, 20, 2)]
    assert table["value"].to_pylist() == seen + seen[1:]
    for end in (1, 2, 3, 4):
        assert everything(client, topic, OffsetRange(0, 0, end)).num_rows == 1
    for start in (1, 2, 3):
        assert everything(client, topic, OffsetRange(0, start, 4)).num_rows == 0


@both_ways
def test_a_range_far_behind_the_end_of_the_log_ends(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    for partition in (0, 1):
        produce(broker.bootstrap, topic, [b"%d" % n for n in range(20_000)], partition=partition)

    table = everything(client, topic, OffsetRange(0, 5, 6), OffsetRange(1, 0, 15_000))

    assert table["offset"].to_pylist() == [5, *range(15_000)]


@both_ways
def test_a_recreated_topic_is_never_a_short_answer(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    produce(broker.bootstrap, topic, [b"a"] * 10)
    delete_topic(broker.bootstrap, topic)
    make_topic(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, [b"b"] * 3)

    with pytest.raises(HotsetError) as caught:
        list(chunks_of(client, topic, OffsetRange(0, 5, 10), limits=DrainLimits(no_progress_ms=3000)))

    assert caught.value.code in ("OFFSET_OUT_OF_RANGE", "HOT_READ_TIMEOUT", "LOG_TRUNCATED")


@both_ways
def test_what_a_guard_raises_ends_the_read(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, [b"a"])

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(drain(client, topic, (OffsetRange(0, 0, 1),), COMMITTED, Deadline.after_ms(60_000), guard=stop))


@both_ways
def test_a_read_may_be_left_at_any_chunk(client: KafkaClient, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(5000)])

    chunks = chunks_of(client, topic, OffsetRange(0, 0, 5000), limits=DrainLimits(chunk_rows=10))
    first, second = next(chunks), next(chunks)
    chunks.close()  # type: ignore[attr-defined]  # it is a generator

    assert first.column("value").to_pylist() == [b"%d" % n for n in range(10)]
    assert second.column("offset").to_pylist() == list(range(10, 20))


def test_the_child_of_a_fork_leaves_its_parents_read_alone(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    if not native_available().is_available:
        pytest.skip("nothing is read natively here")
    produce(broker.bootstrap, topic, [b"%d" % n for n in range(5000)])
    chunks = chunks_of(client, topic, OffsetRange(0, 0, 5000), limits=DrainLimits(chunk_rows=100))
    seen = next(chunks).num_rows

    child = os.fork()
    if child == 0:
        try:
            next(chunks)
        except RuntimeError as exc:
            del chunks
            os._exit(0 if "another process" in str(exc) else 1)
        os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert seen + sum(chunk.num_rows for chunk in chunks) == 5000
