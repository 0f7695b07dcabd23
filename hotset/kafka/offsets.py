"""Offset ranges and log bounds as values, with no input or output.

Everything that plans or reads a hotset speaks in these types, so that a range
means one thing everywhere: half-open, of one partition. This file must not
know how the numbers were obtained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Isolation(StrEnum):
    """Which records of a transactional topic are visible.

    The spelling is Kafka's own (`isolation.level`).
    """

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The half-open range `[start, end)` of one partition's offsets.

    Invariant: `0 <= start <= end`. The number of visible records in it is at
    most `span`: control records, aborted transactions and compaction leave
    offsets without a visible record.
    """

    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.partition < 0 or not 0 <= self.start <= self.end:
            raise ValueError(f"not an offset range: {self!r}")

    @property
    def span(self) -> int:
        """Number of offsets covered; an upper bound of the number of records."""
        return self.end - self.start

    @property
    def is_empty(self) -> bool:
        """True if the range covers no offset."""
        return self.start == self.end

    def __str__(self) -> str:
        return f"{self.partition}[{self.start},{self.end})"


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """What one partition's log held when the broker was asked.

    Attributes:
        partition: Partition number.
        log_start: First offset still in the log.
        end: First offset not readable under the isolation asked for: the last
            stable offset (read_committed) or the high watermark.
        high_watermark: First offset not replicated, asked for *before* `end`;
            so `end < high_watermark` proves an open transaction.
        leader_epoch: Epoch of the leader that answered, or -1 if unknown.
    """

    partition: int
    log_start: int
    end: int
    high_watermark: int
    leader_epoch: int = -1

    @property
    def held_back(self) -> int:
        """Offsets that are already in the log and that an open transaction hides."""
        return max(0, self.high_watermark - self.end)


@dataclass(frozen=True, slots=True)
class LogBounds:
    """What a topic's log held when the broker was asked, for every partition.

    Attributes:
        topic: Topic name.
        topic_id: The cluster's identity of this incarnation of the topic.
        isolation: Isolation that `end` was asked for with.
        partitions: One entry per partition, in partition order.
        read_at_ms: When the broker was asked (epoch milliseconds, UTC).
    """

    topic: str
    topic_id: str
    isolation: Isolation
    partitions: tuple[PartitionBounds, ...]
    read_at_ms: int

    def uncommitted(self) -> LogBounds:
        """Return the same log as whoever reads uncommitted records may read it."""
        ends = tuple(replace(found, end=found.high_watermark) for found in self.partitions)
        return replace(self, isolation=Isolation.READ_UNCOMMITTED, partitions=ends)
