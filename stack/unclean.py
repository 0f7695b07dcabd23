"""How acknowledged records get lost: an election that nobody in sync can win.

A reader that has seen them must say so instead of going on, and only a real election gives it the
chance. It must not know who reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from confluent_kafka import Producer

from stack.cluster import KafkaCluster
from stack.errors import StackError
from stack.waiting import DEADLINE_S, wait_until

# What a topic needs for it; readers see records that the leader alone has.
UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


def lose_tail(
    cluster: KafkaCluster,
    topic: str,
    tail: Iterable[bytes],
    partition: int = 0,
    *,
    seen: Callable[[], object] = lambda: None,
) -> tuple[int, int]:
    """Let the last records of a partition be acknowledged, read and lost.

    The followers sleep while the leader takes the tail and then dies; one of them, which lacks the
    tail, leads afterwards. At the end all brokers run and are in sync.

    Args:
        cluster: All of its brokers run.
        topic: Has two replicas or more and the settings `UNCLEAN`. What is in it was written with
            `acks=all`, or it is lost too.
        tail: The values that get lost.
        partition: Where.
        seen: Called while the tail can be read and only the leader has it.

    Returns:
        The end of the partition with the tail, and after its loss.

    Raises:
        StackError: The election did not come about, or nothing was lost.
    """
    cluster.wait_for_replicas(topic)
    leader = cluster.leader(topic, partition)
    followers = [broker for broker in cluster.replicas(topic, partition) if broker != leader]
    if not followers:
        raise StackError(f"{topic}-{partition} has one replica, so nobody else can lead it")
    for broker in followers:
        cluster.freeze(broker)
    try:
        # The followers' last fetches were answered long before they are taken out, so what is
        # written from then on cannot wait for them in a socket.
        wait_until(lambda: cluster.in_sync(topic, partition) == [leader], "one replica to be left")
        kept_end = cluster.end_offset(topic, partition)
        lost = list(tail)
        _produce(cluster.reachable, topic, partition, lost)
        # A leader that has not heard yet that it is alone shows nothing of what it acknowledged.
        old_end = kept_end + len(lost)
        wait_until(lambda: cluster.end_offset(topic, partition) == old_end, "the tail to be readable")
        seen()
        cluster.kill(leader)
    finally:
        for broker in followers:
            cluster.thaw(broker)
    wait_until(
        lambda: cluster.leader(topic, partition) in followers,
        f"a follower to lead {topic}-{partition} (is unclean.leader.election.enable set?)",
    )
    new_end = cluster.end_offset(topic, partition)
    cluster.restart(leader)
    cluster.wait_for_replicas()
    if new_end >= old_end:
        raise StackError(f"nothing of {topic}-{partition} was lost: its end is {new_end} as before")
    return old_end, new_end


def _produce(bootstrap: str, topic: str, partition: int, values: Iterable[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "1", "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=partition)
    if producer.flush(DEADLINE_S) != 0:
        raise StackError(f"the leader of {topic}-{partition} took no records")
