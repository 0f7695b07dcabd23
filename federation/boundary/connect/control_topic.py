"""Read the control topic of Kafka Connect sinks, and remember what was read.

Events never change, so a process reads each of them once, however many
snapshots and tables it resolves. Only committed events are read, up to the last
stable offset, so a killed task's open transaction delays nothing. The file does
not know what the events mean.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from federation.boundary.connect.control_events import ControlEvent, decode_event, decode_files
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.drain import drain
from hotset.kafka import Isolation, KafkaClient, OffsetRange, read_log_bounds


@dataclass(frozen=True, slots=True)
class ControlTopic:
    """All events of a control topic from `log_start` to `ends`, each partition's in order."""

    name: str
    log_start: Mapping[int, int]
    ends: Mapping[int, int]
    events: tuple[ControlEvent, ...]


# By identity, which a topic of the same name that was made anew does not share.
_known: Final = LruCache[str, ControlTopic](16)


def read_files(
    client: KafkaClient, control: ControlTopic, wanted: Collection[tuple[int, int]], deadline: Deadline
) -> set[str]:
    """Return the paths of the data files that some events of a control topic announce.

    They are not remembered: there are many, and they are asked for where something is amiss.

    Args:
        client: The cluster.
        control: What was read of the topic.
        wanted: Control partition and offset of the events.
        deadline: When to give up.

    Raises:
        HotsetError: The topic could not be read.
    """
    ranges = tuple(OffsetRange(p, control.log_start[p], end) for p, end in control.ends.items())
    return {
        path
        for batch in drain(client, control.name, ranges, Isolation.READ_COMMITTED, deadline, has_keys=True)
        for record in batch.to_pylist()
        if (record["partition"], record["offset"]) in wanted
        for path in decode_files(record)
    }


def read_control(client: KafkaClient, topic: str, deadline: Deadline) -> ControlTopic:
    """Return the events of a control topic that are committed now.

    Raises:
        TopicNotFoundError: There is no such topic.
        ValueError: A record begins like an event and cannot be read.
        HotsetError: The topic could not be read.
    """
    bounds = read_log_bounds(client, topic, Isolation.READ_COMMITTED, deadline)
    log_start = {found.partition: found.log_start for found in bounds.partitions}
    ends = {found.partition: max(found.log_start, found.end) for found in bounds.partitions}
    known = _known.get(bounds.topic_id)
    if known is None or any(log_start[p] > known.ends.get(p, 0) for p in log_start):
        known = ControlTopic(topic, log_start, log_start, ())  # events are gone that were never read
    ranges = tuple(OffsetRange(p, known.ends.get(p, log_start[p]), end) for p, end in ends.items())
    if any(r.end < r.start for r in ranges):
        known = ControlTopic(topic, log_start, log_start, ())  # the log lost its end, and is read anew
        ranges = tuple(OffsetRange(p, log_start[p], end) for p, end in ends.items())
    events = [
        event
        for batch in drain(client, topic, ranges, Isolation.READ_COMMITTED, deadline, has_keys=True)
        for record in batch.to_pylist()
        if (event := decode_event(record)) is not None
    ]
    # What was read before it was removed from the log is as good as what is still there.
    read = ControlTopic(topic, {**log_start, **known.log_start}, ends, (*known.events, *events))
    _known.put(bounds.topic_id, read)
    return read
