"""What a piece of a log is stays the same however it is cut and put together again: rows, counts, times.

Pieces are of one or several partitions, and hold rows, tombstones, bad records and offsets without any.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.bad_records import MARKS, BadRecord
from hotset.kafka.offsets import OffsetRange
from hotset.store.chunk import join_rows
from hotset.store.hot_rows import NAMED, OTHERS, RowCounts, cut_ranges
from tests.hotset.store.pieces import piece, places_of, told

LENGTH = 90


def expected_counts(*ranges: OffsetRange) -> RowCounts:
    found = told(ranges)
    bad = [BadRecord(p.partition, p.offset, "bad") for p in found if p.what == "bad"]
    return RowCounts(
        rows=sum(isinstance(p.what, int) for p in found),
        tombstones=sum(p.what is None for p in found),
        bad=len(bad),
        first_bad=tuple(bad[:NAMED]),
        newest_ms=max((p.offset for p in found), default=None),
    )


LIMITS = st.tuples(st.integers(0, LENGTH + 5), st.integers(0, LENGTH + 5)).map(sorted)


@settings(deadline=None)
@given(LIMITS, LIMITS)
def test_what_is_cut_out_is_what_a_reading_of_it_gives(one: list[int], other: list[int]) -> None:
    whole = piece(OffsetRange(0, 0, LENGTH), OffsetRange(7, 0, LENGTH))
    wanted = [OffsetRange(0, *one), OffsetRange(7, *other), OffsetRange(3, 0, 9)]

    found = whole.within(wanted)

    assert found.ranges == cut_ranges(whole.ranges, wanted)
    assert places_of([found]) == told(found.ranges)
    assert found.counts == expected_counts(*found.ranges)


@settings(deadline=None)
@given(st.lists(st.integers(0, LENGTH), max_size=9))
def test_pieces_together_are_the_whole(cuts: list[int]) -> None:
    borders = sorted({0, *cuts, LENGTH})
    pieces = [piece(OffsetRange(1, a, b), OffsetRange(4, a, b)) for a, b in itertools.pairwise(borders)]

    joined = join_rows(pieces)

    assert joined.ranges == (OffsetRange(1, 0, LENGTH), OffsetRange(4, 0, LENGTH))
    assert places_of([joined]) == told(joined.ranges)
    added = RowCounts()
    for each in pieces:
        added = added.plus(each.counts)
    assert joined.counts == added == expected_counts(*joined.ranges)


def test_a_range_in_which_nothing_is_visible_is_a_piece_like_others() -> None:
    nothing = piece(OffsetRange(0, 3, 4))

    assert nothing.counts == RowCounts()
    joined = join_rows([piece(OffsetRange(0, 0, 3)), nothing, piece(OffsetRange(0, 4, 9))])
    assert places_of([joined]) == told([OffsetRange(0, 0, 9)])


def test_a_long_reason_is_told_in_short() -> None:
    others = pa.table([[0], [5], [5], ["x" * 5000]], schema=OTHERS)

    counts = replace(piece(OffsetRange(0, 3, 4)), others=others).counts

    [named] = counts.first_bad
    assert (counts.bad, len(named.reason)) == (1, 300)


def test_the_epoch_of_what_is_joined_is_that_of_its_last_leader() -> None:
    parts = [piece(OffsetRange(0, 0, 5), epoch=3), piece(OffsetRange(0, 5, 9), OffsetRange(1, 0, 2), epoch=4)]

    assert join_rows(parts).epochs == {0: 4, 1: 4}


def test_nothing_is_cut_of_what_lies_within() -> None:
    whole = piece(OffsetRange(0, 5, 9))

    assert whole.within([OffsetRange(0, 0, 100)]) is whole
    assert whole.within([]).ranges == ()


def test_a_bad_record_that_is_a_row_is_one_record() -> None:
    plain = piece(OffsetRange(0, 0, 9))
    marks = [pa.nulls(plain.rows.num_rows, mark.type) for mark in MARKS]
    marked = plain.rows
    for mark, values in zip(MARKS, marks, strict=True):
        marked = marked.append_column(mark, values)

    counts = replace(plain, rows=marked).counts

    assert (plain.counts.bad, counts.bad, counts.bad_rows) == (1, 1, 1)
    assert counts.records == plain.counts.records - 1 == counts.plus(counts).records / 2
