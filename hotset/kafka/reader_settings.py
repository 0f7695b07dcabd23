"""The properties with which exact ranges are read: nothing is skipped, committed, guessed or fetched too far.

They win over what users may set, but for the sizes of answers. The file opens no connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import TopicPartition

from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits

_PIECE: Final = "max.partition.fetch.bytes"
_PIECES: Final = {_PIECE, "fetch.message.max.bytes"}  # two names of one property


def exact_settings(
    properties: Mapping[str, str],
    isolation: Isolation,
    limits: DrainLimits,
    ranges: tuple[OffsetRange, ...],
) -> dict[str, str]:
    """Return the properties of an exact reader of ranges, with secrets in them.

    No reset, no commits, no group that is joined, checksums on, a bounded queue, answers no larger than
    it, and no one-second pause once it is full, which it is with as many records as there are offsets.

    Args:
        properties: The client's.
        isolation: Which transactional records are visible.
        limits: How much is fetched ahead.
        ranges: What is read.
    """
    ahead = min(limits.ahead_rows, max(1, sum(r.span for r in ranges)))
    return {
        **({} if _PIECES & properties.keys() else {_PIECE: str(limits.piece_bytes(len(ranges)))}),
        **properties,
        "group.id": "kafkaiceberg",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "error",
        "enable.partition.eof": "true",
        "check.crcs": "true",
        "isolation.level": isolation.value,
        "fetch.queue.backoff.ms": "1",
        "fetch.wait.max.ms": "20",
        "queued.max.messages.kbytes": str(limits.ahead_bytes // 1024),
        "queued.min.messages": str(ahead),
    }


def position_of(topic: str, start: OffsetRange, epoch: int) -> TopicPartition:
    """Return where a reader of a range begins, under a leader of that epoch or, below 0, of any."""
    if epoch < 0:
        return TopicPartition(topic, start.partition, start.start)
    return TopicPartition(topic, start.partition, start.start, leader_epoch=epoch)
