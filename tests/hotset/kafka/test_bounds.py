"""What a log holds, asked again by a client that has asked before: one question less, and nothing missed.

Whatever happens to the topic between two questions, the bounds are those of one topic and all its partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foundation.deadline import Deadline
from hotset.errors import TopicChangedError, TopicNotFoundError
from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.log_bounds import read_log_bounds
from hotset.kafka.offsets import Isolation, LogBounds
from stack import KafkaBroker
from tests.builders import add_partitions, delete_topic, make_topic, produce, unique

pytestmark = pytest.mark.kafka

ASKED_AGAIN = ["list_offsets", "list_offsets", "list_offsets", "describe"]
SOON_MS = 30_000


@pytest.fixture(scope="module")
def client(broker: KafkaBroker) -> KafkaClient:
    return connect({"bootstrap.servers": broker.bootstrap, "client.id": unique("bounds")})


@pytest.fixture
def topic(client: KafkaClient, broker: KafkaBroker) -> str:
    """A topic with three records whose bounds the client has read."""
    made = make_topic(broker.bootstrap, unique("bounds"), partitions=2)
    produce(broker.bootstrap, made, [b"a", b"b", b"c"])
    read(client, made)
    return made


def read(client: KafkaClient, topic: str) -> LogBounds:
    return read_log_bounds(client, topic, Isolation.READ_COMMITTED, Deadline.after_ms(SOON_MS))


def watch(patch: pytest.MonkeyPatch, at: int, happens: Callable[[], object]) -> list[str]:
    """Note each question, and let something happen before one of them."""
    asked: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(KafkaClient, name)

        def ask(*args: Any, **kwargs: Any) -> Any:
            asked.append(name)
            if len(asked) == at + 1:
                happens()
            return real(*args, **kwargs)

        return ask

    for name in ("describe", "list_offsets"):
        patch.setattr(KafkaClient, name, watched(name))
    return asked


def ends(found: LogBounds) -> int:
    return sum(each.end for each in found.partitions)


def test_bounds_that_were_read_before_take_one_question_less(
    client: KafkaClient, broker: KafkaBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read(client, topic)
    produce(broker.bootstrap, topic, [b"d"])
    asked = watch(monkeypatch, -2, lambda: None)

    after = read(client, topic)

    assert asked == ASKED_AGAIN
    assert (after.topic_id, ends(before), ends(after)) == (before.topic_id, 3, 4)


@pytest.mark.parametrize("at", range(len(ASKED_AGAIN)))
def test_partitions_that_are_added_meanwhile_are_all_there(
    client: KafkaClient, broker: KafkaBroker, topic: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch, at, lambda: add_partitions(broker.bootstrap, topic, 5))

    found = read(client, topic)

    assert [each.partition for each in found.partitions] == [0, 1, 2, 3, 4]
    assert ends(found) == 3


@pytest.mark.parametrize("at", range(len(ASKED_AGAIN)))
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_a_topic_that_is_recreated_meanwhile_is_never_mixed_with_the_old_one(
    client: KafkaClient,
    broker: KafkaBroker,
    topic: str,
    at: int,
    partitions: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = client.known[topic].topic_id

    def recreate() -> None:
        delete_topic(broker.bootstrap, topic)
        make_topic(broker.bootstrap, topic, partitions=partitions)

    watch(monkeypatch, at, recreate)
    try:
        found = read(client, topic)
    except TopicChangedError:
        found = read(client, topic)

    assert found.topic_id != old
    assert (len(found.partitions), ends(found)) == (partitions, 0)
    assert all(each.high_watermark == each.log_start == 0 for each in found.partitions)


@pytest.mark.parametrize("at", range(len(ASKED_AGAIN)))
def test_a_topic_that_is_deleted_meanwhile_is_not_found(
    client: KafkaClient, broker: KafkaBroker, topic: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch, at, lambda: delete_topic(broker.bootstrap, topic))

    with pytest.raises(TopicNotFoundError):
        read(client, topic)
