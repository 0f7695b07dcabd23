"""Rows of a log that this process has decoded and that are in no chunk yet.

Writing a chunk for every few records would cost more than reading them, so the newest rows stay in memory
until they are worth a file. A tail is a value: who adds to it makes another one, and readers keep what they
have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hotset.kafka import OffsetRange
from hotset.store.chunk import join_rows
from hotset.store.hot_rows import Rows, cut_ranges

# So many small parts become one, since an engine pays for each.
_MANY: Final = 32
_FEW_ROWS: Final = 131_072


@dataclass(frozen=True, slots=True)
class Tail:
    """Parts that follow each other. Invariant: a partition's ranges, part by part, have no hole."""

    parts: tuple[Rows, ...] = ()
    ranges: Mapping[int, OffsetRange] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(part.rows.num_rows for part in self.parts)

    @property
    def size_bytes(self) -> int:
        """About how much memory its rows take, and what of its records is no row."""
        return sum(part.size_bytes for part in self.parts)

    def within(self, ranges: Sequence[OffsetRange]) -> tuple[tuple[Rows, ...], tuple[OffsetRange, ...]]:
        """Return the beginning of ranges as far as it is here, and what is left of them.

        Args:
            ranges: At most one per partition.
        """
        there = [
            r for r in ranges if (own := self.ranges.get(r.partition)) and own.start <= r.start < own.end
        ]
        ends = {r.partition: min(r.end, self.ranges[r.partition].end) for r in there}
        found = tuple(part.within(there) for part in self.parts if cut_ranges(part.ranges, there))
        left = (OffsetRange(r.partition, ends.get(r.partition, r.start), r.end) for r in ranges)
        return found, tuple(r for r in left if not r.is_empty)

    def plus(self, part: Rows) -> Tail:
        """Return the tail with one more part; what it does not follow on is given up for it."""
        broken = [
            r.partition
            for r in part.ranges
            if (own := self.ranges.get(r.partition)) is not None and own.end != r.start
        ]
        base = self.without(broken)
        ranges = dict(base.ranges)
        for r in part.ranges:
            start = ranges[r.partition].start if r.partition in ranges else r.start
            ranges[r.partition] = OffsetRange(r.partition, start, r.end)
        parts = (*base.parts, part)
        if len(parts) > _MANY and sum(each.rows.num_rows for each in parts) <= _FEW_ROWS:
            joined = join_rows(parts)
            parts = (replace(joined, rows=joined.rows.combine_chunks()),)
        return Tail(parts, ranges)

    def without(self, partitions: Sequence[int]) -> Tail:
        """Return the tail without some partitions."""
        if not partitions:
            return self
        left = {p: r for p, r in self.ranges.items() if p not in set(partitions)}
        kept = [part.within(tuple(left.values())) for part in self.parts]
        return Tail(tuple(part for part in kept if part.ranges), left)

    def behind(self, others: Tail) -> Tail:
        """Return what was added since the tail was another one."""
        known = set(map(id, others.parts))
        tail = Tail()
        for part in self.parts:
            if id(part) not in known:
                tail = tail.plus(part)
        return tail
