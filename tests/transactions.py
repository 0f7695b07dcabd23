"""Transactions of tests: records that nobody sees before they are committed, and how to end one.

A producer is told that its transaction has ended before the broker has written so into the partitions. An
answer in between is one of a transaction that is open, so whoever ends one here waits until all can see it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from foundation.deadline import Deadline
from hotset.kafka.client import connect
from hotset.kafka.log_bounds import read_log_bounds
from hotset.kafka.offsets import Isolation
from tests.builders import HANG_S, unique, wait_until


def begin(
    bootstrap: str, topic: str, values: Iterable[bytes], *, partition: int = 0, timestamp_ms: int = 0
) -> Producer:
    """Send records, of now or of another time, in a transaction that stays open."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": unique("txn"), "log_level": 0})
    producer.init_transactions(HANG_S)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition, timestamp=timestamp_ms)
    assert producer.flush(HANG_S) == 0, "records were not acknowledged"
    return producer


@contextmanager
def transaction(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes],
    *,
    partition: int = 0,
    commits: bool = True,
    timestamp_ms: int = 0,
) -> Iterator[None]:
    """Keep a transaction open that has sent some records, and end it at the end, when no other is open."""
    producer = begin(bootstrap, topic, values, partition=partition, timestamp_ms=timestamp_ms)
    try:
        yield
    finally:
        (producer.commit_transaction if commits else producer.abort_transaction)(HANG_S)
    wait_until_ended(bootstrap, topic)


def wait_until_ended(bootstrap: str, topic: str) -> None:
    wait_until(lambda: held_back(bootstrap, topic) == 0, f"the transactions in topic {topic} to end")


def held_back(bootstrap: str, topic: str) -> int:
    """Offsets that open transactions hide."""
    client = connect({"bootstrap.servers": bootstrap})
    bounds = read_log_bounds(client, topic, Isolation.READ_COMMITTED, Deadline.after_ms(60_000))
    return sum(found.held_back for found in bounds.partitions)
