"""Faults and states of a broker's files are what they claim to be: one bit, and a log compacted.

How the product reads such logs is told with them, since nobody else can make them.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from foundation.errors import KafkaIcebergError
from stack import KafkaBroker, StackError
from stack.segments import COMPACTED, flip_bit, wait_for_compaction
from tests.builders import Lake, make_table, make_topic, produce, unique
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_flipped_bit_is_an_error_and_never_a_row(broker: KafkaBroker, lake: MakeLake, codec: str) -> None:
    made = lake(partitions=1)
    settings = {"bootstrap.servers": broker.bootstrap, "compression.type": codec}
    for number in range(3):  # a batch each
        send(settings, made.topic, [(None, event(10 * number + seq)) for seq in range(10)])

    flipped = flip_bit(broker, made.topic, 15)

    assert (flipped.first_offset, flipped.last_offset) == (10, 19)
    with pytest.raises(KafkaIcebergError) as caught:
        made.sql(f"select seq from {made.table}")
    assert caught.value.code == "KAFKA_PROTOCOL"

    flipped.restore()
    assert made.sql(f"select seq from {made.table} order by 1").values() == [list(range(30))]


def test_an_offset_that_is_not_there_is_an_error(broker: KafkaBroker, lake: MakeLake) -> None:
    made = lake(partitions=1)
    produce(broker.bootstrap, made.topic, [b"{}"])

    with pytest.raises(StackError, match="holds offset 1"):
        flip_bit(broker, made.topic, 1)
    with pytest.raises(StackError, match="has no partition"):
        flip_bit(broker, made.topic, 0, partition=1)


@pytest.mark.usefixtures("way")
def test_a_compacted_topic_keeps_the_last_of_each_key(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = unique("compacted")
    make_topic(
        broker.bootstrap, topic, partitions=1, **{k.replace(".", "_"): v for k, v in COMPACTED.items()}
    )
    made = Lake(broker.bootstrap, tmp_path, f"lake.{topic}", topic)
    make_table(made.catalog, made.table)
    settings = {"bootstrap.servers": broker.bootstrap}
    send(settings, topic, [(f"key {seq % 3}", event(seq)) for seq in range(30)])

    time.sleep(1)  # segment.ms has passed
    send(settings, topic, [("key 3", event(30))])
    wait_for_compaction(broker, topic, 30)

    assert made.sql(f"select seq from {made.table} order by 1").values() == [[27, 28, 29, 30]]


def test_a_log_that_is_not_compacted_is_an_error(broker: KafkaBroker, lake: MakeLake) -> None:
    made = lake(partitions=1)
    produce(broker.bootstrap, made.topic, [b"{}"])

    with pytest.raises(StackError, match="to be compacted up to 1"):
        wait_for_compaction(broker, made.topic, 1, deadline_s=0.5)


def event(seq: int) -> bytes:
    return f'{{"run":"r","producer":"p","seq":{seq},"txn":null}}'.encode()


def send(settings: dict[str, str], topic: str, records: list[tuple[str | None, bytes]]) -> None:
    producer = Producer({**settings, "linger.ms": 50, "log_level": 0})
    for key, value in records:
        producer.produce(topic, value, key=key, partition=0)
    assert producer.flush(60) == 0
