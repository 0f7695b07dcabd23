"""The boundary of a table that the Apache Iceberg Kafka Connect sink fills.

The sink's snapshots hold offsets of its *control topic*, not of the source.
What its tasks had read when a snapshot was made stands in the control topic
itself: in the events below those offsets. The sink's consumer group is no
boundary, since it runs ahead of the table. Only committed events are read, up
to the last stable offset, so a killed task's open transaction delays nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Final

from coldset import PinnedTable, is_complete, walk_parents
from federation.boundary.committed import CommittedOffsets, Confidence, parse_next_offset
from federation.boundary.connect_events import ControlEvent, decode_event
from federation.boundary.connect_history import (
    SinkCommit,
    SinkHistory,
    UnknownHistoryError,
    compute_vector,
)
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError
from hotset import Deadline, Isolation, KafkaClient, LogBounds, OffsetRange, drain, read_log_bounds
from hotset.errors import TopicNotFoundError

PREFIX: Final = "kafka.connect.offsets."
COMMIT_ID: Final = "kafka.connect.commit-id"


def resolve_connect(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> CommittedOffsets:
    """Return the boundary that the sinks' control topics tell.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster that has topic and control topics.

    Raises:
        BoundaryUnknownError: The control topic is gone or cut short, it speaks
            of several topics or tables, or it contradicts the table.
        HotsetError: The control topic could not be read.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    partitions = client.describe(definition.topic, deadline).partitions
    next_offset: dict[int, int] = {}
    readers: dict[int, str] = {}
    told = []
    for name, commits in read_commits(pinned).items():
        history = _read_history(name, commits, pinned, client, deadline)
        try:
            vector = compute_vector(history, definition.topic, partitions)
        except UnknownHistoryError as exc:
            raise _unknown(pinned, str(exc)) from exc
        for partition, offset in vector.items():
            if readers.setdefault(partition, history.group) != history.group:
                raise _unknown(
                    pinned,
                    f"sinks {readers[partition]} and {history.group} have both read partition {partition} "
                    "into it",
                )
            next_offset[partition] = max(offset, next_offset.get(partition, 0))
        told.append(
            f"control topic {history.control} below {json.dumps(history.reached)} (group {history.group})"
        )
    if not told:
        raise _unknown(pinned, f"no ancestor has a property {PREFIX}*")
    return CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=None,
        next_offset=next_offset,
        isolation=None,
        resolver="connect",
        provenance=", ".join(told),
        confidence=Confidence.EXACT,
        looked=tuple(told),
    )


def read_commits(pinned: PinnedTable) -> dict[str, list[SinkCommit]]:
    """Return each sink's commits in the snapshot's ancestry, oldest first, by the name of its property.

    Raises:
        BoundaryUnknownError: A property is malformed.
    """
    found: dict[str, list[SinkCommit]] = {}
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        properties = snapshot.summary.additional_properties if snapshot.summary else {}
        for name, text in properties.items():
            if not name.startswith(PREFIX):
                continue
            try:
                commit = SinkCommit(
                    snapshot_id=snapshot.snapshot_id,
                    commit_id=uuid.UUID(properties[COMMIT_ID]).bytes,
                    reached={int(p): parse_next_offset(offset) for p, offset in json.loads(text).items()},
                    rows=int(properties.get("added-records", 0)),
                )
            except (ValueError, AttributeError, KeyError) as exc:
                raise _unknown(
                    pinned,
                    f"the sink's properties of snapshot {snapshot.snapshot_id} are malformed: {exc!r}",
                ) from exc
            found.setdefault(name.removeprefix(PREFIX), []).insert(0, commit)
    return found


def _read_history(
    name: str, commits: list[SinkCommit], pinned: PinnedTable, client: KafkaClient, deadline: Deadline
) -> SinkHistory:
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
            return SinkHistory(
                control=topic,
                group=group,
                table=pinned.identifier,
                table_uuid=pinned.uuid,
                log_start={p.partition: p.log_start for p in bounds.partitions},
                ends={p.partition: p.end for p in bounds.partitions},
                events=events,
                commits=commits,
                is_complete=is_complete(pinned.table, pinned.snapshot),
            )
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


def _unknown(pinned: PinnedTable, why: str) -> BoundaryUnknownError:
    return BoundaryUnknownError(
        f"the boundary of snapshot {pinned.snapshot_id} of table {pinned.identifier!r}, which a Kafka "
        f"Connect sink fills, cannot be told: {why}; read a newer snapshot, keep the control topic's "
        "records, or name the table's Kafka columns",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )
