"""Ask Kafka what a topic's log holds now.

The order of the questions is part of the correctness of a cut, so it is
written down once, here: partitions and identity, high watermark, readable end,
log start, partitions and identity again. A topic's id is never another's, and its
partitions only become more: so what was confirmed for an earlier cut does for the
first question, if the last one says the same. The file does not know what a table
has committed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Final

from foundation.deadline import Deadline
from hotset.errors import HotsetError, KafkaProtocolError, TopicChangedError
from hotset.kafka.client import KafkaClient, TopicDescription
from hotset.kafka.offsets import Isolation, LogBounds, PartitionBounds
from hotset.kafka.pending import EARLIEST, LATEST

_TRIES: Final = 3


def read_log_bounds(client: KafkaClient, topic: str, isolation: Isolation, deadline: Deadline) -> LogBounds:
    """Read end offsets, then log starts, then the topic's identity.

    Ends come first, so a record whose log start passes it meanwhile is seen as
    a gap and never as absent. The high watermark comes before the last stable
    offset: if the later of the two is still the lower, a transaction is open.

    Raises:
        TopicNotFoundError: There is no such topic.
        TopicChangedError: The topic was replaced while it was being asked.
        KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer in time.
    """
    known = client.known.get(topic)
    if known is not None:
        # Whatever is wrong with it, who asks all the questions finds it and says so.
        with contextlib.suppress(HotsetError):
            found = _read_once(client, known, isolation, deadline)
            if client.describe(topic, deadline) == known:
                return found
        client.known.pop(topic, None)
    for _ in range(_TRIES):
        before = client.describe(topic, deadline)
        found = _read_once(client, before, isolation, deadline)
        after = client.describe(topic, deadline)
        if before.topic_id != after.topic_id:
            break
        if before.partitions == after.partitions:
            client.known[topic] = after
            return found
    raise TopicChangedError(
        f"topic {topic!r} was recreated, or kept getting partitions, while its offsets were read; ask again",
        topic=topic,
    )


def _read_once(
    client: KafkaClient, described: TopicDescription, isolation: Isolation, deadline: Deadline
) -> LogBounds:
    topic, partitions = described.topic, described.partitions
    high = client.list_offsets(topic, partitions, LATEST, Isolation.READ_UNCOMMITTED, deadline)
    read_at_ms = time.time_ns() // 1_000_000
    ends = client.list_offsets(topic, partitions, LATEST, isolation, deadline)
    starts = client.list_offsets(topic, partitions, EARLIEST, Isolation.READ_UNCOMMITTED, deadline)
    return LogBounds(
        topic=topic,
        topic_id=described.topic_id,
        isolation=isolation,
        partitions=tuple(
            PartitionBounds(
                partition=partition,
                log_start=_offset(topic, partition, starts),
                end=_offset(topic, partition, ends),
                high_watermark=_offset(topic, partition, high),
                leader_epoch=ends[partition][1],
            )
            for partition in partitions
        ),
        read_at_ms=read_at_ms,
    )


def require_topic_id(
    client: KafkaClient,
    topic: str,
    topic_id: str,
    deadline: Deadline,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Raise unless the topic is still the one whose id is given; `meanwhile` is as in `describe`.

    Raises:
        TopicNotFoundError: It is gone.
        TopicChangedError: Another topic has its name now.
    """
    found = client.describe(topic, deadline, meanwhile)
    if found.topic_id != topic_id:
        raise TopicChangedError(
            f"topic {topic!r} was recreated while it was read (id {topic_id}, now {found.topic_id}); "
            "ask again",
            topic=topic,
        )


def _offset(topic: str, partition: int, answer: dict[int, tuple[int, int]]) -> int:
    offset = answer.get(partition, (-1, -1))[0]
    if offset < 0:
        raise KafkaProtocolError(
            f"the cluster gave no offset for topic {topic!r} partition {partition} ({offset}); ask again",
            topic=topic,
            partition=partition,
        )
    return offset
