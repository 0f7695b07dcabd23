"""No answer claims more than it knows, and no mistake that would make it is missed.

Each table is one of which a reader cannot know everything. The answer is right, or refused, or names what
was assumed and is no surer than that; mistakes that are planted in the code make it wrong.
"""

from __future__ import annotations

import random

import pytest

from federation.boundary import boundary_cache as cache
from tests.oracle import bugs, doubtful, ways
from tests.oracle.checker import Fault, Observed, Score, Verdict
from tests.oracle.conftest import MakeWorld
from tests.oracle.world import World

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

SEED = 7
DOUBTFUL: list[tuple[doubtful.Doubtful, Verdict]] = [
    (doubtful.two_topics, Verdict.DECLARED),
    (doubtful.made_anew, Verdict.ASSUMED),
    (doubtful.made_anew_later, Verdict.DECLARED),
    (doubtful.strange_records, Verdict.DECLARED),
    (doubtful.left_out, Verdict.ASSUMED),
    (doubtful.loss_forgotten, Verdict.ASSUMED),
    (doubtful.aborted_rows, Verdict.ASSUMED),
    (doubtful.aborted_hot, Verdict.ASSUMED),
    (doubtful.upserted, Verdict.DECLARED),
]
BUGS: list[tuple[bugs.Plant, doubtful.Doubtful, Fault]] = [
    (bugs.always_exact, doubtful.made_anew, Fault.OVERCLAIMED),
    (bugs.always_exact, doubtful.left_out, Fault.OVERCLAIMED),
    (bugs.assumptions_unsaid, doubtful.aborted_rows, Fault.OVERCLAIMED),
    (bugs.record_believed, doubtful.left_out, Fault.LOST),
    (bugs.record_believed, doubtful.loss_forgotten, Fault.OVERCLAIMED),
    (bugs.record_believed, doubtful.made_anew_later, Fault.INVENTED),
    (bugs.isolation_believed, doubtful.aborted_hot, Fault.INVENTED),
    (bugs.strangers_are_rows, doubtful.strange_records, Fault.INVENTED),
    (bugs.first_topic_only, doubtful.two_topics, Fault.INVENTED),
]


def ask(here: World) -> Score:
    cache._found.clear()  # what was found without the mistake
    return here.oracle.score("library", lambda: ways.library(here.lake))


@pytest.mark.parametrize(("make", "verdict"), DOUBTFUL, ids=lambda value: getattr(value, "__name__", ""))
def test_every_way_in_says_what_it_assumed_or_refuses(
    world: MakeWorld, make: doubtful.Doubtful, verdict: Verdict
) -> None:
    here = make(world(), random.Random(SEED))

    assert {str(score.verdict): str(score) for score in here.score()}.keys() == {verdict}


@pytest.mark.parametrize(
    ("plant", "make", "fault"), BUGS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_a_mistake_that_claims_more_is_caught(
    world: MakeWorld,
    monkeypatch: pytest.MonkeyPatch,
    plant: bugs.Plant,
    make: doubtful.Doubtful,
    fault: Fault,
) -> None:
    here = make(world(), random.Random(SEED))
    assert ask(here).verdict is not Verdict.WRONG
    plant(monkeypatch, here)

    planted = ask(here)

    assert planted.verdict is Verdict.WRONG, f"not caught: {planted}"
    assert fault in planted.kinds, str(planted)


def test_upserts_that_are_taken_for_appends_are_caught(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = doubtful.upserted(world(), random.Random(SEED)).having(merge="append").doubting("append_only")
    assert ask(here).verdict is Verdict.CORRECT
    bugs.upserts_are_appends(monkeypatch, here)

    assert Fault.OVERCLAIMED in ask(here).kinds


def test_who_says_nothing_of_an_assumption_is_judged_by_the_rows_alone(world: MakeWorld) -> None:
    here = doubtful.left_out(world(), random.Random(SEED))

    score = here.oracle.score("no receipt", lambda: Observed(ways.library(here.lake).rows))

    assert (score.verdict, score.kinds) == (Verdict.WRONG, {Fault.LOST})
