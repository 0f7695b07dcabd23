"""One row for each record below the boundary: shown by numbers, or assumed by name.

A writer's record looks whole whatever it left out or wrote twice. The rows that its commits brought do
not, and what Kafka still has tells why they are fewer.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.expressions import LessThan

from federation.boundary.evidence import records_seen, settling
from federation.errors import BoundaryUnknownError
from tests.builders import delete_records
from tests.conftest import MakeLake
from tests.federation.flink_stories import FIXTURES, Played
from tests.federation.query_story import ROWS, TIMES, Query, append, assumed, expire, forget, send, told

pytestmark = pytest.mark.kafka


@pytest.fixture
def query(lake: MakeLake) -> Query:
    return Query(lake(partitions=1, schema=ROWS))


@pytest.fixture
def played(lake: MakeLake) -> Iterator[Played]:
    with Played(lake) as player:
        yield player


def test_as_many_rows_as_offsets_leave_nothing_open(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(3, 0, 1, 2)
    query.commit(5, 3, 4)

    assert assumed(query.lake) == []


@pytest.mark.parametrize("rows", [(1, 2), (1, 2, 0)], ids=["skipped", "rows of nulls"])
def test_tombstones_explain_why_rows_are_fewer(query: Query, rows: tuple[int, ...]) -> None:
    send(query.lake, None, 1, 2)
    query.commit(3, *rows)

    assert assumed(query.lake) == []


def test_records_that_the_writer_left_out_are_named(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(5, 0, 1, 4)

    found = told(query.lake)

    assert found["assumed"] == [*TIMES, "offsets_without_rows", "writer_isolation"]
    assert found["boundary"]["confidence"] == "estimated"


def test_a_retention_hole_that_the_writer_has_passed_is_named(query: Query) -> None:
    send(query.lake, *range(10))
    query.commit(3, 0, 1, 2)
    delete_records(query.lake.bootstrap, query.lake.topic, {0: 6})
    query.commit(8, 6, 7)

    assert assumed(query.lake, **{"kafka.isolation.level": "read_committed"}) == ["offsets_without_rows"]


def test_what_was_counted_once_is_not_counted_again(query: Query) -> None:
    """So a table stays exact in a process that goes along with it, whatever retention removes."""
    send(query.lake, 0, None, 2)
    query.commit(3, 0, 2)
    assert assumed(query.lake) == []
    send(query.lake, 3, None, 5)
    delete_records(query.lake.bootstrap, query.lake.topic, {0: 3})
    query.commit(6, 3, 5)

    assert assumed(query.lake) == []

    forget()
    assert "offsets_without_rows" in assumed(query.lake)


def test_more_offsets_than_are_read_are_left_open(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "MOST_OFFSETS", 2)
    assert records_seen.MOST_OFFSETS > 2
    send(query.lake, 0, None, 2)
    query.commit(3, 0, 2)

    assert "offsets_without_rows" in assumed(query.lake)


def test_rows_that_are_there_twice_are_an_error_until_they_are_taken_out(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(3, 0, 1, 2)
    query.commit(5, 1, 2, 3, 4)

    with pytest.raises(BoundaryUnknownError, match=r"has 7 rows of its writer, and only 5 offsets"):
        query.lake.open().cut()

    query.lake.load().delete(LessThan("seq", 2))  # as many as are too much, whichever they are
    assert query.lake.load().scan().count() == 4
    assert assumed(query.lake) == ["offsets_without_rows", "writer_isolation"]


def test_rows_of_others_are_named_and_not_taken_for_the_writers(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(3, 0, 1, 2)
    append(query.lake, (100, 101))

    assert assumed(query.lake) == ["unmarked_rows"]


def test_what_others_delete_or_rewrite_is_no_loss(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(5, 0, 1, 2, 3, 4)
    query.lake.load().delete(LessThan("seq", 2))

    assert assumed(query.lake) == []


def test_expired_commits_change_nothing_while_the_numbers_fit(query: Query) -> None:
    send(query.lake, *range(8))
    for end in (2, 4, 6):
        query.commit(end, end - 2, end - 1)
    expire(query.lake)

    assert assumed(query.lake) == []


def test_a_loss_in_commits_that_were_expired_is_still_named(query: Query) -> None:
    send(query.lake, *range(8))
    query.commit(4, 0, 1)
    query.commit(6, 4, 5)
    expire(query.lake)

    assert "offsets_without_rows" in assumed(query.lake)


@pytest.mark.parametrize("story", ["rewound", "rewound_newer_sink"])
def test_a_flink_job_that_went_back_to_an_older_checkpoint_is_an_error(played: Played, story: str) -> None:
    made = played(story, f"flink_{story}")

    with pytest.raises(BoundaryUnknownError, match="records are in it twice"):
        made.open(checkpointLocation=str(FIXTURES / story)).cut()


def test_a_flink_job_that_began_at_the_end_of_its_topic_is_no_more_than_estimated(played: Played) -> None:
    made = played("late", "flink_late")

    found = told(made, checkpointLocation=str(FIXTURES / "late"))

    assert found["boundary"]["confidence"] == "estimated"
    assert "offsets_without_rows" in found["assumed"]


def test_a_flink_job_that_leaves_records_out_is_no_more_than_estimated(played: Played) -> None:
    made = played("filtered", "flink_filtered")

    found = told(made, checkpointLocation=str(FIXTURES / "filtered"), badRecords="skip", tombstones="skip")

    assert "offsets_without_rows" in found["assumed"]


@pytest.mark.parametrize("story", ["plain", "newer_sink"])
def test_a_flink_job_that_brings_every_record_leaves_only_the_topic_open(played: Played, story: str) -> None:
    made = played(story, f"flink_{story}")

    assert told(made, checkpointLocation=str(FIXTURES / story))["assumed"] == TIMES
