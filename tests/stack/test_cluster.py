"""Three brokers do what one cannot: they replace each other, and they can lose what one acknowledged.

All tests share a cluster, and each leaves all of its brokers running and in sync.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from stack import KafkaCluster, StackError
from stack.unclean import UNCLEAN, lose_tail
from stack.waiting import wait_until
from tests.builders import produce

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with KafkaCluster.start(tmp_path_factory.mktemp("cluster")) as running:
        yield running
    assert not any(node.is_running for node in (running.controller, *running.brokers.values()))


def test_records_outlive_a_killed_leader(cluster: KafkaCluster) -> None:
    cluster.create_topic("killed")
    old = cluster.leader("killed")
    produce(cluster.bootstrap, "killed", [b"before"])

    cluster.kill(old)
    produce(cluster.bootstrap, "killed", [b"after"])

    assert cluster.leader("killed") not in (old, -1)
    assert read(cluster, "killed", end=2) == [b"before", b"after"]
    cluster.restart(old)
    cluster.wait_for_replicas()


@pytest.mark.long
def test_a_frozen_leader_is_replaced_and_comes_back(cluster: KafkaCluster) -> None:
    cluster.create_topic("frozen")
    old = cluster.leader("frozen")

    cluster.freeze(old)
    try:
        wait_until(lambda: cluster.leader("frozen") not in (old, -1), "another broker to lead")
        produce(cluster.bootstrap, "frozen", [b"meanwhile"])
    finally:
        cluster.thaw(old)

    cluster.wait_for_replicas()
    assert read(cluster, "frozen", end=1) == [b"meanwhile"]


@pytest.mark.long
def test_a_rolling_restart_ends_every_process_and_no_record(cluster: KafkaCluster) -> None:
    cluster.create_topic("rolled", partitions=3)
    produce(cluster.bootstrap, "rolled", [b"kept"])
    before = {node.pid for node in cluster.brokers.values()}

    cluster.rolling_restart()

    assert before.isdisjoint(node.pid for node in cluster.brokers.values())
    assert read(cluster, "rolled", end=1) == [b"kept"]


@pytest.mark.long
@pytest.mark.parametrize("replicas", [2, 3])
def test_an_unclean_election_loses_exactly_the_tail(cluster: KafkaCluster, replicas: int) -> None:
    topic = f"unclean-{replicas}"
    cluster.create_topic(topic, replicas=replicas, config=UNCLEAN)
    produce(cluster.bootstrap, topic, [b"kept"] * 10)

    ends = lose_tail(cluster, topic, [b"lost"] * 5)

    assert ends == (15, 10)
    produce(cluster.bootstrap, topic, [b"new"] * 7)
    assert read(cluster, topic, end=17) == [b"kept"] * 10 + [b"new"] * 7


def test_a_topic_without_followers_cannot_lose_its_tail(cluster: KafkaCluster) -> None:
    cluster.create_topic("alone", replicas=1, config=UNCLEAN)

    with pytest.raises(StackError, match="has one replica"):
        lose_tail(cluster, "alone", [b"kept"])


def test_a_refused_topic_is_an_error(cluster: KafkaCluster) -> None:
    with pytest.raises(StackError, match="topic wide was not created"):
        cluster.create_topic("wide", replicas=4)


def test_a_wrong_setting_is_an_error_and_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"(?s)ended with code 1.*num\.network\.threads"):
        KafkaCluster.start(tmp_path, brokers=1, properties={"num.network.threads": "none"})


def read(cluster: KafkaCluster, topic: str, *, end: int) -> list[bytes | None]:
    """Read one partition from its start until `end` records have come."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "unused", "log_level": 0})
    values: list[bytes | None] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while len(values) < end:
            record = consumer.poll(60)
            assert record is not None, f"only {len(values)} records came"
            if record.error() is None:
                values.append(record.value())
    finally:
        consumer.close()
    return values
