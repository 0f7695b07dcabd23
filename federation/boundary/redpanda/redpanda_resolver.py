"""The boundary of a table that Redpanda fills: its Iceberg Topics.

Snapshots of Redpanda hold no offsets, but its HTTP proxy tells, in one answer,
the last snapshot it committed and the last offset per partition in it. That is
exact for this snapshot, and for ones made from it without adding rows. It tells
nothing of earlier snapshots, except what was asked while they were the newest.
The answer runs a moment behind the table, so it is asked for again; it is also
updated partition by partition, so only one that is given twice is believed.
"""

from __future__ import annotations

import json
import time
from typing import Final

from coldset.table import Ancestry, PinnedTable, Snapshot, adds_rows, summary_value, walk_parents
from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets
from federation.boundary.redpanda.translation_state import (
    ProxyAddress,
    TranslationState,
    ask_translation_state,
    parse_address,
)
from federation.boundary.rolled_back import require_none_undone
from federation.errors import BoundaryUnknownError, WriterUnavailableError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.kafka import Isolation, KafkaClient

REDPANDA_MARK: Final = "redpanda.commit-metadata"
_PAUSES_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)

# What a snapshot holds does not change, and nobody tells it again once there is a newer one.
_told: Final = LruCache[tuple[str, str, int], TranslationState](256)


def resolve_redpanda(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the boundary that the cluster's HTTP proxy tells.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster, which tells the topic's identity.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: The cluster speaks of another snapshot, or does not know the topic.
        WriterUnavailableError: It did not answer.
        OptionError: Option `redpandaUrl` is malformed.
        HotsetError: The cluster did not tell the topic's identity.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    if definition.redpanda_url is None:
        raise BoundaryUnknownError(
            f"table {pinned.identifier!r} is filled by Redpanda; set redpandaUrl to the address of its "
            "HTTP proxy, which tells the boundary",
            table=pinned.identifier,
        )
    address = parse_address(definition.redpanda_url)
    require_none_undone(pinned, _place)
    # What is told from here on is told of this topic, or of one that the cut will not take for it.
    topic_id = client.describe(definition.topic, deadline).topic_id
    key = (pinned.uuid, topic_id, pinned.snapshot.snapshot_id)
    told = _told.get(key)
    try:
        told = _ask_until_settled(address, pinned, definition.topic, deadline, told)
    except BoundaryUnknownError:
        if told is None:
            raise
    _told.put(key, told)
    return CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=topic_id,
        next_offset=told.next_offset,
        isolation=Isolation.READ_COMMITTED,  # as its tests say: no aborted record gets into a table
        resolver="redpanda",
        provenance=f"translation state of snapshot {told.snapshot_id}, told by Redpanda at {address}",
        basis=Basis.RECORD,
        looked=(f"Redpanda at {address}: {json.dumps(told.next_offset)} in snapshot {told.snapshot_id}",),
    )


def _ask_until_settled(
    address: ProxyAddress,
    pinned: PinnedTable,
    topic: str,
    deadline: Deadline,
    before: TranslationState | None,
) -> TranslationState:
    for pause_s in _PAUSES_S:
        time.sleep(min(pause_s, deadline.remaining_s))
        state = ask_translation_state(address, topic, deadline)
        if state is None:
            raise BoundaryUnknownError(
                f"Redpanda at {address} does not tell of topic {topic!r}: it translates no such topic, the "
                "topic was recreated, or the user of redpandaUrl may not describe it",
                topic=topic,
            )
        if state == before:
            if is_of(pinned, state.snapshot_id):
                return state
            if not _is_behind(pinned, state.snapshot_id):
                break
        before = state
    assert before is not None
    if _is_behind(pinned, before.snapshot_id):
        raise WriterUnavailableError(
            f"Redpanda at {address} has told of snapshot {before.snapshot_id} of topic {topic!r} only, and "
            f"the answer is of snapshot {pinned.snapshot_id} of table {pinned.identifier!r}; ask again",
            table=pinned.identifier,
        )
    raise BoundaryUnknownError(
        f"Redpanda at {address} tells the boundary of snapshot {before.snapshot_id}, and not that of "
        f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r}; read the newest snapshot, or name "
        "the table's Kafka columns",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )


def is_of(pinned: PinnedTable, told: int | None) -> bool:
    """Return True if what is told of one snapshot is true of the pinned one."""
    assert pinned.snapshot is not None
    for snapshot in Ancestry(pinned.table, pinned.snapshot):
        if snapshot.snapshot_id == told:
            return True
        if adds_rows(snapshot) or summary_value(snapshot, REDPANDA_MARK) is not None:
            return False
    return False


def _place(snapshot: Snapshot) -> tuple[object, int] | None:
    return (
        None
        if summary_value(snapshot, REDPANDA_MARK) is None
        else (REDPANDA_MARK, snapshot.sequence_number or 0)
    )


def _is_behind(pinned: PinnedTable, told: int | None) -> bool:
    is_marked = False
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        if snapshot.snapshot_id == told:
            return is_marked
        is_marked = is_marked or summary_value(snapshot, REDPANDA_MARK) is not None
    return told is None and is_marked
