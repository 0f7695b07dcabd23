"""Answers over snapshots and logs in every quiet state, and with a commit between any two steps.

The interleavings are forced, not hoped for: a step of the real planning is made to wait until a real
commit has landed. Whatever the moment, the answer has each record once, or an error says why not.
"""

from __future__ import annotations

import pytest

from coldset.errors import ColdReadError
from tests.builders import HANG_S, add_partitions, admin, delete_records
from tests.oracle import ways
from tests.oracle.checker import Verdict
from tests.oracle.conftest import MakeWorld
from tests.oracle.steps import PLANNING, STEPS, Step, before, more_and_freeze, some_of_both

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]


def test_a_table_without_snapshots_is_read_from_the_log_alone(world: MakeWorld) -> None:
    here = world()
    here.fill(7, 0)
    here.fill(5, 1)

    seen = here.expect_correct()

    assert (seen.rows_cold, seen.rows_hot) == (0, 12)


def test_an_empty_table_over_an_empty_topic_has_no_rows(world: MakeWorld) -> None:
    assert world().expect_correct().rows.num_rows == 0


def test_when_everything_is_committed_nothing_is_read_from_the_log(world: MakeWorld) -> None:
    here = world()
    here.fill(9)
    here.freeze()

    seen = here.expect_correct()

    assert (seen.rows_cold, seen.rows_hot) == (9, 0)


def test_every_boundary_between_table_and_log_gives_the_same_rows(world: MakeWorld) -> None:
    here = world()
    here.fill(6, 0)
    here.fill(3, 1)
    for boundary in range(7):
        there = here.with_new_table()
        there.freeze({0: boundary, 1: boundary // 2})

        seen = there.expect_correct()

        assert seen.rows_cold == boundary + boundary // 2


def test_an_empty_partition_stays_empty_until_it_is_written_to(world: MakeWorld) -> None:
    here = world(partitions=3)
    here.fill(4, 1)
    here.freeze()
    here.expect_correct()

    here.fill(2, 2)

    assert here.expect_correct().rows_hot == 2


def test_a_partition_that_is_added_is_read_from_its_start(world: MakeWorld) -> None:
    here = world(partitions=1)
    here.fill(4)
    here.freeze()
    add_partitions(here.lake.bootstrap, here.lake.topic, 3)
    here.sender("late").send(3, 2)

    seen = here.expect_correct()
    here.freeze()

    assert seen.rows_hot == 3
    assert here.expect_correct().rows_cold == 7


def test_after_a_rollback_rows_come_back_from_the_log(world: MakeWorld) -> None:
    here = world()
    here.fill(4)
    first = here.freeze()
    here.fill(4)
    here.freeze()
    here.lake.load().manage_snapshots().rollback_to_snapshot(first).commit()

    seen = here.expect_correct()

    assert (seen.rows_cold, seen.rows_hot) == (4, 4)
    here.fill(1)
    here.freeze()
    assert here.expect_correct().rows_cold == 9


def test_a_cut_is_read_again_alike_after_commits_and_writes(world: MakeWorld) -> None:
    here = world()
    here.fill(5)
    cut = here.lake.open().cut()
    before_commit = ways.library(here.lake, cut)
    here.freeze()
    here.fill(5)

    after_commit = ways.library(here.lake, cut)

    assert here.oracle.score("cut", lambda: before_commit).verdict is Verdict.WRONG  # stale by now
    assert sorted(after_commit.rows.to_pylist(), key=str) == sorted(before_commit.rows.to_pylist(), key=str)


def test_questions_change_neither_the_table_nor_the_cluster(world: MakeWorld) -> None:
    here = some_of_both(world)
    state = here.lake.load().metadata_location

    here.expect_correct()

    client = admin(here.lake.bootstrap)
    groups = client.list_consumer_groups().result(HANG_S).valid
    assert "kafkaiceberg" not in {group.group_id for group in groups}
    assert here.lake.load().metadata_location == state


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_commit_before_any_step_changes_nothing(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, step: Step
) -> None:
    here = some_of_both(world)

    before(monkeypatch, step, lambda: more_and_freeze(here))

    here.expect_correct({"library": ways.library})
    monkeypatch.undo()
    here.expect_correct()


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_commit_and_retention_before_any_step_give_the_rows_or_an_error(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, step: Step
) -> None:
    here = some_of_both(world)

    def commit_and_delete() -> None:
        more_and_freeze(here)
        delete_records(here.lake.bootstrap, here.lake.topic, {0: here.journal.end_of(0)})

    before(monkeypatch, step, commit_and_delete)

    [score] = here.score({"library": ways.library})
    # While planning, a newer snapshot has the rows; later, the log no longer has what was planned.
    allowed = {Verdict.CORRECT} if step in PLANNING else {Verdict.CORRECT, Verdict.DECLARED}
    assert score.verdict in allowed, str(score)
    monkeypatch.undo()
    here.expect_correct()


SQL_STEPS = [
    Step("federation.engine.run.query", "plan_scan"),
    Step("federation.engine.run.attempt", "plan_read"),
    Step("federation.engine.run.table_read", "match_files"),
    Step("federation.engine.run.table_read", "plan_hot"),
    Step("federation.engine.run.table_read", "read_hot_rows"),
    Step("federation.engine.run.attempt", "show_table"),
]


@pytest.mark.parametrize("step", SQL_STEPS, ids=str)
def test_a_commit_while_sql_runs_changes_nothing(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, step: Step
) -> None:
    here = some_of_both(world)
    happened: list[int] = []

    def happens() -> None:
        more_and_freeze(here)
        happened.append(1)

    before(monkeypatch, step, happens)

    here.expect_correct({"engine, self-union": ways.engine_twice})
    assert happened


def test_a_data_file_that_is_missing_is_a_declared_error(world: MakeWorld) -> None:
    here = some_of_both(world)
    for file in here.lake.load().inspect.files().column("file_path").to_pylist():
        here.lake.load().io.delete(file)

    here.expect_error(ColdReadError)
