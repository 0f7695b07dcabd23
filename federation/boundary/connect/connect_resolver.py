"""The boundary of a table that the Apache Iceberg Kafka Connect sink fills.

The sink's snapshots hold offsets of its *control topic*, not of the source.
What its tasks had read when a snapshot was made stands in the control topic
itself: in the events below those offsets. The sink's consumer group is no
boundary, since it runs ahead of the table.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from coldset.table import Ancestry, PinnedTable, Snapshot
from federation.boundary.assumptions import Basis
from federation.boundary.await_commit import await_newer
from federation.boundary.columns import replaced
from federation.boundary.committed import CommittedOffsets, parse_next_offset
from federation.boundary.connect.control_topic import read_control
from federation.boundary.connect.lost_files import require_none_lost
from federation.boundary.connect.sink_history import (
    SharedSinkError,
    SinkCommit,
    SinkHistory,
    UnknownHistoryError,
    compute_vector,
    newest_ms,
)
from federation.boundary.evidence import count_rows
from federation.boundary.named_partitions import require_every_partition
from federation.errors import BoundaryUnknownError, NotOneToOneError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.drain import drain
from hotset.errors import TopicNotFoundError
from hotset.kafka import Isolation, KafkaClient, OffsetRange, read_log_bounds

CONNECT_OFFSETS_PREFIX: Final = "kafka.connect.offsets."
COMMIT_ID: Final = "kafka.connect.commit-id"


def resolve_connect(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the boundary that the sinks' control topics tell.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster that has topic and control topics.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: The control topic is gone or cut short, or it contradicts the table.
        NotOneToOneError: It speaks of several topics or tables.
        TopicReplacedError: The topic's last committed records are not those that the sink has read.
        HotsetError: The topics could not be read.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    partitions = client.describe(definition.topic, deadline).partitions
    next_offset: dict[int, int] = {}
    readers: dict[int, str] = {}
    histories = []
    ancestry = Ancestry(pinned.table, pinned.snapshot)
    topic_id = None
    for name, commits in read_commits(pinned, ancestry).items():
        history = _read_history(name, commits, pinned, client, deadline, is_complete=not ancestry.is_cut)
        try:
            vector = compute_vector(history, definition.topic, partitions)
        except SharedSinkError as exc:
            raise NotOneToOneError(
                f"table {pinned.identifier!r} and topic {definition.topic!r} are not one to one: {exc}; if "
                "every record of the topic goes into this table alone, set boundary=columns",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            ) from exc
        except UnknownHistoryError as exc:
            raise _unknown(pinned, str(exc), may_pass=exc.may_pass) from exc
        newest = newest_ms(history, definition.topic, vector)
        seen = _require_same_records(pinned, definition.topic, vector, newest, client, deadline)
        topic_id = topic_id or seen
        for partition, offset in vector.items():
            if readers.setdefault(partition, history.group) != history.group:
                raise _unknown(
                    pinned,
                    f"sinks {readers[partition]} and {history.group} have both read partition {partition} "
                    "into it",
                )
            next_offset[partition] = max(offset, next_offset.get(partition, 0))
        histories.append(history)
    if not histories:
        raise _unknown(pinned, f"no ancestor has a property {CONNECT_OFFSETS_PREFIX}*")
    require_every_partition(pinned, ancestry, definition, client, deadline, next_offset)
    if ancestry.is_cut:
        _require_none_lost(pinned, ancestry, histories, client, deadline)
    told = [
        f"control topic {each.control} below {json.dumps(each.reached)} (group {each.group})"
        for each in histories
    ]
    return CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=topic_id,
        next_offset=next_offset,
        isolation=None,
        resolver="connect",
        provenance=", ".join(told),
        basis=Basis.RECORD,
        is_kept=False,  # the sink may begin to fill other tables while this one stands still
        looked=tuple(told),
    )


def read_commits(pinned: PinnedTable, ancestry: Ancestry) -> dict[str, list[SinkCommit]]:
    """Return each sink's commits in the snapshot's ancestry, oldest first, by the name of its property.

    Raises:
        BoundaryUnknownError: A property is malformed.
    """
    found: dict[str, list[SinkCommit]] = {}
    for snapshot in ancestry:
        properties = snapshot.summary.additional_properties if snapshot.summary else {}
        for name, text in properties.items():
            if not name.startswith(CONNECT_OFFSETS_PREFIX):
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
            found.setdefault(name.removeprefix(CONNECT_OFFSETS_PREFIX), []).insert(0, commit)
    return found


def _read_history(
    name: str,
    commits: list[SinkCommit],
    pinned: PinnedTable,
    client: KafkaClient,
    deadline: Deadline,
    *,
    is_complete: bool,
) -> SinkHistory:
    # Topic and group are joined by a dot in the property's name, and both may have dots.
    parts = name.split(".")
    for cut in range(1, len(parts)):
        topic, group = ".".join(parts[:cut]), ".".join(parts[cut:])
        try:
            control = read_control(client, topic, deadline)
        except TopicNotFoundError:
            continue
        except ValueError as exc:
            raise _unknown(pinned, str(exc)) from exc
        events = [event for event in control.events if event.group_id == group]
        if events:
            return SinkHistory(
                control=topic,
                group=group,
                table=pinned.identifier,
                table_uuid=pinned.uuid,
                log_start=control.log_start,
                ends=control.ends,
                events=events,
                commits=commits,
                is_complete=is_complete,
            )
    raise _unknown(pinned, f"no control topic with events of the sink was found by the name {name!r}")


def _require_none_lost(
    pinned: PinnedTable,
    ancestry: Ancestry,
    histories: Sequence[SinkHistory],
    client: KafkaClient,
    deadline: Deadline,
) -> None:
    brought = count_rows(ancestry.survivors, _is_of_sink, is_whole=False)
    try:
        require_none_lost(pinned, histories, brought.rows, client, deadline)
    except UnknownHistoryError as exc:
        raise _unknown(pinned, str(exc)) from exc


def _is_of_sink(snapshot: Snapshot) -> bool:
    properties = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return any(name.startswith(CONNECT_OFFSETS_PREFIX) for name in properties)


def _require_same_records(
    pinned: PinnedTable,
    topic: str,
    vector: Mapping[int, int],
    newest: Mapping[int, int],
    client: KafkaClient,
    deadline: Deadline,
) -> str | None:
    """Return the topic's identity if its records are those that the sink has read, None if nothing shows it.

    The sink records when the last record it read was made, and not the topic's identity. A topic that was
    made anew has other records at those offsets. Records that retention or compaction removed tell
    nothing, and neither does a boundary beyond the log, which is an error in any case.
    """
    bounds = read_log_bounds(client, topic, Isolation.READ_UNCOMMITTED, deadline)
    last = tuple(
        OffsetRange(found.partition, vector[found.partition] - 1, vector[found.partition])
        for found in bounds.partitions
        if found.partition in newest and found.log_start < vector[found.partition] <= found.end
    )
    seen = 0
    for batch in drain(client, topic, last, Isolation.READ_UNCOMMITTED, deadline):
        seen += batch.num_rows
        for record in batch.select(["partition", "offset", "timestamp_ms"]).to_pylist():
            if record["timestamp_ms"] != newest[record["partition"]]:
                place = (record["partition"], record["offset"])
                told_ms = newest[record["partition"]]
                raise replaced(pinned, topic, place, record["timestamp_ms"], told_ms)
    return bounds.topic_id if seen else None


def _unknown(pinned: PinnedTable, why: str, *, may_pass: bool = False) -> BoundaryUnknownError:
    todo = f"{await_newer(pinned)}, or " if may_pass else ""
    return BoundaryUnknownError(
        f"the boundary of snapshot {pinned.snapshot_id} of table {pinned.identifier!r}, which a Kafka "
        f"Connect sink fills, cannot be told: {why}; {todo}name the table's Kafka columns",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )
