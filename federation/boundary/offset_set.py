"""Sets of offsets, kept as ranges, so that millions of them cost as little as their holes.

Everything that a proof of contiguity says is said in these: what data files
hold, what is missing, what has been looked into. It is pure, and it works on
Arrow arrays so that no offset ever becomes a Python number of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_NONE: Final = pa.array([], pa.int64())


@dataclass(frozen=True, slots=True)
class Spans:
    """A set of offsets of one partition, as half-open ranges `[start, end)`.

    Invariant: ranges are not empty, rise, and neither overlap nor touch.
    Make one with `of`, `from_offsets` or `union`, which see to that.
    """

    starts: pa.Int64Array
    ends: pa.Int64Array

    @classmethod
    def of(cls, starts: pa.Int64Array, ends: pa.Int64Array) -> Spans:
        """Return the set that some ranges cover together, in whatever order they come."""
        is_some = pc.less(starts, ends)
        starts, ends = starts.filter(is_some), ends.filter(is_some)
        if len(starts) == 0:
            return EMPTY
        order = pc.sort_indices(starts)
        starts, reach = starts.take(order), pc.cumulative_max(ends.take(order))
        is_apart = pc.greater(starts.slice(1), reach.slice(0, len(reach) - 1))
        yes = pa.array([True])
        return cls(
            starts.filter(pa.concat_arrays([yes, is_apart])),
            reach.filter(pa.concat_arrays([is_apart, yes])),
        )

    @classmethod
    def from_offsets(cls, offsets: pa.Int64Array) -> Spans:
        """Return the set of some offsets, in whatever order and however often they come."""
        return cls.of(offsets, pc.add_checked(offsets, 1))

    @property
    def is_empty(self) -> bool:
        """True if the set holds no offset."""
        return len(self.starts) == 0

    @property
    def top(self) -> int:
        """One past the largest offset; 0 if there is none."""
        return 0 if self.is_empty else int(self.ends[-1].as_py())

    @property
    def first(self) -> int:
        """The smallest offset; the set is not empty."""
        return int(self.starts[0].as_py())

    @property
    def size(self) -> int:
        """How many offsets are in the set."""
        return 0 if self.is_empty else int(pc.sum(pc.subtract(self.ends, self.starts)).as_py())

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start, end in zip(self.starts, self.ends, strict=True):
            yield start.as_py(), end.as_py()

    def complement(self, limit: int) -> Spans:
        """Return the offsets of `[0, limit)` that are not in the set."""
        starts = pa.concat_arrays([pa.array([0], pa.int64()), self.ends])
        ends = pa.concat_arrays([self.starts, pa.array([limit], pa.int64())])
        return Spans.of(starts, pc.min_element_wise(ends, limit))

    def holes(self) -> Spans:
        """Return the offsets below the largest one that are not in the set."""
        return self.complement(self.top)

    def intersect(self, other: Spans) -> Spans:
        """Return the offsets that are in both sets."""
        limit = min(self.top, other.top)
        return union([self.complement(limit), other.complement(limit)]).complement(limit)

    def subtract(self, other: Spans) -> Spans:
        """Return the offsets of this set that are not in the other."""
        return self.intersect(other.complement(self.top))

    def within(self, start: int, end: int) -> Spans:
        """Return the offsets of the set that are in `[start, end)`."""
        return self.intersect(span(start, end))

    def cover(self, ranges: int) -> tuple[tuple[int, int], ...]:
        """Return at most that many ranges that together cover the set and as little else as can be."""
        if self.is_empty:
            return ()
        apart = pc.subtract(self.starts.slice(1), self.ends.slice(0, len(self.ends) - 1))
        widest = pc.sort_indices(apart, sort_keys=[("", "descending")]).slice(0, ranges - 1)
        cuts = sorted(widest.to_pylist())
        first = [0, *(cut + 1 for cut in cuts)]
        last = [*cuts, len(self.starts) - 1]
        return tuple((self.starts[i].as_py(), self.ends[j].as_py()) for i, j in zip(first, last, strict=True))


EMPTY: Final = Spans(_NONE, _NONE)


def span(start: int, end: int) -> Spans:
    """Return the set of the offsets of `[start, end)`."""
    return Spans.of(pa.array([start], pa.int64()), pa.array([end], pa.int64()))


def union(sets: Iterable[Spans]) -> Spans:
    """Return the offsets that are in any of the sets."""
    found = list(sets)
    if not found:
        return EMPTY
    return Spans.of(
        pa.concat_arrays([each.starts for each in found]), pa.concat_arrays([each.ends for each in found])
    )
