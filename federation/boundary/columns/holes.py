"""What Kafka holds in the holes of a table's offsets.

A hole is harmless if no row can come of it: control records, aborted records,
compacted ones, tombstones. Anything else there is a record that the writer
passed over or has not committed yet. Few ranges that cover many holes are read
instead of each hole, and what was found harmless once stays so, because a
record below the readable end never becomes visible later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.table import PinnedTable
from federation.boundary.assumptions import Assumption
from federation.boundary.offset_set import EMPTY, Spans, union
from federation.errors import BoundaryUnknownError, OffsetOverlapError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.drain import drain
from hotset.kafka import KafkaClient, LogBounds, OffsetRange, PartitionBounds

# Transactional topics have a hole per transaction, so what bounds the work is offsets, not holes.
OFFSETS_READ: Final = 1_000_000
_RANGES: Final = 8

_SPANS_KEPT: Final = 1 << 21


def look_into(
    holes: Mapping[int, Spans],
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    bounds: LogBounds,
    deadline: Deadline,
) -> tuple[tuple[Assumption, ...], str]:
    """Return what must be assumed of the holes, and what was looked at.

    Args:
        holes: Partition to offsets below the boundary that no row has.
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster.
        bounds: What the log holds.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: A visible record lies in a hole, or too much would have to be read.
        OffsetOverlapError: The table reaches past the readable end of the log.
        HotsetError: The holes could not be read.
    """
    count = sum(len(found) for found in holes.values())
    if count == 0:
        return (), "the offsets have no holes"
    log = (bounds.topic_id, definition.isolation.value)
    look = _Look(holes, pinned, definition, client, deadline)
    harmless = _harmless.get(log) or {}
    unknown, gone = {}, 0
    for found in bounds.partitions:
        mine = holes.get(found.partition, EMPTY)
        if mine.top > found.end:
            raise look.past_end(found, mine.top)
        gone += mine.within(0, found.log_start).size
        readable = mine.within(found.log_start, max(found.log_start, found.end))
        unknown[found.partition] = readable.subtract(harmless.get(found.partition, EMPTY))
    read = look.require_harmless(unknown)
    seen = {p: union([harmless.get(p, EMPTY), spans]) for p, spans in unknown.items()}
    _harmless.put(log, {**harmless, **seen})
    looked = f"{count} holes in the offsets: read {read} offsets of the topic, nothing visible in the holes"
    if gone:
        gone_too = f"{looked}; {gone} offsets in holes are no longer in Kafka"
        return (Assumption.OFFSETS_WITHOUT_ROWS,), gone_too
    return (), looked


class _Look:
    """One look into the holes of one snapshot."""

    def __init__(
        self,
        holes: Mapping[int, Spans],
        pinned: PinnedTable,
        definition: TableDefinition,
        client: KafkaClient,
        deadline: Deadline,
    ) -> None:
        assert definition.topic is not None
        self._holes = holes
        self._topic = definition.topic
        self._isolation = definition.isolation
        self._table = f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r}"
        self._name = pinned.identifier
        self._client = client
        self._deadline = deadline

    def require_harmless(self, unknown: Mapping[int, Spans]) -> int:
        """Read what covers the holes; return how many offsets that were."""
        covers = {p: found.cover(_RANGES) for p, found in unknown.items()}
        offsets = sum(end - start for cover in covers.values() for start, end in cover)
        if offsets > OFFSETS_READ:
            raise BoundaryUnknownError(
                f"the offsets in {self._table} have holes that spread over {offsets} offsets of topic "
                f"{self._topic!r}, more than the {OFFSETS_READ} that are read to see what lies in them; "
                "let the writer record its boundary instead",
                table=self._name,
                offsets=offsets,
            )
        for turn in range(_RANGES):
            ranges = tuple(OffsetRange(p, *cover[turn]) for p, cover in covers.items() if turn < len(cover))
            for raw in drain(self._client, self._topic, ranges, self._isolation, self._deadline):
                self._require_none_visible(raw.filter(raw.column("value").is_valid()), unknown)
        return offsets

    def past_end(self, found: PartitionBounds, reached: int) -> OffsetOverlapError:
        """Return the error for a table that reaches past what can be read."""
        return OffsetOverlapError(
            f"{self._table} holds records above offset {reached} of topic {self._topic!r} partition "
            f"{found.partition}, but the log can be read to {found.end} only: an open transaction hides the "
            "rest (was the table written read_uncommitted?), or the topic is not the table's",
            table=self._name,
            topic=self._topic,
            partition=found.partition,
        )

    def _require_none_visible(self, visible: pa.RecordBatch, unknown: Mapping[int, Spans]) -> None:
        for partition in pc.unique(visible.column("partition")).to_pylist():
            is_its_own = pc.equal(visible.column("partition"), partition)
            seen = Spans.from_offsets(visible.column("offset").filter(is_its_own))
            missed = seen.intersect(unknown[partition])
            if not missed.is_empty:
                raise self._missed(partition, missed.first)

    def _missed(self, partition: int, offset: int) -> BoundaryUnknownError:
        start, first = next(iter(self._holes[partition]))
        if start == 0 and offset < first:
            text = (
                f"the writer of {self._table} started late: the first offset it holds of partition "
                f"{partition} is {first}, and topic {self._topic!r} still has the record at offset {offset}, "
                "which no commit will bring; fill the table from the topic's beginning, or set "
                f"failOnDataLoss=false to accept that [0,{first}) is missing, which the receipt will name"
            )
        else:
            text = (
                f"{self._table} holds later records of partition {partition}, but not the record at offset "
                f"{offset}: its writer passed it over, or has not committed it yet, so no single boundary "
                "is right"
            )
        return BoundaryUnknownError(text, table=self._name, partition=partition, offset=offset)


def _weight(found: Mapping[int, Spans]) -> int:
    # A log's own entry weighs, too, so that the number of logs is bounded.
    return (1 << 15) + sum(len(spans) for spans in found.values())


# Offsets that were seen to hold nothing visible, per incarnation of a topic and isolation.
_harmless: Final = LruCache[tuple[str, str], Mapping[int, Spans]](_SPANS_KEPT, _weight)
