"""Let everything happen between every two steps, and judge every answer.

All schedules up to a number of actions are explored, from each given past; or random ones that are longer.
With a bug planted, the search ends at the first wrong answer: breadth first, so at a shortest history.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.oracle.model.actions import successors, told
from tests.oracle.model.explorer import Explorer, Plant, Trail, Tried
from tests.oracle.model.judge import Fault
from tests.oracle.model.run import CannotHappenError, Planned, Schedule
from tests.oracle.model.ways import OURS, Way
from tests.oracle.model.worlds import GIVEN, Given


@dataclass(frozen=True)
class Failure:
    """A history whose answer is wrong, told line by line."""

    way: Way
    given: Given
    schedule: Schedule
    faults: tuple[Fault, ...]
    lines: tuple[str, ...]

    @property
    def actions(self) -> int:
        """How many things happen in it, its past included."""
        return len(self.given.past) + len(self.schedule)

    def __str__(self) -> str:
        past = [f"       {told(action)}" for action in self.given.past]
        ends = [f"wrong: {fault.invariant}: {fault.text}" for fault in self.faults]
        return "\n".join([*past, *self.lines, *ends])


@dataclass
class Explored:
    """What came of an exploration.

    Attributes:
        schedules: Schedules that differ in when a step can first see an action.
        answers: Questions asked, one for all schedules that must come out the same; each is judged with
            a fresh one after it.
        correct, declared, wrong: What they came to.
        steps: Steps that they took.
        errors: Declared errors by code.
        failures: Histories of wrong answers, shortest first.
    """

    schedules: int = 0
    answers: int = 0
    correct: int = 0
    declared: int = 0
    wrong: int = 0
    steps: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def explore(
    depth: int,
    seed: int | None = None,
    *,
    ways: Sequence[Way] = OURS,
    pasts: Sequence[Given] = GIVEN,
    walks: int = 1000,
) -> Explored:
    """Explore all schedules of up to `depth` actions; or, with a seed, random ones of exactly that many.

    Args:
        depth: Actions in a schedule, those of the world's past not counted.
        seed: Where random schedules begin; the same seed gives the same ones.
        ways: How to ask.
        pasts: Where to begin.
        walks: How many random schedules to go along.
    """
    found = Explored()
    with Explorer() as explorer:
        if seed is not None:
            dice = random.Random(seed)
            for _ in range(walks):
                _walk(explorer, found, dice, depth, dice.choice(ways), dice.choice(pasts))
            return found
        for way, given in itertools.product(ways, pasts):
            trail = Trail(explorer, way, given, depth)
            for actions in range(depth + 1):
                for tried in trail.layer(actions):
                    _count(explorer, found, way, given, tried)
    found.failures.sort(key=lambda failure: failure.actions)
    return found


def shortest_failure(way: Way, plant: Plant | None = None, *, depth: int = 2) -> Failure | None:
    """Return a wrong answer that few actions lead to, told from an empty topic and table on.

    Searched for in all schedules by their number of actions, those of the past included; of what is found,
    whatever it does not need is left out.

    Args:
        way: How to ask.
        plant: The bug.
        depth: Actions after the past, at most.
    """
    with Explorer(plant) as explorer:
        found = _first_failure(explorer, way, depth)
        return found and next(_failing_parts(explorer, found), found)


def failing_parts(failure: Failure, plant: Plant | None = None) -> list[Schedule]:
    """Return the parts of a failing history that fail too; none, if all of it is needed."""
    with Explorer(plant) as explorer:
        return [part.schedule for part in _failing_parts(explorer, failure)]


def _first_failure(explorer: Explorer, way: Way, depth: int) -> Failure | None:
    trails = [(len(given.past), given, Trail(explorer, way, given, depth)) for given in GIVEN]
    for total in range(max(past for past, _, _ in trails) + depth + 1):
        for past, given, trail in trails:
            for tried in trail.layer(total - past) if past <= total <= past + depth else ():
                if failure := _failure(explorer, way, given, tried):
                    return failure
    return None


def _failing_parts(explorer: Explorer, failure: Failure) -> Iterator[Failure]:
    start = Given("nothing", (), failure.given.settings)
    whole = (*(Planned(0, action) for action in failure.given.past), *failure.schedule)
    for count in range(len(whole)):
        for part in itertools.combinations(whole, count):
            with contextlib.suppress(CannotHappenError):
                tried = Tried(explorer.run(failure.way, start.world, part), part, 1)
                if found := _failure(explorer, failure.way, start, tried):
                    yield found


def _walk(
    explorer: Explorer, found: Explored, dice: random.Random, depth: int, way: Way, given: Given
) -> None:
    schedule: Schedule = ()
    for _ in range(depth + 1):
        outcome = explorer.run(way, given.world, schedule)
        _count(explorer, found, way, given, Tried(outcome, schedule, 1))
        moments = outcome.run.moments
        step = dice.randrange(schedule[-1].step if schedule else 0, len(moments))
        action, _changed = dice.choice(successors(moments[step].world))
        schedule = (*schedule, Planned(step, action))


def _count(explorer: Explorer, found: Explored, way: Way, given: Given, tried: Tried) -> None:
    outcome = tried.outcome
    found.schedules += tried.times
    found.answers += 1
    found.steps += len(outcome.run.moments)
    failure = _failure(explorer, way, given, tried)
    if failure is not None:
        found.wrong += 1
        found.failures.append(failure)
    elif outcome.error is None:
        found.correct += 1
    else:
        found.declared += 1
        found.errors[getattr(type(outcome.error), "code", "")] += 1


def _failure(explorer: Explorer, way: Way, given: Given, tried: Tried) -> Failure | None:
    outcome, lines = tried.outcome, tried.outcome.run.lines
    faults = outcome.faults
    if way in OURS and not faults:
        faults = explorer.afterwards(way, outcome)
        if faults:
            again = explorer.run(way, outcome.run.world).run.lines
            lines = [*lines, "       Nothing happens any more, and the question is asked again", *again]
    return Failure(way, given, tried.schedule, faults, tuple(lines)) if faults else None
