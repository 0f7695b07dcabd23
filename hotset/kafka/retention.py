"""When Kafka will remove records: what the topic's configuration says, and how fast its log grows.

Nothing here reads records. It speaks to librdkafka's admin client through the
one client file, and does not know what a table has committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from foundation.deadline import Deadline
from hotset.errors import KafkaProtocolError
from hotset.kafka.client import KafkaClient
from hotset.kafka.offsets import Isolation

_NAMES: Final = ("cleanup.policy", "retention.ms", "retention.bytes")


@dataclass(frozen=True, slots=True)
class TopicRetention:
    """What limits a topic's log; None where nothing does.

    Attributes:
        retention_ms: Records older than this are removed.
        retention_bytes: Of each partition, what is beyond this is removed.
    """

    retention_ms: int | None
    retention_bytes: int | None


def read_retention(client: KafkaClient, topic: str, deadline: Deadline) -> TopicRetention:
    """Ask for the topic's configuration, the cluster's defaults included.

    Raises:
        TopicNotFoundError: There is no such topic.
        KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer in time.
        KafkaProtocolError: The answer lacks what every topic has.
    """
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    doing = f"reading the configuration of topic {topic!r}"
    answer = client.ask(doing, deadline, lambda admin, **limit: admin.describe_configs([resource], **limit))
    entries = {name: entry.value for name, entry in answer[resource].items()}
    if any(entries.get(name) is None for name in _NAMES):
        raise KafkaProtocolError(f"{doing}: the cluster gave no {' or '.join(_NAMES)}", topic=topic)
    if "delete" not in entries["cleanup.policy"]:
        return TopicRetention(None, None)
    return TopicRetention(_limit(entries["retention.ms"]), _limit(entries["retention.bytes"]))


def read_offsets_at(
    client: KafkaClient, topic: str, partitions: Iterable[int], at_ms: int, deadline: Deadline
) -> dict[int, int]:
    """Return per partition the first offset of a record that is not older than a time.

    A partition without such a record is left out.

    Args:
        client: The cluster.
        topic: Topic name.
        partitions: Which to ask for.
        at_ms: The time (epoch milliseconds).
        deadline: When to give up.

    Raises:
        KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer in time.
    """
    found = client.list_offsets(topic, partitions, at_ms, Isolation.READ_UNCOMMITTED, deadline)
    return {partition: offset for partition, (offset, _) in found.items() if offset >= 0}


def _limit(text: str) -> int | None:
    return None if int(text) < 0 else int(text)
