"""A handle that has read to its end serves the next drain of its topic, and gives what a new one would.

What is looked at is the records, and whether a handle was there for the next drain.
"""

from __future__ import annotations

import os
import threading

import pytest

from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.native.availability import native_available
from stack import KafkaBroker
from tests.builders import make_topic, produce, unique, wait_until

if not native_available().is_available:
    pytest.skip("nothing is read natively here", allow_module_level=True)

from hotset.drain.idle_readers import PARKED, Key, Parked
from hotset.drain.native_source import settings_of
from hotset.kafka.record_source import DEFAULT_LIMITS, Wanted
from hotset.native import _reader

LEVEL = Isolation.READ_COMMITTED


def records(first: int, end: int) -> list[bytes]:
    return [b"%d" % n for n in range(first, end)]


def read(client: KafkaClient, topic: str, *ranges: OffsetRange) -> list[tuple[int, int, bytes]]:
    batches = drain(client, topic, ranges, LEVEL, Deadline.after_ms(20_000), identity=topic)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted((row["partition"], row["offset"], row["value"]) for row in rows)


def key_of(client: KafkaClient, identity: str) -> Key:
    ranges = (OffsetRange(0, 0, 2000), OffsetRange(1, 0, 20))
    settings = settings_of(client, Wanted(identity, ranges, LEVEL, DEFAULT_LIMITS, identity=identity))
    return os.getpid(), identity, tuple(sorted(settings.items())), False, False


@pytest.mark.kafka
def test_one_handle_reads_range_after_range(broker: KafkaBroker) -> None:
    client, topic = (
        connect({"bootstrap.servers": broker.bootstrap}),
        make_topic(broker.bootstrap, unique("parked")),
    )
    produce(broker.bootstrap, topic, records(0, 3000), partition=0)
    produce(broker.bootstrap, topic, records(0, 10), partition=1)
    handles = []
    # The small partition is done first and paused; ranges go forward, back, and end in the middle of a fetch.
    for ranges in (
        [OffsetRange(0, 0, 2500), OffsetRange(1, 0, 2)],
        [OffsetRange(0, 1500, 3000), OffsetRange(1, 2, 10)],
        [OffsetRange(0, 1000, 2900), OffsetRange(1, 3, 7)],
        [OffsetRange(0, 5, 1906), OffsetRange(1, 0, 10)],
    ):
        told = [(r.partition, n, b"%d" % n) for r in ranges for n in range(r.start, r.end)]
        assert read(client, topic, *ranges) == told
        handle = PARKED.take(key_of(client, topic))
        assert handle is not None
        handles.append(handle)
        assert handle.assign(topic, []) == 0
        PARKED.park(key_of(client, topic), handle)

    assert len(set(map(id, handles))) == 1
    produce(broker.bootstrap, topic, records(10, 12), partition=1)
    assert read(client, topic, OffsetRange(1, 10, 12)) == [(1, 10, b"10"), (1, 11, b"11")]


@pytest.mark.kafka
def test_a_drain_that_was_left_early_keeps_nothing(broker: KafkaBroker) -> None:
    client, topic = (
        connect({"bootstrap.servers": broker.bootstrap}),
        make_topic(broker.bootstrap, unique("parked")),
    )
    produce(broker.bootstrap, topic, records(0, 2000), partition=0)
    produce(broker.bootstrap, topic, records(0, 1), partition=1)
    wanted = (OffsetRange(0, 0, 2000), OffsetRange(1, 0, 1))

    batches = drain(client, topic, wanted, LEVEL, Deadline.after_ms(20_000), identity=topic)
    next(batches)
    batches.close()  # type: ignore[attr-defined]

    assert PARKED.take(key_of(client, topic)) is None


def reader() -> _reader.Reader:
    settings = {"bootstrap.servers": "127.0.0.1:9", "group.id": "none"}
    return _reader.Reader(settings, has_keys=False, has_headers=False)


def key(name: str) -> Key:
    return os.getpid(), name, (), False, False


def test_a_handle_whose_connections_had_trouble_is_not_used_again() -> None:
    parked, made = Parked(), reader()
    made.assign("t", [(0, 0, 10, -1)])

    def is_given_up() -> bool:
        parked.park(key("t"), made)
        return parked.take(key("t")) is None

    wait_until(is_given_up, "a connection to have trouble")
    with pytest.raises(RuntimeError, match="closed"):
        made.take(1, 1, 1)


def test_few_handles_are_kept_and_all_are_closed_at_the_end() -> None:
    parked, made = Parked(), [reader() for _ in range(12)]
    for number, each in enumerate(made):
        parked.park(key(str(number)), each)
    parked.end()

    for each in made:
        with pytest.raises(RuntimeError, match="closed"):
            each.take(1, 1, 1)
    assert parked.take(key("11")) is None


def test_a_handle_is_kept_where_there_is_no_thread_to_close_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parked, made = Parked(), reader()

    def refuse(_timer: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Timer, "start", refuse)
        parked.park(key("t"), made)
    parked.end()

    with pytest.raises(RuntimeError, match="closed"):
        made.take(1, 1, 1)
