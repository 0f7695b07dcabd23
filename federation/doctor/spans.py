"""Sets of offsets as rising, disjoint ranges, in Arrow columns.

A table holds its offsets almost without holes, so millions of them are a few
ranges: that is how the offsets of a whole table fit into memory. All of set
algebra is here one sweep over sorted ranges. It performs no input or output and
must not know what an offset stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Spans:
    """A set of offsets. Invariant: ranges `[start, end)` rise, are not empty and do not touch.

    What `join` and `spans_of` return as repetitions may overlap, if something repeats twice.
    """

    starts: pa.Int64Array = field(repr=False)
    ends: pa.Int64Array = field(repr=False)

    @property
    def count(self) -> int:
        """Number of offsets."""
        return (pc.sum(self.ends).as_py() or 0) - (pc.sum(self.starts).as_py() or 0)

    @property
    def ranges(self) -> int:
        """Number of ranges."""
        return len(self.starts)

    @property
    def largest(self) -> int:
        """Number of offsets of the longest range; 0 for the empty set."""
        return int(pc.max(pc.subtract(self.ends, self.starts)).as_py() or 0)

    @property
    def first(self) -> int:
        """The smallest offset of a set that is not empty."""
        return int(self.starts[0].as_py())

    @property
    def end(self) -> int:
        """One past the largest offset; 0 for the empty set."""
        return int(self.ends[-1].as_py()) if len(self.ends) else 0

    def head(self, count: int) -> list[tuple[int, int]]:
        """Return the first ranges, at most so many.

        Raises:
            Nothing of its own.
        """
        starts, ends = self.starts.slice(0, count), self.ends.slice(0, count)
        return list(zip(starts.to_pylist(), ends.to_pylist(), strict=True))

    def holes(self, start: int, end: int) -> Spans:
        """Return what is not in the set, from `start` to before `end`.

        Raises:
            Nothing of its own.
        """
        if start >= end:
            return EMPTY
        inner = self.within(start, end)
        starts = pa.concat_arrays([_ints([start]), inner.ends])
        ends = pa.concat_arrays([inner.starts, _ints([end])])
        return _kept(starts, ends)

    def within(self, start: int, end: int) -> Spans:
        """Return what is in the set from `start` to before `end`.

        Raises:
            Nothing of its own.
        """
        starts = pc.max_element_wise(self.starts, pa.scalar(start, pa.int64()))
        return _kept(starts, pc.min_element_wise(self.ends, pa.scalar(end, pa.int64())))

    def common(self, other: Spans) -> Spans:
        """Return what is in both sets.

        Raises:
            Nothing of its own.
        """
        return join([self, other])[1]

    def without(self, other: Spans) -> Spans:
        """Return what is in this set and not in the other.

        Raises:
            Nothing of its own.
        """
        return self.common(other.holes(0, max(self.end, other.end)))


def spans_of(offsets: pa.Array) -> tuple[Spans, Spans]:
    """Return the set of some offsets, and what repeats an earlier one of them.

    Args:
        offsets: In any order, without nulls.

    Raises:
        Nothing of its own.
    """
    starts = offsets.cast(pa.int64())
    return _sweep(starts, pc.add(starts, 1))


def spans_between(ranges: Iterable[tuple[int, int]]) -> Spans:
    """Return the union of ranges `[start, end)`.

    Raises:
        Nothing of its own.
    """
    listed = list(ranges)
    return _sweep(_ints([start for start, _ in listed]), _ints([end for _, end in listed]))[0]


def join(sets: Iterable[Spans]) -> tuple[Spans, Spans]:
    """Return the union, and what repeats: as ranges, once for each repetition.

    The second value counts how often an offset came again; with two sets it is
    what they have in common.

    Raises:
        Nothing of its own.
    """
    listed = list(sets)
    if not listed:
        return EMPTY, EMPTY
    starts = pa.concat_arrays([found.starts for found in listed])
    return _sweep(starts, pa.concat_arrays([found.ends for found in listed]))


def _sweep(starts: pa.Array, ends: pa.Array) -> tuple[Spans, Spans]:
    if len(starts) == 0:
        return EMPTY, EMPTY
    order = pc.sort_indices(starts)
    starts, ends = starts.take(order), ends.take(order)
    # How far everything up to here reaches: what starts before that is there already.
    reach = pc.cumulative_max(ends)
    before, later, later_ends = reach.slice(0, len(reach) - 1), starts.slice(1), ends.slice(1)
    is_apart = pc.greater(later, before)
    union = Spans(
        pa.concat_arrays([starts.slice(0, 1), later.filter(is_apart)]),
        pa.concat_arrays([before.filter(is_apart), reach.slice(len(reach) - 1)]),
    )
    return union, _kept(later, pc.min_element_wise(later_ends, before))


def _kept(starts: pa.Array, ends: pa.Array) -> Spans:
    is_range = pc.less(starts, ends)
    return Spans(starts.filter(is_range), ends.filter(is_range))


def _ints(values: list[int]) -> pa.Int64Array:
    return pa.array(values, pa.int64())


EMPTY = Spans(_ints([]), _ints([]))
