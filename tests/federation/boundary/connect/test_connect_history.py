"""When what a Connect sink has said may be believed, on histories that a live sink shows once in a while.

Each history is what control partitions hold, written by hand: a task's files (`wrote`) and its word that
it has read so far (`done`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from federation.boundary.connect.control_events import DATA_COMPLETE, DATA_WRITTEN, ControlEvent
from federation.boundary.connect.sink_history import (
    SinkCommit,
    SinkHistory,
    UnknownHistoryError,
    compute_vector,
)

TABLE = "0a0b0c0d-0000-0000-0000-000000000001"


def wrote(partition: int, offset: int, *, task: str, in_round: int, rows: int) -> ControlEvent:
    return ControlEvent(
        partition, offset, task.encode(), DATA_WRITTEN, "connect-s", bytes([in_round]),
        "lake.t", TABLE.replace("-", ""), rows, frozenset(), {}, {},
    )  # fmt: skip


def done(partition: int, offset: int, *, task: str, in_round: int, read: dict[int, int]) -> ControlEvent:
    return ControlEvent(
        partition, offset, task.encode(), DATA_COMPLETE, "connect-s", bytes([in_round]),
        None, None, 0, frozenset({"orders"}), {("orders", p): next_offset for p, next_offset in read.items()},
        {},
    )  # fmt: skip


def commit(number: int, *, rows: int, reached: dict[int, int]) -> SinkCommit:
    return SinkCommit(snapshot_id=number, commit_id=bytes([number]), reached=reached, rows=rows)


def history(
    events: Sequence[ControlEvent], commits: Sequence[SinkCommit], log_start: dict[int, int] | None = None
) -> SinkHistory:
    return SinkHistory(
        control="control",
        group="connect-s",
        table="lake.t",
        table_uuid=TABLE,
        log_start=log_start or {0: 0, 1: 0},
        ends={0: 100, 1: 100},
        events=events,
        commits=commits,
        is_complete=True,
    )


ONE_ROUND = [
    wrote(0, 1, task="a", in_round=1, rows=10),
    done(0, 2, task="a", in_round=1, read={0: 10}),
]


def vector(found: SinkHistory, partitions: Sequence[int] = (0,)) -> dict[int, int]:
    return compute_vector(found, "orders", partitions)


def test_events_above_the_snapshot_do_not_count() -> None:
    later = [wrote(0, 5, task="a", in_round=2, rows=3), done(0, 6, task="a", in_round=2, read={0: 13})]

    assert vector(history([*ONE_ROUND, *later], [commit(1, rows=10, reached={0: 4})])) == {0: 10}


def test_a_slow_tasks_files_count_although_its_word_came_after_the_commit() -> None:
    assert vector(history(ONE_ROUND, [commit(1, rows=10, reached={0: 2})])) == {0: 10}


def test_some_of_a_tasks_files_are_an_error() -> None:
    torn = [wrote(0, 0, task="a", in_round=1, rows=5), *ONE_ROUND]

    with pytest.raises(UnknownHistoryError, match="some of the files"):
        vector(history(torn, [commit(1, rows=5, reached={0: 1})]))


def test_records_committed_before_those_of_the_task_that_was_taken_over_from_are_an_error() -> None:
    events = [
        *ONE_ROUND,
        wrote(1, 1, task="b", in_round=2, rows=5),
        done(1, 2, task="b", in_round=2, read={0: 15}),
    ]

    with pytest.raises(UnknownHistoryError, match="not all of those below 10"):
        vector(history(events, [commit(2, rows=5, reached={0: 0, 1: 3})]))


def test_a_sink_that_is_set_back_later_leaves_the_boundary_as_it_was() -> None:
    again = [wrote(0, 5, task="a", in_round=2, rows=6), done(0, 6, task="a", in_round=2, read={0: 8})]

    assert vector(history([*ONE_ROUND, *again], [commit(1, rows=10, reached={0: 4})])) == {0: 10}


@pytest.mark.parametrize("added", [0, 9, 20])
def test_a_commit_of_other_rows_than_announced_is_an_error(added: int) -> None:
    with pytest.raises(UnknownHistoryError, match=f"added {added} rows, and the sink had announced 10"):
        vector(history(ONE_ROUND, [commit(1, rows=added, reached={0: 4})]))


def test_control_offsets_that_went_back_do_not_move_the_boundary_back() -> None:
    later = [wrote(0, 5, task="a", in_round=2, rows=3), done(0, 6, task="a", in_round=2, read={0: 13})]
    commits = [commit(2, rows=13, reached={0: 7}), commit(3, rows=0, reached={0: 4})]

    assert vector(history([*ONE_ROUND, *later], commits)) == {0: 13}


def test_a_control_topic_shorter_than_the_snapshot_knows_was_recreated() -> None:
    with pytest.raises(UnknownHistoryError, match="recreated"):
        vector(history(ONE_ROUND, [commit(1, rows=10, reached={0: 101})]))


def test_another_control_topic_of_the_same_name_and_size_is_not_believed() -> None:
    with pytest.raises(UnknownHistoryError, match="does not know of the round"):
        vector(history(ONE_ROUND, [commit(7, rows=10, reached={0: 3})]))


def test_a_partition_that_never_had_a_record_is_known_to_be_empty() -> None:
    assert vector(history(ONE_ROUND, [commit(1, rows=10, reached={0: 4})]), (0, 1)) == {0: 10}


def test_a_cut_control_partition_tells_what_it_still_has() -> None:
    found = history(ONE_ROUND[1:], [commit(1, rows=10, reached={0: 4})], {0: 2, 1: 0})

    assert vector(found) == {0: 10}
    with pytest.raises(UnknownHistoryError, match=r"does not tell partitions \[1\]"):
        vector(found, (0, 1))


def test_another_control_partition_that_is_cut_may_have_told_more() -> None:
    found = history(ONE_ROUND, [commit(1, rows=10, reached={0: 4, 1: 9})], {0: 0, 1: 5})

    with pytest.raises(UnknownHistoryError, match=r"does not tell partitions \[0\]"):
        vector(found)


def test_a_later_round_proves_that_what_is_cut_was_older() -> None:
    later = [wrote(0, 5, task="a", in_round=2, rows=3), done(0, 6, task="a", in_round=2, read={0: 13})]
    commits = [commit(1, rows=10, reached={0: 4, 1: 9}), commit(2, rows=3, reached={0: 8, 1: 9})]

    assert vector(history([*ONE_ROUND, *later], commits, {0: 0, 1: 9})) == {0: 13}
    with pytest.raises(UnknownHistoryError, match="is gone"):
        vector(history([*ONE_ROUND, *later], commits, {0: 0, 1: 10}))


def test_a_sink_of_another_table_or_topic_is_an_error() -> None:
    found = history(ONE_ROUND, [commit(1, rows=10, reached={0: 4})])
    stranger = replace(ONE_ROUND[0], table="lake.u", table_uuid="ff")
    reader = replace(ONE_ROUND[1], topics=frozenset({"orders", "refunds"}))
    dropped = replace(ONE_ROUND[0], table_uuid="ff")

    for event, words in (
        (stranger, r"writes to tables \['lake.u'\]"),
        (reader, r"reads topics \['refunds'\]"),
        (dropped, "was dropped"),
    ):
        with pytest.raises(UnknownHistoryError, match=words):
            vector(replace(found, events=[*ONE_ROUND, event]))
