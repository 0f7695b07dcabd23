"""Which partitions a writer's record must name, once a part of the table's history is gone.

A partition that no commit of the table tells of has nothing in it: that is sure
only while all commits are known. An expired one may have been another query's or
another sink's. This file must not know how writers record their offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from coldset.table import Ancestry, PinnedTable
from federation.boundary.await_commit import await_newer
from federation.errors import BoundaryUnknownError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.kafka import Isolation, KafkaClient, read_log_bounds


def require_every_partition(
    pinned: PinnedTable,
    ancestry: Ancestry,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
    next_offset: Mapping[int, int],
) -> None:
    """Raise if an expired commit may have brought records of a partition that no known one tells of.

    Args:
        pinned: The loaded table and snapshot.
        ancestry: Of the snapshot, walked to its end.
        definition: The table's settled options.
        client: The cluster; a partition that never had a record needs no telling.
        deadline: When to give up.
        next_offset: What the known commits tell.

    Raises:
        BoundaryUnknownError: A partition that has records is not told.
        HotsetError: The topic could not be asked.
    """
    if not ancestry.is_cut:
        return
    assert definition.topic is not None
    bounds = read_log_bounds(client, definition.topic, Isolation.READ_UNCOMMITTED, deadline)
    untold = [p.partition for p in bounds.partitions if p.end > 0 and p.partition not in next_offset]
    if untold:
        raise BoundaryUnknownError(
            f"older ancestors of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} have been "
            f"expired, and the others do not tell of partitions {untold} of topic {definition.topic!r}; "
            f"{await_newer(pinned)}, name the table's Kafka columns, or declare the boundary",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )
