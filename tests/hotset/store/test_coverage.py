"""Any set of chunks gives each offset at most once, says what is missing, and loses nothing by tidying.

Sets are random: chunks overlap, leave holes, and have several partitions each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.kafka.offsets import OffsetRange
from hotset.store import coverage
from hotset.store.chunk import Chunk, join_rows
from hotset.store.coverage import JOINED, LARGE_BYTES, LARGE_ROWS, cover, joinable_chunks, useless_chunks
from tests.hotset.store.pieces import chunk, piece, places_of, told

PARTITIONS = (0, 1, 2)
Offsets = set[tuple[int, int]]


def ranges(most: int = 40) -> st.SearchStrategy[tuple[OffsetRange, ...]]:
    """Ranges of some partitions, none of them empty."""
    limits = st.tuples(st.integers(0, most - 1), st.integers(1, most))
    spans = st.dictionaries(st.sampled_from(PARTITIONS), limits, min_size=1)
    return spans.map(lambda found: tuple(OffsetRange(p, s, s + n) for p, (s, n) in sorted(found.items())))


SETS = st.lists(ranges(), max_size=12).map(lambda found: [chunk(n, *each) for n, each in enumerate(found)])


def offsets_of(found: Iterable[OffsetRange]) -> Offsets:
    return {(r.partition, offset) for r in found for offset in range(r.start, r.end)}


def held(chunks: Sequence[Chunk]) -> Offsets:
    return {place for each in chunks for place in offsets_of(each.info.ranges)}


@settings(deadline=None)
@given(SETS, ranges(80))
def test_parts_and_gaps_are_the_ranges_and_do_not_overlap(
    chunks: list[Chunk], wanted: tuple[OffsetRange, ...]
) -> None:
    found = cover(chunks, wanted)

    pieces = [*(r for part in found.parts for r in part.ranges), *found.gaps]
    assert sum(r.span for r in pieces) == sum(r.span for r in wanted)
    assert offsets_of(pieces) == offsets_of(wanted)
    assert all(not r.is_empty for r in pieces)
    for part in found.parts:
        assert offsets_of(part.ranges) <= offsets_of(part.chunk.info.ranges)
        assert len({r.partition for r in part.ranges}) == len(part.ranges)


@settings(deadline=None)
@given(SETS, ranges(80))
def test_a_gap_begins_where_no_chunk_goes_on_and_is_the_rest(
    chunks: list[Chunk], wanted: tuple[OffsetRange, ...]
) -> None:
    gaps = cover(chunks, wanted).gaps

    assert len({gap.partition for gap in gaps}) == len(gaps)
    ends = {r.partition: r.end for r in wanted}
    for gap in gaps:
        assert gap.end == ends[gap.partition]
        assert (gap.partition, gap.start) not in held(chunks)


@settings(deadline=None)
@given(SETS, ranges(80), st.randoms())
def test_the_order_of_chunks_does_not_matter(
    chunks: list[Chunk], wanted: tuple[OffsetRange, ...], chance: object
) -> None:
    mixed = list(chunks)
    chance.shuffle(mixed)  # type: ignore[attr-defined]

    assert cover(mixed, wanted) == cover(chunks, wanted)


def test_equal_chunks_are_one_choice_for_all_partitions() -> None:
    both = (OffsetRange(0, 0, 9), OffsetRange(1, 0, 9))

    [part] = cover([chunk(n, *both) for n in range(4)], both).parts

    assert part.is_whole


@settings(deadline=None)
@given(SETS, st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, 60)))
def test_what_is_useless_takes_no_offset_along_that_is_asked_for(
    chunks: list[Chunk], starts: dict[int, int]
) -> None:
    useless = useless_chunks(chunks, starts)
    left = [each for each in chunks if each not in useless]

    lost = held(chunks) - held(left)
    assert all(offset < starts.get(partition, 0) for partition, offset in lost)
    assert useless_chunks(left, starts) == []


@pytest.mark.parametrize("copies", [2, 5])
def test_of_equal_chunks_one_stays(copies: int) -> None:
    chunks = [chunk(n, OffsetRange(0, 5, 9)) for n in range(copies)]

    assert len(useless_chunks(chunks, {})) == copies - 1
    assert len(useless_chunks(chunks, {0: 8})) == copies - 1
    assert len(useless_chunks(chunks, {0: 9})) == copies


def following(sizes: Sequence[tuple[int, int]]) -> list[Chunk]:
    """Chunks of two partitions that follow each other."""
    ends, found = [0, 0], []
    for name, size in enumerate(sizes):
        each = tuple(OffsetRange(p, ends[p], ends[p] + n) for p, n in enumerate(size) if n)
        ends = [end + n for end, n in zip(ends, size, strict=True)]
        if each:
            found.append(chunk(name, *each))
    return found


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 90)), max_size=30))
def test_what_is_joined_follows_each_other_and_ends(sizes: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "LARGE_ROWS", 64)
        patch.setattr(coverage, "JOINED", 3)
        chunks, turns = following(sizes), 0
        before = held(chunks)
        while run := joinable_chunks(chunks):
            assert len(run) >= coverage.JOINED
            assert all(each.info.counts.records < coverage.LARGE_ROWS for each in run)
            joined = join_rows([piece(*each.info.ranges) for each in run])
            assert places_of([joined]) == told(joined.ranges)
            last = chunks.index(run[-1])
            chunks[last] = chunk(int(run[-1].path.stem), *joined.ranges)
            chunks = [each for each in chunks if each not in run or each is chunks[last]]
            turns += 1

        assert held(chunks) == before
        assert turns <= len(sizes)
        assert len(useless_chunks(chunks, {})) == 0


def in_a_row(count: int, **each: int) -> list[Chunk]:
    return [chunk(n, OffsetRange(0, 10 * n, 10 * n + 10), **each) for n in range(count)]


def test_as_many_as_are_joined_are_read_at_once() -> None:
    assert joinable_chunks(in_a_row(JOINED - 1)) == []
    assert len(joinable_chunks(in_a_row(5 * JOINED))) == JOINED


def test_chunks_with_a_hole_between_are_not_joined() -> None:
    chunks = [chunk(n, OffsetRange(0, 10 * n, 10 * n + 9)) for n in range(20)]

    assert joinable_chunks(chunks) == []


def test_chunks_of_two_leaders_are_not_joined() -> None:
    chunks = [*in_a_row(JOINED - 1, epoch=4), *in_a_row(2 * JOINED - 2, epoch=5)[JOINED - 1 :]]

    assert joinable_chunks(chunks) == []
    [*_, last] = chunks
    more = [*chunks, chunk(99, OffsetRange(0, last.info.ranges[0].end, 1000), epoch=5)]
    assert joinable_chunks(more) == more[JOINED - 1 :]


def test_the_newest_and_smallest_are_joined_before_they_are_joined_with_larger_ones() -> None:
    old = in_a_row(JOINED - 1, records=50_000)
    new = in_a_row(2 * JOINED - 1)[JOINED - 1 :]

    assert joinable_chunks([*old, *new]) == new
    assert joinable_chunks([*old, *new[:-1]]) == [*old, new[0]]


@pytest.mark.parametrize("large", [{"records": LARGE_ROWS}, {"size_bytes": LARGE_BYTES}])
def test_large_ones_are_left_as_they_are(large: dict[str, int]) -> None:
    assert joinable_chunks(in_a_row(20, **large)) == []
