"""The model is tested too: bugs planted in the real code must be caught, each by a history that is short.

Short means that no part of the history fails by itself. One of up to three actions is a shortest one, as all
histories of fewer actions were tried before it. `pytest -s` or `python -m tests.oracle.model` prints them.
"""

from __future__ import annotations

import pytest

from tests.oracle.model.bugs import BUGS, Bug
from tests.oracle.model.explore import failing_parts, shortest_failure
from tests.oracle.model.explorer import Explorer

pytestmark = pytest.mark.oracle


# To look for a history of so many actions takes seconds, as all shorter ones are tried before it.
MANY = 3


@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, marks=[pytest.mark.long] if bug.actions >= MANY else []) for bug in BUGS],
    ids=lambda bug: bug.name,
)
def test_a_planted_bug_is_caught_by_a_short_history(bug: Bug) -> None:
    failure = shortest_failure(bug.way, bug.plant)

    assert failure is not None, "not caught"
    print(f"\n{failure}")  # noqa: T201 - the history is what this test is for
    assert (failure.faults[0].invariant, failure.actions) == (bug.breaks, bug.actions)
    assert failing_parts(failure, bug.plant) == []
    with Explorer() as healthy:
        outcome = healthy.run(bug.way, failure.given.world, failure.schedule)
        assert outcome.faults == healthy.afterwards(bug.way, outcome) == ()
