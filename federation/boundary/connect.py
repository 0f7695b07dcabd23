"""The boundary of a table that the Apache Iceberg Kafka Connect sink fills.

The sink's snapshots hold offsets of its *control topic*, not of the source.
What its tasks had read when a snapshot was made stands in the control topic
itself: in the events below those offsets. The sink's consumer group is no
boundary, since it runs ahead of the table. Only committed events are read, up
to the last stable offset, so a killed task's open transaction delays nothing.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from coldset import PinnedTable, walk_parents
from federation.boundary.committed import CommittedOffsets, Confidence, parse_next_offset
from federation.boundary.connect_events import DATA_COMPLETE, DATA_WRITTEN, ControlEvent, decode_event
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError
from hotset import Deadline, Isolation, KafkaClient, LogBounds, OffsetRange, drain, read_log_bounds
from hotset.errors import TopicNotFoundError

PREFIX: Final = "kafka.connect.offsets."
_KEPT: Final = 256

# A boundary is a matter of the past, so what was found for a snapshot stays true.
_found: Final[OrderedDict[tuple[str, int], CommittedOffsets]] = OrderedDict()


def resolve_connect(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> CommittedOffsets:
    """Return the boundary that the sinks' control topics tell.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster that has topic and control topics.

    Raises:
        BoundaryUnknownError: The control topic is gone or cut short, a snapshot
            holds only part of a task's round, or two sinks disagree.
        HotsetError: The control topic could not be read.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    key = (pinned.uuid, pinned.snapshot.snapshot_id)
    if key in _found:
        return _found[key]
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    next_offset: dict[int, int] = {}
    told = []
    for name, reached in control_offsets(pinned).items():
        topic, group, bounds, events = _read_control(name, pinned, client, deadline)
        vector = _vector(pinned, definition.topic, reached, events)
        _require_history(pinned, definition.topic, topic, vector, bounds, client, deadline)
        for partition, offset in vector.items():
            if next_offset.get(partition, offset) != offset:
                raise _unknown(pinned, f"two sinks have read partition {partition} to different offsets")
            next_offset[partition] = offset
        told.append(f"control topic {topic} below {json.dumps(reached)} (group {group})")
    found = CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=None,
        next_offset=next_offset,
        isolation=None,
        resolver="connect",
        provenance=", ".join(told),
        confidence=Confidence.EXACT,
    )
    _found[key] = found
    while len(_found) > _KEPT:
        _found.popitem(last=False)
    return found


def control_offsets(pinned: PinnedTable) -> dict[str, dict[int, int]]:
    """Return, per sink, the control offsets that the snapshot has taken account of.

    The maximum over the ancestry: a sink that reads its control topic again has
    been seen to write lower numbers than before.

    Raises:
        BoundaryUnknownError: A property is malformed.
    """
    found: dict[str, dict[int, int]] = {}
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        properties = snapshot.summary.additional_properties if snapshot.summary else {}
        for name, text in properties.items():
            if not name.startswith(PREFIX):
                continue
            reached = found.setdefault(name.removeprefix(PREFIX), {})
            try:
                for partition, offset in json.loads(text).items():
                    reached[int(partition)] = max(parse_next_offset(offset), reached.get(int(partition), 0))
            except (ValueError, AttributeError) as exc:
                raise _unknown(
                    pinned, f"property {name} of snapshot {snapshot.snapshot_id} is malformed"
                ) from exc
    return found


def _read_control(
    name: str, pinned: PinnedTable, client: KafkaClient, deadline: Deadline
) -> tuple[str, str, LogBounds, list[ControlEvent]]:
    # Topic and group are joined by a dot in the property's name, and both may have dots.
    parts = name.split(".")
    for cut in range(1, len(parts)):
        topic, group = ".".join(parts[:cut]), ".".join(parts[cut:])
        try:
            bounds = read_log_bounds(client, topic, Isolation.READ_COMMITTED, deadline)
        except TopicNotFoundError:
            continue
        events = [
            event for event in _events(topic, pinned, bounds, client, deadline) if event.group_id == group
        ]
        if events:
            return topic, group, bounds, events
    raise _unknown(pinned, f"no control topic with events of the sink was found by the name {name!r}")


def _events(
    topic: str, pinned: PinnedTable, bounds: LogBounds, client: KafkaClient, deadline: Deadline
) -> Iterator[ControlEvent]:
    ranges = tuple(OffsetRange(p.partition, p.log_start, max(p.log_start, p.end)) for p in bounds.partitions)
    for batch in drain(client, topic, ranges, Isolation.READ_COMMITTED, deadline, has_keys=True):
        for record in batch.to_pylist():
            try:
                event = decode_event(record)
            except ValueError as exc:
                raise _unknown(pinned, str(exc)) from exc
            if event is not None:
                yield event


def _vector(
    pinned: PinnedTable, topic: str, reached: Mapping[int, int], events: list[ControlEvent]
) -> dict[int, int]:
    vector: dict[int, int] = {}
    for event in events:
        if event.kind == DATA_COMPLETE and _is_counted(event, pinned, reached, events):
            for (source, partition), offset in event.positions.items():
                if source == topic:
                    vector[partition] = max(offset, vector.get(partition, 0))
    return vector


def _is_counted(
    complete: ControlEvent, pinned: PinnedTable, reached: Mapping[int, int], events: list[ControlEvent]
) -> bool:
    """Return True if what a task had read is in the snapshot.

    The coordinator may commit between a slow task's files and its word that it
    is done; then its files decide.
    """
    below = reached.get(complete.partition, 0)
    if complete.offset < below:
        return True
    written = [
        event.offset < below
        for event in events
        if event.kind == DATA_WRITTEN
        and (event.sender, event.commit_id, event.partition)
        == (complete.sender, complete.commit_id, complete.partition)
        and _is_of(event, pinned)
    ]
    if any(written) and not all(written):
        raise _unknown(
            pinned, "the snapshot holds some of the files that a task wrote in one round, and not the others"
        )
    return bool(written) and all(written)


def _is_of(event: ControlEvent, pinned: PinnedTable) -> bool:
    return event.table_uuid is None or event.table_uuid.hex() == pinned.uuid.replace("-", "")


def _require_history(
    pinned: PinnedTable,
    topic: str,
    control: str,
    vector: Mapping[int, int],
    bounds: LogBounds,
    client: KafkaClient,
    deadline: Deadline,
) -> None:
    if not any(found.log_start for found in bounds.partitions):
        return
    unknown = [p for p in client.describe(topic, deadline).partitions if p not in vector]
    if unknown:
        raise _unknown(
            pinned,
            f"the beginning of control topic {control!r} is gone, and what is left does not tell "
            f"partitions {unknown}",
        )


def _unknown(pinned: PinnedTable, why: str) -> BoundaryUnknownError:
    return BoundaryUnknownError(
        f"the boundary of snapshot {pinned.snapshot_id} of table {pinned.identifier!r}, which a Kafka "
        "Connect sink "
        f"fills, cannot be told: {why}; read a newer snapshot, keep the control topic's records, or "
        "name the table's "
        "Kafka columns",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )
