"""What sets of offsets share is what sets of numbers share, however often it comes.

The model is Python's own counting; any numbers, in any order, are held against it.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from federation.boundary.offset_set import Spans
from federation.doctor.overlap import between, head, lacking, longest, overlap, repeated

NUMBERS = st.lists(st.integers(0, 30), max_size=40)
PLACE = st.integers(0, 33)


def array(numbers: list[int]) -> pa.Int64Array:
    return pa.array(numbers, pa.int64())


def numbers_in(spans: Spans) -> list[int]:
    return [n for start, end in spans for n in range(start, end)]


@given(numbers=NUMBERS)
def test_repeated_numbers_are_those_that_come_more_than_once(numbers: list[int]) -> None:
    assert numbers_in(repeated(array(numbers))) == sorted(n for n, c in Counter(numbers).items() if c > 1)


@given(listed=st.lists(NUMBERS, max_size=4))
def test_an_overlap_is_what_more_than_one_set_has(listed: list[list[int]]) -> None:
    counted = Counter(n for numbers in listed for n in set(numbers))

    found = overlap(Spans.from_offsets(array(numbers)) for numbers in listed)

    assert numbers_in(found) == sorted(n for n, c in counted.items() if c > 1)


@given(numbers=NUMBERS, start=PLACE, end=PLACE)
def test_what_is_lacking_is_in_the_range_and_not_in_the_set(numbers: list[int], start: int, end: int) -> None:
    found = lacking(Spans.from_offsets(array(numbers)), start, end)

    assert numbers_in(found) == [n for n in range(start, end) if n not in numbers]


def test_ranges_that_touch_or_overlap_are_one() -> None:
    spans = between([(0, 5), (3, 7), (7, 9), (20, 21)])

    assert head(spans, 9) == [(0, 9), (20, 21)]
    assert head(spans, 1) == [(0, 9)]
    assert (longest(spans), longest(between([]))) == (9, 0)
