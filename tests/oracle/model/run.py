"""One run of a question, with the world moving between its steps as a schedule says.

A step is anything the question asks of Kafka, the catalog or the warehouse. Before each, the actions that
the schedule has for it happen; what the step then saw is noted. The code that asks is deterministic, so two
runs that have seen the same and stand in the same world go on in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from tests.oracle.model.actions import Action, told
from tests.oracle.model.state import World

View = Callable[[World], Any]
T = TypeVar("T", bound=Hashable)


class Planned(NamedTuple):
    """An action, and before which step of the question it happens."""

    step: int
    action: Action


Schedule = tuple[Planned, ...]


class CannotHappenError(BaseException):
    """A schedule asks for what this world does not allow; no code under test may catch it."""


class Moment(NamedTuple):
    """Just before a step: all that was seen, the worlds since the question, and what the step looks at."""

    seen: Hashable
    world: World
    since: tuple[World, ...]
    begins: bool
    view: View


class Run:
    """What happens to one question; the steps are numbered from 0, before which it is not yet asked."""

    def __init__(self, start: World, schedule: Schedule) -> None:
        self.world = start
        self.moments: list[Moment] = []
        self.worlds: list[World] = [start]
        self.lines: list[str] = []
        self.asked: list[int] = []
        self.writes: list[str] = []
        self._schedule = schedule
        self._seen: Hashable = None
        self._begins = True

    def step(self, told_as: str, view: Callable[[World], T]) -> T:
        """Let the world move on, and return what a step that looks at it in this way sees."""
        number = len(self.moments)
        for planned in self._schedule:
            if planned.step == number:
                self._happens(planned.action)
        since = tuple(self.worlds[self.asked[-1] :])
        self.moments.append(Moment(self._seen, self.world, since, self._begins, view))
        self._begins = False
        self.lines.append(f"query: {told_as}")
        found = view(self.world)
        self._seen = (self._seen, found)
        return found

    def asks(self) -> None:
        """A question begins: what is promised now must be in its answer."""
        number = len(self.moments)
        while self._schedule and self._schedule[0].step == number:
            self._happens(self._schedule[0].action)
            self._schedule = self._schedule[1:]
        self.asked.append(len(self.worlds) - 1)
        self._begins = True

    def wrote(self, what: str) -> None:
        """A question has changed something, which none may."""
        self.writes.append(what)

    def _happens(self, action: Action) -> None:
        changed = action(self.world)
        if changed is None:
            raise CannotHappenError(action.__name__)
        self.world = changed
        self.worlds.append(changed)
        self.lines.append(f"       {told(action)}")
