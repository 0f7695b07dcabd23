"""Records that leave the log, and topics that are not what they were.

Retention and people delete; the table may or may not have had the records in time. What is in neither half
is an error that names it, unless the caller accepts the gap; a topic of the same name is another topic.
"""

from __future__ import annotations

import pytest

from federation.cut.take import take_cut
from federation.errors import OffsetGapError, TopicReplacedError
from hotset.errors import OffsetOutOfRangeError, TopicChangedError, TopicNotFoundError
from pipeline.errors import FencedError
from pipeline.freeze import commit
from tests.builders import (
    add_partitions,
    delete_records,
    delete_topic,
    make_topic,
    stage_rows,
)
from tests.oracle import ways
from tests.oracle.checker import Verdict
from tests.oracle.conftest import MakeWorld
from tests.oracle.steps import Step, before, some_of_both
from tests.oracle.world import World

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]


@pytest.mark.parametrize("log_start", [2, 4], ids=["below", "at"])
def test_deleting_what_the_table_holds_changes_nothing(world: MakeWorld, log_start: int) -> None:
    here = some_of_both(world)

    delete(here, log_start)

    assert here.expect_correct().rows.num_rows == 9


def test_a_gap_between_table_and_log_is_an_error(world: MakeWorld) -> None:
    here = some_of_both(world)

    delete(here, 5)

    error = here.expect_error(OffsetGapError)
    assert error.details["gaps"] == [[0, 4, 5]]


def test_a_gap_that_is_accepted_is_named_in_the_receipt(world: MakeWorld) -> None:
    here = some_of_both(world)
    delete(here, 5)

    seen = here.having(failOnDataLoss="false").expect_correct()

    assert seen.gaps == ((0, 4, 5),)
    assert seen.rows.num_rows == 8


def test_a_gap_that_was_frozen_over_is_still_told(world: MakeWorld) -> None:
    here = some_of_both(world)
    delete(here, 5)

    here.having(failOnDataLoss="false").freeze()

    score = here.oracle.score("library", lambda: ways.library(here.lake))
    assert score.verdict is not Verdict.WRONG, str(score)


def test_a_log_that_lost_everything_is_one_gap_to_its_end(world: MakeWorld) -> None:
    here = some_of_both(world)
    delete(here, 6)

    here.expect_error(OffsetGapError)
    assert here.having(failOnDataLoss="false").expect_correct().gaps == ((0, 4, 6),)


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_gap_that_a_commit_closes_meanwhile_is_no_gap(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    here = some_of_both(world).having(failOnDataLoss=fails)
    freeze = stage_rows(take_cut(here.lake.merged()))
    delete(here, 5)

    before(monkeypatch, Step("federation.cut.take", "compute_cut"), lambda: commit(freeze))

    seen = here.expect_correct({"library": ways.library})
    assert (seen.rows_cold, seen.gaps) == (9, ())


def test_records_deleted_between_plan_and_read_are_a_declared_error(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world)

    before(monkeypatch, Step("hotset.store.row_source", "drain"), lambda: delete(here, 5))

    here.expect_error(OffsetOutOfRangeError, {"library": ways.library})


def test_a_cut_whose_records_are_gone_is_a_declared_error(world: MakeWorld) -> None:
    here = some_of_both(world)
    cut = here.lake.open().cut()
    delete(here, 5)

    here.expect_error(OffsetGapError, {"cut": lambda lake: ways.library(lake, cut)})


@pytest.mark.parametrize("count", [2, 20], ids=["shorter", "longer"])
@pytest.mark.parametrize("is_frozen", [True, False], ids=["boundary", "cut"])
def test_a_recreated_topic_is_never_taken_for_the_old_one(
    world: MakeWorld, count: int, is_frozen: bool
) -> None:
    here = some_of_both(world) if is_frozen else world()
    cut = here.lake.open().cut()

    recreate(here, count)

    asked = {"cut": lambda lake: ways.library(lake, cut)}
    here.expect_error(TopicReplacedError, asked if not is_frozen else {**asked, "library": ways.library})


def test_a_topic_recreated_while_it_is_read_is_a_declared_error(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world)

    before(monkeypatch, Step("hotset.store.row_source", "drain"), lambda: recreate(here, 20))

    here.expect_error(TopicChangedError, {"library": ways.library})


def test_a_topic_recreated_while_it_is_planned_is_a_declared_error(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world)

    before(monkeypatch, Step("client", "list_offsets", 2), lambda: recreate(here, 20))

    here.expect_error(TopicChangedError, {"library": ways.library})


def test_a_topic_deleted_while_it_is_read_is_a_declared_error(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world).having(readTimeoutMs="20000", noProgressTimeoutMs="5000")

    before(
        monkeypatch,
        Step("hotset.store.row_source", "drain"),
        lambda: delete_topic(here.lake.bootstrap, here.lake.topic),
    )

    [score] = here.score({"library": ways.library})
    assert score.verdict is Verdict.DECLARED, str(score)
    monkeypatch.undo()
    here.expect_error(TopicNotFoundError)


def test_a_freeze_from_before_partitions_were_added_is_fenced(world: MakeWorld) -> None:
    here = world(partitions=1)
    here.fill(4)
    stale = stage_rows(take_cut(here.lake.merged()))
    add_partitions(here.lake.bootstrap, here.lake.topic, 2)
    here.sender("late").send(3, 1)
    here.freeze()

    with pytest.raises(FencedError):
        commit(stale)

    assert here.expect_correct().rows_cold == 7


def delete(here: World, log_start: int) -> None:
    delete_records(here.lake.bootstrap, here.lake.topic, {0: log_start})


def recreate(here: World, count: int) -> None:
    """Replace the topic by one of the same name whose records are strangers' to the journal."""
    delete_topic(here.lake.bootstrap, here.lake.topic)
    make_topic(here.lake.bootstrap, here.lake.topic, partitions=2)
    stranger = World(here.lake)
    stranger.fill(count, 0)
    stranger.fill(count, 1)
