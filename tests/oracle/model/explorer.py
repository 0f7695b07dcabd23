"""Ask the real code in a world that moves, and find every schedule of moves that makes a difference.

A schedule says which actions happen before which steps of the question. Two of them after which the question
has seen the same and stands in the same world cannot come out differently, so one of them is run. An action
that a step cannot see might as well happen after it, so it is not tried before it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final

import pytest

import coldset.table.ancestry_proof
import coldset.table.catalog
import federation.boundary.boundary_cache
import federation.plan
import federation.read.split_reader
import hotset.decode.payloads
import hotset.kafka.client
import hotset.kafka.pending
from hotset.native.availability import PURE
from tests.oracle.model.actions import successors
from tests.oracle.model.catalog import entries_of, manifests_of
from tests.oracle.model.edges import Clock, Edges, decode
from tests.oracle.model.judge import Fault, Invariant, judge, judge_error
from tests.oracle.model.run import Moment, Planned, Run, Schedule
from tests.oracle.model.state import World
from tests.oracle.model.ways import OURS, Answer, Way, twice
from tests.oracle.model.worlds import Given

Plant = Callable[[pytest.MonkeyPatch, Edges], None]


# By their names in `sys.modules`: a package may have a function of a module's name.
_TIMED: Final = (
    "federation.table",
    "federation.cut.take",
    "hotset.kafka.log_bounds",
    "hotset.kafka.client",
    "foundation.deadline",
    "hotset.drain.drain_ranges",
)


@dataclass
class Outcome:
    """One run: what it answered, and what was wrong with that."""

    run: Run
    answers: tuple[Answer, ...]
    error: Exception | None
    faults: tuple[Fault, ...]


class Explorer:
    """The edges in place of the network, with or without a bug planted above them; use as a context."""

    def __init__(self, plant: Plant | None = None) -> None:
        self._plant = plant
        self._patch = pytest.MonkeyPatch()
        self._edges = Edges(Clock())
        self._still: dict[tuple[Way, World], tuple[tuple[Answer, ...], tuple[Fault, ...]]] = {}

    def __enter__(self) -> Explorer:
        put, edges = self._patch.setattr, self._edges
        _forget_clients()
        self._patch.setenv(PURE, "1")  # the edges stand for what Python sees of librdkafka
        put(hotset.kafka.client, "_construct", edges.construct)
        put(hotset.kafka.pending, "wait", lambda _futures, _timeout: SimpleNamespace(not_done=()))
        put(coldset.table.catalog, "load_catalog", edges.load_catalog)
        put(coldset.table.ancestry_proof, "manifests_of", manifests_of)
        put(coldset.table.ancestry_proof, "entries_of", entries_of)
        put(federation.plan, "plan_cold", edges.plan_cold)
        put(federation.plan, "plan_matching", lambda _pinned, _where: None)  # it only counts files
        put(federation.read.split_reader, "read_cold", edges.read_cold)
        put(hotset.decode.payloads, "decoder_for", lambda *_, **__: decode)
        for name in _TIMED:
            put(sys.modules[name], "time", edges.clock)
        if self._plant is not None:
            self._plant(self._patch, edges)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        _forget_clients()

    def run(self, way: Way, start: World, schedule: Schedule = ()) -> Outcome:
        """Ask on this schedule, and judge what is answered."""
        run = self._edges.run = Run(start, schedule)
        # Snapshots and topics of other runs have the same numbers: what is known of one must help no other.
        federation.boundary.boundary_cache._found.clear()
        hotset.kafka.client._connect.cache_clear()
        answers: list[Answer] = []
        faults: list[Fault] = []
        error: Exception | None = None
        try:
            for answer in way(self._edges, start, run.asks):
                run.step("has its answer", _whole)
                answers.append(answer)
                faults.extend(judge(answer, run.worlds[run.asked[-1] :]))
        except Exception as exc:  # noqa: BLE001 - judged: it is wrong unless it is declared
            error = exc
            run.lines.append(f"query: ends with {type(exc).__name__}: {exc}")
            # A comparator may give up where an answer exists: that is no wrong answer.
            is_still = way in OURS and len(run.worlds) - 1 == run.asked[-1]
            faults.extend(judge_error(exc, world=run.world if is_still else None))
        faults.extend(Fault(Invariant.READ_ONLY, f"the question left {what}") for what in run.writes)
        if way is twice and len({tuple(sorted(a.rows)) for a in answers}) > 1:
            faults.append(Fault(Invariant.ONE_CUT, "the same table has other rows in the same statement"))
        faults.extend(_falls_back(answers))
        run.step("is over", _whole)
        return Outcome(run, tuple(answers), error, tuple(faults))

    def afterwards(self, way: Way, outcome: Outcome) -> tuple[Fault, ...]:
        """Ask afresh in the world that is left and now stands still, and judge that too."""
        world = outcome.run.world
        if (way, world) not in self._still:
            fresh = self.run(way, world)
            self._still[way, world] = fresh.answers[:1], fresh.faults
        answers, faults = self._still[way, world]
        return (*faults, *_falls_back((*outcome.answers[-1:], *answers)))


class Trail:
    """All schedules from one past that differ in what can be seen, by their number of actions."""

    def __init__(self, explorer: Explorer, way: Way, given: Given, depth: int) -> None:
        self._explorer, self._way, self._given, self._depth = explorer, way, given, depth
        self._known: set[Hashable] = set()
        self._pending: list[dict[Hashable, tuple[Schedule, int]]] = [{None: ((), 1)}]
        self._pending.extend({} for _ in range(depth))

    def layer(self, actions: int) -> Iterator[Tried]:
        """Run those of so many actions; to be called for 0, 1, 2 … in turn."""
        layer, self._pending[actions] = self._pending[actions], {}
        start = self._given.world
        for key, (schedule, times) in layer.items():
            if key in self._known:
                continue
            self._known.add(key)
            tried = Tried(self._explorer.run(self._way, start, schedule), schedule, times)
            yield tried
            for longer, schedule_ in _longer(tried, self._depth - actions):
                others = self._pending[len(schedule_)]
                first, count = others.get(longer, (schedule_, 0))
                others[longer] = (first, count + 1)


@dataclass(frozen=True)
class Tried:
    """A schedule that was run, and how many came to the same."""

    outcome: Outcome
    schedule: Schedule
    times: int


def _forget_clients() -> None:
    hotset.kafka.client._connect.cache_clear()
    coldset.table.catalog._open.cache_clear()


def _whole(world: World) -> World:
    return world


def _longer(tried: Tried, more: int) -> Iterator[tuple[Hashable, Schedule]]:
    """Schedules that go on from this one with up to so many actions before one later step.

    An action that a step cannot see may as well happen after it, so the last action before a step must
    change what that step looks at.
    """
    first = tried.schedule[-1].step + 1 if tried.schedule else 0
    for step, moment in enumerate(tried.outcome.run.moments[first:], first):
        grown = [((), (moment.world,))]
        for _ in range(more):
            grown = [
                ((*actions, Planned(step, action)), (*worlds, changed))
                for actions, worlds in grown
                for action, changed in successors(worlds[-1])
            ]
            for actions, worlds in grown:
                if moment.begins or moment.view(worlds[-1]) != moment.view(worlds[-2]):
                    key = moment.seen, worlds[-1], _judged(moment, worlds[1:])
                    yield key, (*tried.schedule, *actions)


def _judged(moment: Moment, worlds: tuple[World, ...]) -> Hashable:
    # What the judge looks at beside the last world: the one in which it was asked, and those since.
    if moment.begins:
        return None
    since = (*moment.since, *worlds)
    if worlds[-1].accepts_gaps:
        return since
    return since[0], frozenset((world.head, world.topic) for world in since)


def _falls_back(answers: Sequence[Answer]) -> Iterator[Fault]:
    for before, after in itertools.pairwise(answers):
        behind = [p for p, end in before.ends.items() if after.ends.get(p, 0) < end]
        if before.topic == after.topic and behind:
            text = f"a later answer ends before an earlier one in partitions {behind}"
            yield Fault(Invariant.MONOTONE, text)
