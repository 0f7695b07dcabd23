"""Sets of offsets kept as ranges answer like sets of numbers, whatever is in them.

The model is Python's own set; each operation is held against it.
"""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.boundary.offset_set import Spans, span, union

OFFSETS = st.lists(st.integers(0, 40), max_size=30)


def spans(offsets: list[int]) -> Spans:
    return Spans.from_offsets(pa.array(offsets, pa.int64()))


def numbers(found: Spans) -> set[int]:
    listed = list(found)
    assert all(start < end for start, end in listed)
    assert all(before[1] < after[0] for before, after in pairwise(listed))
    return {offset for start, end in listed for offset in range(start, end)}


@settings(deadline=None)
@given(OFFSETS)
def test_a_set_of_offsets_is_that_set(offsets: list[int]) -> None:
    found = spans(offsets)

    assert numbers(found) == set(offsets)
    assert found.size == len(set(offsets))
    assert found.top == max(offsets, default=-1) + 1
    assert found.is_empty == (not offsets)


@settings(deadline=None)
@given(OFFSETS)
def test_holes_are_what_is_missing_below_the_largest(offsets: list[int]) -> None:
    assert numbers(spans(offsets).holes()) == set(range(max(offsets, default=0))) - set(offsets)


@settings(deadline=None)
@given(OFFSETS, OFFSETS)
def test_sets_join_meet_and_leave_each_other_out(one: list[int], other: list[int]) -> None:
    a, b = spans(one), spans(other)

    assert numbers(union([a, b])) == set(one) | set(other)
    assert numbers(a.intersect(b)) == set(one) & set(other)
    assert numbers(a.subtract(b)) == set(one) - set(other)


@settings(deadline=None)
@given(OFFSETS, st.integers(0, 45), st.integers(0, 45))
def test_a_set_is_clipped_and_turned_around(offsets: list[int], start: int, end: int) -> None:
    found = spans(offsets)

    assert numbers(found.within(start, end)) == set(offsets) & set(range(start, end))
    assert numbers(found.complement(end)) == set(range(end)) - set(offsets)
    assert numbers(span(start, end)) == set(range(start, end))


@settings(deadline=None)
@given(OFFSETS, st.integers(1, 5))
def test_a_cover_has_few_ranges_and_no_offset_more_than_it_must(offsets: list[int], ranges: int) -> None:
    found = spans(offsets)
    covered = found.cover(ranges)

    cover = {offset for start, end in covered for offset in range(start, end)}
    assert len(covered) == min(ranges, len(found))
    assert numbers(found) <= cover
    apart = sorted((b[0] - a[1] for a, b in pairwise(found)), reverse=True)
    assert len(cover) == found.size + sum(apart[ranges - 1 :])
