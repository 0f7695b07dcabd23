"""A tail has what was added to it and follows on, each record once, whatever came before.

Additions are random: parts follow on, leave holes, begin again or are of other partitions.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.kafka.offsets import OffsetRange
from hotset.store import tail as tails
from hotset.store.tail import Tail
from tests.hotset.store.pieces import piece, places_of, told

# For each partition of a part: what lies between it and the end of the tail, and how long it is.
STEPS = st.lists(
    st.dictionaries(
        st.integers(0, 2), st.tuples(st.sampled_from([0, 0, 0, 3, -4]), st.integers(1, 9)), min_size=1
    ),
    max_size=60,
)
WANTED = st.dictionaries(st.integers(0, 3), st.tuples(st.integers(0, 150), st.integers(0, 60)))


def grown(steps: list[dict[int, tuple[int, int]]]) -> tuple[Tail, dict[int, OffsetRange]]:
    """A tail made in steps, and the ranges that it has to have."""
    tail, expected = Tail(), dict[int, OffsetRange]()
    for step in steps:
        ranges = []
        for partition, (skipped, length) in sorted(step.items()):
            before = expected.get(partition, OffsetRange(partition, 40, 40))
            start = max(0, before.end + skipped)
            ranges.append(OffsetRange(partition, start, start + length))
            begin = before.start if start == before.end else start
            expected[partition] = OffsetRange(partition, begin, start + length)
        tail = tail.plus(piece(*ranges))
    return tail, expected


@settings(deadline=None)
@given(STEPS)
def test_a_tail_is_what_follows_on(steps: list[dict[int, tuple[int, int]]]) -> None:
    tail, expected = grown(steps)

    assert tail.ranges == expected
    assert places_of(tail.parts) == told(expected.values())
    assert tail.rows == sum(isinstance(place.what, int) for place in told(expected.values()))


@settings(deadline=None)
@given(STEPS, WANTED)
def test_what_is_asked_for_is_there_or_left_and_never_both(
    steps: list[dict[int, tuple[int, int]]], asked: dict[int, tuple[int, int]]
) -> None:
    tail, has = grown(steps)
    wanted = [OffsetRange(p, start, start + length) for p, (start, length) in sorted(asked.items())]

    found, left = tail.within(wanted)

    rest = {each.partition: each for each in left}
    assert all(not each.is_empty for each in left)
    there = []
    for each in wanted:
        begin = rest[each.partition].start if each.partition in rest else each.end
        assert begin == each.end or rest[each.partition].end == each.end
        there.append(OffsetRange(each.partition, each.start, begin))
        own = has.get(each.partition)
        if own is not None and own.start <= each.start < own.end:
            assert begin == min(own.end, each.end)
        else:
            assert begin == each.start
    assert places_of(found) == told(there)


@settings(deadline=None)
@given(STEPS, STEPS)
def test_what_was_added_since_is_what_is_left_behind_an_earlier_tail(
    first: list[dict[int, tuple[int, int]]], second: list[dict[int, tuple[int, int]]]
) -> None:
    before, _ = grown(first)
    now, _ = grown([*first, *second])

    later = now.behind(before)

    kept = set(places_of(now.parts)) - set(places_of(before.parts))
    assert kept <= set(places_of(later.parts)) <= set(places_of(now.parts))
    assert len(places_of(later.parts)) == len(set(places_of(later.parts)))


def test_many_small_parts_become_one() -> None:
    tail = Tail()
    for start in range(0, 10 * (tails._MANY + 5), 10):
        tail = tail.plus(piece(OffsetRange(0, start, start + 10)))

    assert len(tail.parts) == 5
    assert places_of(tail.parts) == told(tail.ranges.values())


def test_a_tail_that_somebody_has_does_not_change() -> None:
    early = Tail().plus(piece(OffsetRange(0, 0, 10)))
    parts = early.parts

    early.plus(piece(OffsetRange(0, 10, 20))).without([0])

    assert (early.parts, early.ranges) == (parts, {0: OffsetRange(0, 0, 10)})


def test_what_is_given_up_of_one_partition_stays_of_the_others() -> None:
    both = Tail().plus(piece(OffsetRange(0, 0, 10), OffsetRange(1, 0, 10)))

    left = both.plus(piece(OffsetRange(0, 50, 60)))

    assert left.ranges == {0: OffsetRange(0, 50, 60), 1: OffsetRange(1, 0, 10)}
    assert places_of(left.parts) == told(left.ranges.values())
