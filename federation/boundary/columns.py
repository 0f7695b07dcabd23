"""The boundary of a table whose rows carry their Kafka partition and offset.

Any writer can be understood this way: per partition, the boundary is one past
the largest offset in the snapshot. That alone proves nothing, since a writer
may commit later records before earlier ones. So the offsets must be without
holes, or what Kafka still holds in the holes must be invisible (control
records, aborted transactions) or tombstones, which make no row. Holes that
Kafka no longer holds cannot be proven either way, and the confidence says so.
The file reads two columns of the snapshot, and the holes.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from coldset import PinnedTable, plan_cold, read_cold
from federation.boundary.committed import CommittedOffsets, Confidence
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError
from federation.secrets import resolve
from hotset import Deadline, KafkaClient, LogBounds, OffsetRange, drain, read_log_bounds

_HOLES_READ = 1000


def resolve_columns(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> CommittedOffsets:
    """Return the boundary that the table's own Kafka columns prove.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `kafka_columns` names the two columns.
        client: The cluster, to look into holes.

    Raises:
        BoundaryUnknownError: Kafka holds a visible record that the snapshot
            passed over, or there are too many holes to look into.
        HotsetError, ColdsetError: The holes or the columns could not be read.
    """
    offsets = _read_offsets(pinned, definition)
    next_offset = {p: int(found[-1].as_py()) + 1 for p, found in offsets.items()}
    holes = {p: find_holes(found) for p, found in offsets.items()}
    confidence = Confidence.PROVEN
    if any(holes.values()):
        confidence = _look_into(holes, pinned, definition, client)
    columns = definition.kafka_columns
    return CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=None,
        next_offset=next_offset,
        isolation=None,
        resolver="columns",
        provenance=f"the largest {columns['offset']} per {columns['partition']}, and what lies between",
        confidence=confidence,
    )


def find_holes(offsets: pa.Array) -> list[tuple[int, int]]:
    """Return the ranges `[start, end)` between 0 and the largest offset that are missing.

    Args:
        offsets: Distinct offsets of one partition, rising.

    Raises:
        Nothing of its own.
    """
    first = offsets[0].as_py()
    holes = [(0, first)] if first else []
    if len(offsets) > 1:
        before, after = offsets.slice(0, len(offsets) - 1), offsets.slice(1)
        is_apart = pc.greater(pc.subtract(after, before), 1)
        starts = pc.add(before.filter(is_apart), 1).to_pylist()
        holes.extend(zip(starts, after.filter(is_apart).to_pylist(), strict=True))
    return holes


def _read_offsets(pinned: PinnedTable, definition: TableDefinition) -> dict[int, pa.Array]:
    names = (definition.kafka_columns["partition"], definition.kafka_columns["offset"])
    properties = resolve(definition.catalog_properties)
    batches = [
        batch
        for task in plan_cold(pinned, split_bytes=definition.split_bytes)
        for batch in read_cold(task, names, properties)
    ]
    if not batches:
        return {}
    table = pa.Table.from_batches(batches).rename_columns(["partition", "offset"])
    if table["partition"].null_count or table["offset"].null_count:
        raise BoundaryUnknownError(
            f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} has rows without "
            f"{names[0]} or {names[1]}, "
            "so these columns do not tell its boundary",
            table=pinned.identifier,
        )
    return {
        partition.as_py(): pc.unique(table.filter(pc.equal(table["partition"], partition))["offset"].sort())
        for partition in pc.unique(table["partition"])
    }


def _look_into(
    holes: Mapping[int, list[tuple[int, int]]],
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
) -> Confidence:
    count = sum(len(found) for found in holes.values())
    if count > _HOLES_READ:
        raise BoundaryUnknownError(
            f"the offsets in snapshot {pinned.snapshot_id} of table {pinned.identifier!r} have "
            f"{count} holes, more "
            f"than the {_HOLES_READ} that are looked into; let the writer record its boundary instead",
            table=pinned.identifier,
        )
    assert definition.topic is not None
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    bounds = read_log_bounds(client, definition.topic, definition.isolation, deadline)
    confidence = Confidence.PROVEN
    for partition, ranges in holes.items():
        log_start = _log_start(bounds, partition)
        for start, end in ranges:
            if start < log_start:
                confidence = Confidence.ESTIMATED
            if end > log_start:
                hole = OffsetRange(partition, max(start, log_start), end)
                _require_invisible(hole, pinned, definition, client, deadline)
    return confidence


def _require_invisible(
    hole: OffsetRange,
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
) -> None:
    assert definition.topic is not None
    for raw in drain(client, definition.topic, (hole,), definition.isolation, deadline):
        missed = raw.filter(raw.column("value").is_valid())
        if missed.num_rows:
            raise BoundaryUnknownError(
                f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} holds later records of "
                "partition "
                f"{hole.partition}, but not the record at offset {missed.column('offset')[0]}: its "
                "writer passed it "
                "over, or has not committed it yet, so no single boundary is right",
                table=pinned.identifier,
                partition=hole.partition,
            )


def _log_start(bounds: LogBounds, partition: int) -> int:
    for found in bounds.partitions:
        if found.partition == partition:
            return found.log_start
    return 0
