"""Sets of offsets as ranges do what sets of numbers do.

Any sets, with repetitions, in any order, are held against Python's own.
"""

from __future__ import annotations

import itertools

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from federation.doctor.spans import Spans, join, spans_between, spans_of

NUMBERS = st.lists(st.integers(0, 30), max_size=40)
PLACE = st.integers(0, 33)


def made_of(numbers: list[int]) -> tuple[Spans, Spans]:
    return spans_of(pa.array(numbers, pa.int64()))


def numbers_in(spans: Spans) -> list[int]:
    return [n for start, end in spans.head(spans.ranges) for n in range(start, end)]


@given(one=NUMBERS, other=NUMBERS, start=PLACE, end=PLACE)
def test_ranges_do_what_sets_do(one: list[int], other: list[int], start: int, end: int) -> None:
    a, b = made_of(one)[0], made_of(other)[0]

    assert numbers_in(a) == sorted(set(one))
    assert a.count == len(set(one))
    assert numbers_in(join([a, b])[0]) == sorted({*one, *other})
    assert numbers_in(a.common(b)) == sorted({*one} & {*other})
    assert numbers_in(a.without(b)) == sorted({*one} - {*other})
    assert numbers_in(a.within(start, end)) == [n for n in sorted(set(one)) if start <= n < end]
    assert numbers_in(a.holes(start, end)) == [n for n in range(start, end) if n not in one]


@given(numbers=NUMBERS)
def test_repetitions_are_counted_each_time(numbers: list[int]) -> None:
    _, again = made_of(numbers)

    assert again.count == len(numbers) - len(set(numbers))
    assert set(numbers_in(again)) == {n for n in numbers if numbers.count(n) > 1}


@given(one=NUMBERS, other=NUMBERS)
def test_ranges_rise_and_never_touch(one: list[int], other: list[int]) -> None:
    ranges = join([made_of(one)[0], made_of(other)[0]])[0].head(100)

    assert all(start < end for start, end in ranges)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ranges))


def test_a_million_offsets_without_holes_are_one_range() -> None:
    spans, _ = made_of(list(range(1_000_000, 0, -1)))

    assert (spans.ranges, spans.first, spans.end, spans.count) == (1, 1, 1_000_001, 1_000_000)


def test_overlapping_ranges_are_joined() -> None:
    assert spans_between([(0, 5), (3, 7), (7, 9), (20, 21)]).head(9) == [(0, 9), (20, 21)]
