"""Make sure that a log was not cut back below a place that was read before.

An unclean leader election throws records away and lets others take their
offsets, so the same numbers may mean other records. Each leader has an epoch:
if the leader has changed since, the cluster is asked where the older epoch
ended. Only librdkafka's own check of a fetch position asks that, so a position
is taken and its first sign of life awaited. It must not know about tables.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, NamedTuple

from foundation.deadline import Deadline
from hotset.errors import LogTruncatedError, OffsetOutOfRangeError
from hotset.kafka.client import KafkaClient
from hotset.kafka.error_translation import PARTITION_EOF, TRANSIENT, translate
from hotset.kafka.offsets import Isolation, LogBounds, OffsetRange, PartitionBounds

_POLL_S: Final = 0.1
_KEPT: Final = 4096


class _Place(NamedTuple):
    """A place in a log as it was known, and the epoch of the leader that vouches for it now."""

    topic_id: str
    partition: int
    offset: int
    epoch: int
    current_epoch: int


# A log is cut back only when its leader changes, so what was found under a leader stays true under it.
_sound: Final[OrderedDict[_Place, None]] = OrderedDict()
_lock: Final = threading.Lock()


def require_history(
    client: KafkaClient,
    bounds: LogBounds,
    known: Mapping[int, tuple[int, int]],
    deadline: Deadline,
) -> None:
    """Raise unless the log still holds the history that it had below the given places.

    Costs nothing where the leader is still the same, one round trip where it has
    changed, and that once.

    Args:
        client: The cluster.
        bounds: What the log holds now.
        known: Partition to an offset and the epoch of the leader under which the
            log reached it; places that retention has removed are not looked at.
        deadline: When to give up.

    Raises:
        LogTruncatedError: Records below a place were thrown away.
        KafkaUnavailableError, KafkaAccessError: The cluster did not say.
    """
    places = {
        found.partition: _Place(bounds.topic_id, found.partition, *known[found.partition], found.leader_epoch)
        for found in bounds.partitions
        if found.partition in known and known[found.partition][0] >= found.log_start
    }
    with _lock:
        doubtful = {
            p: at for p, at in places.items() if 0 <= at.epoch < at.current_epoch and at not in _sound
        }
    if not doubtful:
        return
    _await_life(client, bounds.topic, doubtful, deadline)
    with _lock:
        _sound.update(dict.fromkeys(doubtful.values()))
        while len(_sound) > _KEPT:
            _sound.popitem(last=False)


def is_same_history(
    client: KafkaClient, topic: str, place: tuple[str, int, int, int, int], deadline: Deadline
) -> bool:
    """Return whether a log still holds the history that it had below a place.

    Args:
        client: The cluster.
        topic: Topic name.
        place: Topic id, partition, offset, the epoch of the leader under which the log
            reached it, and the epoch of the leader now.
        deadline: When to give up.

    Raises:
        KafkaUnavailableError, KafkaAccessError: The cluster did not say.
    """
    topic_id, partition, offset, epoch, current = place
    bounds = LogBounds(
        topic,
        topic_id,
        Isolation.READ_UNCOMMITTED,
        (PartitionBounds(partition, log_start=0, end=offset, high_watermark=offset, leader_epoch=current),),
        read_at_ms=0,
    )
    try:
        require_history(client, bounds, {partition: (offset, epoch)}, deadline)
    except (LogTruncatedError, OffsetOutOfRangeError):
        return False
    return True


def _await_life(client: KafkaClient, topic: str, places: Mapping[int, _Place], deadline: Deadline) -> None:
    starts = tuple(OffsetRange(p, at.offset, at.offset) for p, at in places.items())
    epochs = {p: at.epoch for p, at in places.items()}
    consumer = client.consume(topic, starts, Isolation.READ_UNCOMMITTED, epochs)
    waiting = set(places)
    try:
        while waiting:
            message = consumer.poll(min(_POLL_S, deadline.remaining_s))
            if message is None:
                if deadline.has_passed:
                    raise client.late(f"checking the history of topic {topic!r}", deadline)
                continue
            error = message.error()
            if error is None or error.code() == PARTITION_EOF:
                waiting.discard(message.partition())
            elif error.code() not in TRANSIENT:
                where = f"checking the history of topic {topic!r} partition {message.partition()}"
                raise translate(error, doing=where)
    finally:
        consumer.close()
