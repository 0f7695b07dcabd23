"""Where a writer began to read, if its table has nothing from before.

A writer that was started at `latest` leaves records out which no later commit
brings. Its own record of offsets looks complete; only its first offsets tell.
Rows that something else brought, such as a load of older records, may be these,
so a table with commits of no known writer is not judged. This file must not
know how writers record their offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from coldset.table import Ancestry, PinnedTable, adds_rows, summary_value
from federation.errors import BoundaryUnknownError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.kafka import KafkaClient, OffsetRange, read_log_bounds


def require_beginning(
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
    began: Mapping[int, int],
    mark: str,
) -> tuple[OffsetRange, ...]:
    """Return what lies before a writer's first offsets and is accepted as missing.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options; `accepts_gaps` accepts.
        client: The cluster.
        deadline: When to give up.
        began: Partition to the first offset the writer has read.
        mark: The summary property of its commits.

    Raises:
        BoundaryUnknownError: Kafka still has records from before, and that is not accepted.
        HotsetError: The topic could not be asked.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    late = tuple(OffsetRange(p, 0, start) for p, start in sorted(began.items()) if start > 0)
    if not late or _has_other_rows(pinned, mark):
        return ()
    if definition.accepts_gaps:
        return late
    bounds = read_log_bounds(client, definition.topic, definition.isolation, deadline)
    starts = {found.partition: found.log_start for found in bounds.partitions}
    for missing in late:
        if starts.get(missing.partition, missing.end) < missing.end:
            raise BoundaryUnknownError(
                f"the writer of table {pinned.identifier!r} started late: it began to read partition "
                f"{missing.partition} of topic {definition.topic!r} at offset {missing.end}, and the topic "
                f"still has records from offset {starts[missing.partition]} on, which no commit will bring; "
                "fill the table from the topic's beginning, or set failOnDataLoss=false to accept that "
                f"[0,{missing.end}) is missing, which the receipt will name",
                table=pinned.identifier,
                partition=missing.partition,
            )
    return ()


def _has_other_rows(pinned: PinnedTable, mark: str) -> bool:
    assert pinned.snapshot is not None
    ancestry = Ancestry(pinned.table, pinned.snapshot)
    return (
        any(adds_rows(snapshot) and summary_value(snapshot, mark) is None for snapshot in ancestry)
        or ancestry.is_cut
    )
