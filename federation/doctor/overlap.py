"""What two or more sets of offsets share, and ranges as people are shown them.

Sets of offsets are `federation.boundary.spans`; an examination asks a little
more of them than a proof does. It performs no input or output.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from federation.boundary import EMPTY, Spans, span, union


def overlap(sets: Iterable[Spans]) -> Spans:
    """Return the offsets that are in more than one of the sets."""
    listed = list(sets)
    if not listed:
        return EMPTY
    starts = pa.concat_arrays([each.starts for each in listed])
    order = pc.sort_indices(starts)
    starts = starts.take(order)
    ends = pa.concat_arrays([each.ends for each in listed]).take(order)
    # What starts before all earlier ranges have ended is there already, up to where they end.
    reach = pc.cumulative_max(ends).slice(0, max(0, len(ends) - 1))
    return Spans.of(starts.slice(1), pc.min_element_wise(ends.slice(1), reach))


def repeated(offsets: pa.Int64Array) -> Spans:
    """Return the offsets that come more than once."""
    rising = offsets.sort()
    later = rising.slice(1)
    return Spans.from_offsets(later.filter(pc.equal(later, rising.slice(0, max(0, len(rising) - 1)))))


def between(ranges: Iterable[tuple[int, int]]) -> Spans:
    """Return the offsets of all of the ranges `[start, end)`."""
    return union(span(start, end) for start, end in ranges)


def lacking(held: Spans, start: int, end: int) -> Spans:
    """Return the offsets of `[start, end)` that are not in the set."""
    return held.complement(end).within(start, end)


def head(spans: Spans, count: int) -> list[tuple[int, int]]:
    """Return the first ranges of the set, at most so many."""
    return list(itertools.islice(spans, count))


def longest(spans: Spans) -> int:
    """Return how many offsets the longest range of the set has; 0 for the empty set."""
    return int(pc.max(pc.subtract(spans.ends, spans.starts)).as_py() or 0)
