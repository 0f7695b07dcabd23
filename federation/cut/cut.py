"""The cut: which records an answer takes from the table and which from Kafka.

This is the only place where cold and hot meet, and it is pure: the same facts
always give the same cut. Taking the facts, in the one order that is right, is
`take`; the property holds only for facts that were taken in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from federation.boundary import CommittedOffsets
from federation.cut.cut_html import ShownRange, render_cut_html
from federation.cut.token import pack, unpack
from federation.errors import (
    CutTokenError,
    IsolationMismatchError,
    OffsetGapError,
    OffsetOverlapError,
    TopicReplacedError,
)
from hotset.kafka import Isolation, LogBounds, OffsetRange, PartitionBounds


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """Identity of what was pinned: table, snapshot (None if empty) and schema."""

    table: str
    table_uuid: str
    snapshot_id: int | None
    schema_id: int


class ReaderSchema(NamedTuple):
    """A version of the subject of a topic's values, and the id of its schema."""

    version: int
    schema_id: int


@dataclass(frozen=True, slots=True)
class Cut:
    """One exact point in the history of one table.

    The answer at a cut is the rows of the snapshot plus the visible records of
    the ranges. Invariant: per partition, the snapshot holds what is below
    `start`, except the ranges in `gaps`, which are in neither half because the
    caller accepted that, and in `lost`, because whoever committed did. A plain
    table has no topic and no ranges. `reader_schema` is the schema that was the
    latest, if records are read by that.
    """

    table: str
    table_uuid: str
    snapshot_id: int | None
    schema_id: int
    topic: str | None
    topic_id: str | None
    isolation: Isolation
    ranges: tuple[OffsetRange, ...]
    gaps: tuple[OffsetRange, ...] = ()
    lost: tuple[OffsetRange, ...] = ()
    reader_schema: ReaderSchema | None = None

    @property
    def hot_span(self) -> int:
        """Offsets in all ranges together; at least the number of hot records."""
        return sum(r.span for r in self.ranges)

    def committed(self, partition: int) -> int:
        """Return the first offset of a partition that the snapshot does not hold.

        Raises:
            KeyError: The cut has no such partition.
        """
        for r in (*self.gaps, *self.ranges):
            if r.partition == partition:
                return r.start
        raise KeyError(partition)

    def _repr_html_(self) -> str:
        facts = (("table", self.table), ("snapshot", self.snapshot_id), ("topic", self.topic))
        return render_cut_html(
            facts, [ShownRange(r.partition, self.committed(r.partition), r.start, r.end) for r in self.ranges]
        )

    def token(self) -> str:
        """Return the cut as one word, safe in URLs and options.

        The token names offsets and ids, nothing secret.
        """
        document = {
            "t": self.table,
            "u": self.table_uuid,
            "s": self.snapshot_id,
            "c": self.schema_id,
            "k": self.topic,
            "i": self.topic_id,
            "l": self.isolation.value,
            "r": [[r.partition, r.start, r.end] for r in self.ranges],
            "g": [[r.partition, r.start, r.end] for r in self.gaps],
            "h": [[r.partition, r.start, r.end] for r in self.lost],
            "v": self.reader_schema,
        }
        return pack(document)

    @classmethod
    def from_token(cls, token: str) -> Cut:
        """Return the cut a token stands for.

        Raises:
            CutTokenError: It is no cut token of this version.
        """
        try:
            document = unpack(token)
            return cls(
                table=_field(document, "t", str),
                table_uuid=_field(document, "u", str),
                snapshot_id=_field(document, "s", int, type(None)),
                schema_id=_field(document, "c", int),
                topic=_field(document, "k", str, type(None)),
                topic_id=_field(document, "i", str, type(None)),
                isolation=Isolation(document["l"]),
                ranges=_ranges(document["r"]),
                gaps=_ranges(document["g"]),
                lost=_ranges(document["h"]),
                reader_schema=_reader_schema(document.get("v")),
            )
        except (LookupError, OverflowError, RecursionError, TypeError, ValueError) as exc:
            raise CutTokenError(f"this is not a cut token ({exc}); take one from a receipt") from exc


def compute_cut(
    facts: SnapshotFacts,
    committed: CommittedOffsets,
    bounds: LogBounds,
    *,
    accepts_gaps: bool = False,
) -> Cut:
    """Decide which records come from the table and which from Kafka.

    Pure. Everything committed is cold; everything after it, up to the readable
    end that was sampled afterwards, is hot. Partitions with nothing hot keep an
    empty range, so that the cut tells where they stand.

    Args:
        facts: What was pinned.
        committed: First offset not in that snapshot, per partition.
        bounds: What the log held when asked, after the snapshot was pinned.
        accepts_gaps: Leave out what retention removed too early, and say so in
            the cut, instead of raising.

    Raises:
        TopicReplacedError: The log is of another topic than the table's records.
        IsolationMismatchError: The table holds records read with another isolation.
        OffsetGapError: Retention removed records that the table does not have.
        OffsetOverlapError: The table claims offsets past the readable end.
    """
    _require_same_topic(facts, committed, bounds)
    _require_same_isolation(facts, committed, bounds)
    ranges, gaps = [], []
    for found in bounds.partitions:
        start = committed.of(found.partition)
        if start > found.end:
            raise _overlap(facts, bounds, found, start)
        # What lies at or past the end is not in this cut, so losing that is no gap in it.
        lost_below = min(found.log_start, found.end)
        if start < lost_below:
            gaps.append(OffsetRange(found.partition, start, lost_below))
            start = lost_below
        ranges.append(OffsetRange(found.partition, start, found.end))
    if gaps and not accepts_gaps:
        raise _gap(facts, bounds, gaps)
    return Cut(
        table=facts.table,
        table_uuid=facts.table_uuid,
        snapshot_id=facts.snapshot_id,
        schema_id=facts.schema_id,
        topic=bounds.topic,
        topic_id=bounds.topic_id,
        isolation=bounds.isolation,
        ranges=tuple(ranges),
        gaps=tuple(gaps),
        lost=committed.lost,
    )


def cold_cut(facts: SnapshotFacts, isolation: Isolation) -> Cut:
    """Return the cut of a plain table: its snapshot and nothing else."""
    return Cut(facts.table, facts.table_uuid, facts.snapshot_id, facts.schema_id, None, None, isolation, ())


def require_readable(cut: Cut, bounds: LogBounds) -> None:
    """Raise unless the log still holds all of a cut that was taken earlier.

    Raises:
        TopicReplacedError: The topic is another one now.
        OffsetGapError: Retention has removed part of a range.
        OffsetOverlapError: A range ends past the readable end of the log.
    """
    facts = SnapshotFacts(cut.table, cut.table_uuid, cut.snapshot_id, cut.schema_id)
    if bounds.topic_id != cut.topic_id:
        raise _replaced(facts, bounds, f"id {cut.topic_id} when the cut was taken, {bounds.topic_id} now")
    known = {found.partition: found for found in bounds.partitions}
    gaps = []
    for wanted in cut.ranges:
        found = known.get(wanted.partition)
        if found is None or wanted.end > found.end:
            end = found or PartitionBounds(wanted.partition, 0, 0, 0)
            raise _overlap(facts, bounds, end, wanted.end)
        if wanted.start < found.log_start and not wanted.is_empty:
            gaps.append(OffsetRange(wanted.partition, wanted.start, min(wanted.end, found.log_start)))
    if gaps:
        raise _gap(facts, bounds, gaps)


def _require_same_topic(facts: SnapshotFacts, committed: CommittedOffsets, bounds: LogBounds) -> None:
    if committed.topic_id is not None and committed.topic_id != bounds.topic_id:
        raise _replaced(
            facts,
            bounds,
            f"its records came from id {committed.topic_id}, now it is {bounds.topic_id}",
        )
    extra = set(committed.next_offset) - {found.partition for found in bounds.partitions}
    if extra:
        raise _replaced(
            facts, bounds, f"the table has records of partitions {sorted(extra)}, which it has not"
        )


def _require_same_isolation(facts: SnapshotFacts, committed: CommittedOffsets, bounds: LogBounds) -> None:
    if committed.isolation not in (None, bounds.isolation):
        raise IsolationMismatchError(
            f"snapshot {facts.snapshot_id} of table {facts.table!r} was written "
            f"{committed.isolation.value}, and topic {bounds.topic!r} would be read "
            f"{bounds.isolation.value}; set kafka.isolation.level to what the table is written with",
            table=facts.table,
        )


def _replaced(facts: SnapshotFacts, bounds: LogBounds, why: str) -> TopicReplacedError:
    return TopicReplacedError(
        f"topic {bounds.topic!r} is not the topic that table {facts.table!r} was filled from: {why}; "
        "make a new table for the new topic, or read this one with read=cold",
        table=facts.table,
        topic=bounds.topic,
    )


def _gap(facts: SnapshotFacts, bounds: LogBounds, gaps: list[OffsetRange]) -> OffsetGapError:
    listed = ", ".join(str(gap) for gap in gaps)
    return OffsetGapError(
        f"records of topic {bounds.topic!r} are in neither Kafka nor snapshot {facts.snapshot_id} of table "
        f"{facts.table!r}: {listed} (partition[start,end)); retention removed them before they were "
        "committed; set failOnDataLoss=false to accept the gap, which the receipt will name",
        table=facts.table,
        topic=bounds.topic,
        gaps=[[gap.partition, gap.start, gap.end] for gap in gaps],
    )


def _overlap(
    facts: SnapshotFacts, bounds: LogBounds, found: PartitionBounds, claimed: int
) -> OffsetOverlapError:
    if claimed <= found.high_watermark:
        advice = (
            f"an open transaction hides offsets from {found.end} on; was the table written read_uncommitted?"
        )
    else:
        advice = "the log was truncated, or the topic is not the table's"
    return OffsetOverlapError(
        f"table {facts.table!r} (snapshot {facts.snapshot_id}) reaches to offset {claimed} of "
        f"topic {bounds.topic!r} partition {found.partition}, but the log can be read to {found.end} only; "
        f"{advice}",
        table=facts.table,
        topic=bounds.topic,
        partition=found.partition,
    )


def _field(document: Any, key: str, *types: type) -> Any:
    value = document[key]
    if type(value) not in types:
        raise TypeError(f"field {key} is a {type(value).__name__}")
    return value


def _reader_schema(told: Any) -> ReaderSchema | None:
    # Tokens of before there was one have none.
    if told is None:
        return None
    if [type(each) for each in told] != [int, int]:
        raise TypeError("field v is not a version and an id")
    return ReaderSchema(*told)


def _ranges(found: list[Any]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(int(p), int(start), int(end)) for p, start, end in found)
