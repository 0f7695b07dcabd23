"""The decision of what is cold and what is hot, checked over all facts that can be thought of.

`compute_cut` is pure, so it needs no broker: histories of commits, writes and retention are played in
memory, and the cut taken at any of their moments must have each record once. Tokens must lose nothing.
"""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.boundary.committed import CommittedOffsets
from federation.boundary.property.snapshot_property import parse_offsets, render_offsets
from federation.cut.cut import Cut, ReaderSchema, SnapshotFacts, cold_cut, compute_cut, require_readable
from federation.cut.token import pack, unpack
from federation.errors import CutTokenError, OffsetGapError, OffsetOverlapError, TopicReplacedError
from hotset.kafka.offsets import Isolation, LogBounds, OffsetRange, PartitionBounds

FACTS = SnapshotFacts("lake.t", "uuid", 7, 0)
LEVEL = Isolation.READ_COMMITTED


def committed(*ends: int, topic_id: str | None = "id") -> CommittedOffsets:
    text = render_offsets(
        topic="t",
        topic_id=topic_id or "",
        isolation=LEVEL,
        next_offset=dict(enumerate(ends)),
        leader_epoch={},
    )
    return parse_offsets(text, snapshot_id=7, provenance="a test")


def log(*partitions: tuple[int, int], topic_id: str = "id") -> LogBounds:
    """A log of (start, end) per partition; nothing is held back."""
    bounds = (PartitionBounds(p, start, end, end) for p, (start, end) in enumerate(partitions))
    return LogBounds("t", topic_id, LEVEL, tuple(bounds), 0)


def cut_of(*ranges: tuple[int, int], topic_id: str = "id") -> Cut:
    hot = tuple(OffsetRange(p, start, end) for p, (start, end) in enumerate(ranges))
    return Cut("lake.t", "uuid", 7, 0, "t", topic_id, LEVEL, hot)


def test_hot_begins_where_cold_ends() -> None:
    cut = compute_cut(FACTS, committed(3, 0), log((0, 8), (0, 2)))

    assert cut.ranges == (OffsetRange(0, 3, 8), OffsetRange(1, 0, 2))
    assert cut.gaps == ()


def test_a_partition_with_nothing_hot_keeps_an_empty_range() -> None:
    cut = compute_cut(FACTS, committed(8), log((0, 8)))

    assert cut.ranges == (OffsetRange(0, 8, 8),)
    assert cut.hot_span == 0


def test_a_partition_the_table_does_not_know_is_hot_from_zero() -> None:
    cut = compute_cut(FACTS, committed(3), log((0, 8), (0, 5)))

    assert cut.ranges[1] == OffsetRange(1, 0, 5)


def test_a_log_that_starts_after_the_boundary_is_a_gap() -> None:
    with pytest.raises(OffsetGapError, match=r"0\[3,5\)"):
        compute_cut(FACTS, committed(3), log((5, 8)))


def test_an_accepted_gap_is_in_the_cut_and_not_in_the_range() -> None:
    cut = compute_cut(FACTS, committed(3), log((5, 8)), accepts_gaps=True)

    assert (cut.gaps, cut.ranges) == ((OffsetRange(0, 3, 5),), (OffsetRange(0, 5, 8),))
    assert cut.committed(0) == 3


def test_a_log_start_past_the_end_that_was_sampled_leaves_the_cut_at_that_end() -> None:
    cut = compute_cut(FACTS, committed(3), log((9, 8)), accepts_gaps=True)

    assert (cut.gaps, cut.ranges) == ((OffsetRange(0, 3, 8),), (OffsetRange(0, 8, 8),))


def test_a_table_that_reaches_past_the_log_is_an_error() -> None:
    with pytest.raises(OffsetOverlapError, match="truncated"):
        compute_cut(FACTS, committed(9), log((0, 8)))


def test_a_table_that_reaches_into_an_open_transaction_is_told_so() -> None:
    held = LogBounds("t", "id", LEVEL, (PartitionBounds(0, 0, 4, 8),), 0)

    with pytest.raises(OffsetOverlapError, match="open transaction"):
        compute_cut(FACTS, committed(6), held)


@pytest.mark.parametrize("end", [2, 80], ids=["shorter", "longer"])
def test_another_topic_of_the_same_name_is_an_error(end: int) -> None:
    with pytest.raises(TopicReplacedError):
        compute_cut(FACTS, committed(3), log((0, end), topic_id="other"))


def test_a_topic_with_fewer_partitions_than_the_table_is_an_error() -> None:
    with pytest.raises(TopicReplacedError):
        compute_cut(FACTS, committed(3, 3), log((0, 8)))


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        (log((0, 8)), None),
        (log((3, 8)), None),
        (log((4, 8)), OffsetGapError),
        (log((0, 7)), OffsetOverlapError),
        (log((0, 8), topic_id="other"), TopicReplacedError),
        (LogBounds("t", "id", LEVEL, (), 0), OffsetOverlapError),
    ],
)
def test_a_cut_is_readable_while_the_log_holds_all_of_it(
    bounds: LogBounds, error: type[Exception] | None
) -> None:
    cut = cut_of((3, 8))

    if error is None:
        require_readable(cut, bounds)
    else:
        with pytest.raises(error):
            require_readable(cut, bounds)


def test_an_empty_range_is_readable_wherever_the_log_starts() -> None:
    require_readable(cut_of((3, 3)), log((5, 8)))


SPANS = st.tuples(st.integers(0, 2**62), st.integers(0, 2**40)).map(lambda found: (found[0], sum(found)))


@given(
    st.lists(SPANS, max_size=8),
    st.none() | st.integers(1, 2**62),
    st.text(min_size=1),
    st.none() | st.builds(ReaderSchema, st.integers(1), st.integers(0)),
)
def test_a_token_stands_for_exactly_its_cut(
    spans: list[tuple[int, int]], snapshot: int | None, name: str, reader: ReaderSchema | None
) -> None:
    ranges = tuple(OffsetRange(p, *span) for p, span in enumerate(spans))
    cut = Cut(name, "uuid", snapshot, 3, "t", "id", LEVEL, ranges, ranges[:1], reader_schema=reader)

    assert Cut.from_token(cut.token()) == cut


def test_the_token_of_a_plain_table_stands_for_its_cut() -> None:
    cut = cold_cut(FACTS, LEVEL)

    assert Cut.from_token(cut.token()) == cut


def test_a_token_of_before_cuts_told_the_readers_schema_is_one() -> None:
    cut = cut_of((3, 8))
    document = unpack(cut.token())
    del document["v"]

    assert Cut.from_token(pack(document)) == cut


@pytest.mark.parametrize("told", [7, [1], [1, 2, 3], [1, "x"], [1, None], {"version": 1}, "12"])
def test_a_token_with_half_a_readers_schema_is_refused(told: object) -> None:
    document = {**unpack(cut_of((3, 8)).token()), "v": told}

    with pytest.raises(CutTokenError):
        Cut.from_token(pack(document))


@given(st.text())
def test_what_is_no_token_is_refused(text: str) -> None:
    for candidate in (text, f"kic1.{text}"):
        with pytest.raises(CutTokenError):
            Cut.from_token(candidate)


@given(st.data())
def test_a_damaged_token_is_refused_or_says_the_same(data: st.DataObject) -> None:
    token = cut_of((3, 8), (0, 2)).token()
    at = data.draw(st.integers(0, len(token) - 1))
    damaged = token[:at] + data.draw(st.sampled_from("aA0_-!")) + token[at + 1 :]

    with contextlib.suppress(CutTokenError):
        assert Cut.from_token(damaged) == Cut.from_token(token)


class History:
    """One partition's past in memory: what was written, what each commit took, what retention removed."""

    def __init__(self) -> None:
        self.end = 0
        self.log_start = 0
        self.boundaries = [0]

    def play(self, event: tuple[str, int]) -> None:
        kind, amount = event
        if kind == "write":
            self.end += amount
        elif kind == "commit":
            self.boundaries.append(min(self.end, self.boundaries[-1] + amount))
        elif kind == "retain":
            self.log_start = min(self.end, self.log_start + amount)


EVENTS = st.lists(st.tuples(st.sampled_from(["write", "commit", "retain"]), st.integers(0, 4)), max_size=12)


@given(past=EVENTS, after_pin=EVENTS, after_end=EVENTS)
def test_whatever_happens_between_the_steps_each_record_is_in_one_half_or_named_as_lost(
    past: list[tuple[str, int]], after_pin: list[tuple[str, int]], after_end: list[tuple[str, int]]
) -> None:
    history = History()
    for event in past:
        history.play(event)
    boundary = history.boundaries[-1]  # the snapshot is pinned here
    written_before = history.end
    for event in after_pin:
        history.play(event)
    end = history.end  # the end is sampled here
    for event in after_end:
        history.play(event)
    bounds = log((history.log_start, end))  # and the log start last

    cut = compute_cut(FACTS, committed(boundary), bounds, accepts_gaps=True)

    cold = set(range(boundary))
    hot = {offset for r in cut.ranges for offset in range(r.start, r.end)}
    lost = {offset for gap in cut.gaps for offset in range(gap.start, gap.end)}
    assert not cold & hot
    assert not (cold | hot) & lost
    assert cold | hot | lost >= set(range(written_before))
    assert all(history.log_start <= offset for offset in hot)
    if not lost:
        assert compute_cut(FACTS, committed(boundary), bounds) == cut
