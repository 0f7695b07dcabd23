"""The oracle itself is tested: bugs that others have shipped are planted, and each must be caught.

Every bug is planted in the real code, in a scenario where it matters; the same scenario is correct without
it. A checker that misses one fails here, so that zero wrong answers elsewhere means something.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import federation.cut.take as take
import federation.engine.run.views as views
from federation.engine.lookahead.lookahead import Outlook
from federation.engine.run.table_read import TableRead, plan_read
from federation.options.table_definition import Part
from tests.builders import EVENTS, delete_records, delete_topic, make_topic
from tests.oracle import bugs, ways
from tests.oracle.checker import Fault, Observed, Score, Verdict
from tests.oracle.conftest import MakeWorld
from tests.oracle.journal import Journal
from tests.oracle.steps import Step, before, more_and_freeze, some_of_both
from tests.oracle.world import World
from tests.transactions import wait_until_ended

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

Scenario = Callable[[MakeWorld, pytest.MonkeyPatch], World]

# Scenarios: what happens before the question is asked, or just while it is.


def quiet(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    return some_of_both(world)


def commit_while_planning(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = some_of_both(world)
    before(patch, Step("federation.cut.pinning", "define"), lambda: more_and_freeze(here))
    return here


def commit_before_pin(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = some_of_both(world)
    before(patch, Step("federation.cut.pinning", "pin"), lambda: more_and_freeze(here))
    return here


def retention_before_read(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = some_of_both(world)
    happens = lambda: delete_records(here.lake.bootstrap, here.lake.topic, {0: 5})  # noqa: E731
    before(patch, Step("hotset.store.row_source", "drain"), happens)
    return here


def rolled_back(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = some_of_both(world)
    first = here.lake.load().current_snapshot().snapshot_id
    more_and_freeze(here)
    here.lake.load().manage_snapshots().rollback_to_snapshot(first).commit()
    return here


def transactions(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = world()
    sender = here.sender("txn", transactional=True)
    for end in (sender.commit, sender.abort):
        here.fill(2)
        sender.begin()
        sender.send(2)
        end()
    here.fill(2)
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
    return here


def recreated_longer(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = some_of_both(world)
    delete_topic(here.lake.bootstrap, here.lake.topic)
    make_topic(here.lake.bootstrap, here.lake.topic, partitions=2)
    there = World(here.lake, Journal())
    there.fill(9, 0)
    there.fill(9, 1)
    return there


BUGS: list[tuple[bugs.Plant, Scenario, Fault]] = [
    (bugs.boundary_moved_by(+1), quiet, Fault.LOST),
    (bugs.boundary_moved_by(-1), quiet, Fault.DUPLICATED),
    (bugs.ends_before_pin, commit_before_pin, Fault.INVENTED),
    (bugs.ends_of_an_earlier_question, quiet, Fault.STALE),
    (bugs.boundary_of_another_load, commit_while_planning, Fault.LOST),
    (bugs.cold_half_at_the_head, commit_while_planning, Fault.DUPLICATED),
    (bugs.boundary_of_the_group, quiet, Fault.LOST),
    (bugs.reset_to_earliest, retention_before_read, Fault.LOST),
    (bugs.stop_at_the_first_invisible_offset, transactions, Fault.LOST),
    (bugs.stop_at_an_empty_poll, transactions, Fault.LOST),
    (bugs.walk_by_sequence_number, rolled_back, Fault.LOST),
    (bugs.read_uncommitted, transactions, Fault.INVENTED),
    (bugs.name_is_identity, recreated_longer, Fault.INVENTED),
]


@pytest.mark.parametrize(
    ("plant", "scenario", "fault"),
    BUGS,
    ids=lambda value: getattr(value, "__qualname__", str(value)).split(".")[0],
)
def test_a_planted_bug_is_caught(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, plant: bugs.Plant, scenario: Scenario, fault: Fault
) -> None:
    healthy = ask(scenario(world, monkeypatch))
    monkeypatch.undo()
    here = scenario(world, monkeypatch)
    plant(monkeypatch, here)

    planted = ask(here)

    assert healthy.verdict is not Verdict.WRONG, str(healthy)
    assert planted.verdict is Verdict.WRONG, f"not caught: {planted}"
    assert fault in planted.kinds, str(planted)


def kept_and_recreated(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = world()
    here.fill(4)
    ways.resident(here.lake)
    delete_topic(here.lake.bootstrap, here.lake.topic)
    make_topic(here.lake.bootstrap, here.lake.topic, partitions=2)
    there = World(here.lake, Journal())
    there.fill(6)
    return there


def kept_uncommitted(world: MakeWorld, patch: pytest.MonkeyPatch) -> World:
    here = transactions(world, patch)
    ways.resident(here.lake.having(**{"kafka.isolation.level": "read_uncommitted"}))
    return here


@pytest.mark.parametrize(
    ("plant", "scenario", "fault"),
    [
        (bugs.store_without_topic_ids, kept_and_recreated, Fault.INVENTED),
        (bugs.store_without_isolation, kept_uncommitted, Fault.INVENTED),
        (bugs.store_that_keeps_less, quiet, Fault.LOST),
    ],
)
def test_a_bug_planted_in_the_hot_store_is_caught(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch, plant: bugs.Plant, scenario: Scenario, fault: Fault
) -> None:
    healthy = scenario(world, monkeypatch)
    assert healthy.oracle.score("resident", lambda: ways.resident(healthy.lake)).verdict is Verdict.CORRECT
    with monkeypatch.context() as patch:
        # Before anything is kept, or there is nothing to be wrong.
        plant(patch, healthy)
        here = scenario(world, monkeypatch)

        planted = here.oracle.score("resident", lambda: ways.resident(here.lake))

    assert fault in planted.kinds, f"not caught: {planted}"


def test_a_cut_for_each_scan_of_a_statement_is_caught(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world)
    real, one_at_a_time = TableRead._hot_batches, threading.Lock()
    outlook = Outlook(is_scanned=True, columns=tuple(EVENTS.names), where=None)

    def cutting_again(read: TableRead) -> Any:
        with one_at_a_time:
            taken = take.take_cut(here.lake.merged())
            batches = list(real(plan_read(taken, [Part.ROWS], outlook, None, read.guard, is_explain=False)))
            here.fill(1)
            return iter(batches)

    # Where the engine reads chunks itself, it would not ask for them in Python.
    monkeypatch.setattr(views, "has_spelling", lambda _: False)
    monkeypatch.setattr(TableRead, "_hot_batches", cutting_again)

    score = here.oracle.score("engine", lambda: ways.engine_twice(here.lake))

    # An engine that scans once for both halves of a statement gives what the second cut has not.
    assert score.kinds & {Fault.TORN, Fault.LOST}, f"not caught: {score}"


def test_a_cut_that_is_not_kept_to_is_caught(world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    here = some_of_both(world)
    assert ask(here).verdict is Verdict.CORRECT
    bugs.stop_at_an_empty_poll(monkeypatch, here)

    score = ask(here)

    assert score.kinds >= {Fault.LOST, Fault.UNREPEATABLE}, str(score)


def test_an_error_that_is_not_declared_is_caught(world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    here = some_of_both(world)
    before(monkeypatch, Step("hotset.store.row_source", "drain"), lambda: 1 // 0)

    assert ask(here).kinds == {Fault.UNDECLARED}


def test_a_reader_that_hides_duplicates_is_no_cure_for_a_wrong_boundary(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some_of_both(world)
    bugs.boundary_moved_by(-1)(monkeypatch, here)

    score = here.oracle.score("distinct", lambda: distinct(here))

    assert score.kinds == {Fault.MISCOUNTED}, str(score)


def ask(here: World) -> Score:
    return here.oracle.score("library", lambda: ways.library(here.lake))


def distinct(here: World) -> Observed:
    seen = ways.library(here.lake)
    once = seen.rows.group_by(seen.rows.column_names).aggregate([]).select(seen.rows.column_names)
    return replace(seen, rows=once)
