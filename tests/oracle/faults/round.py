"""One injection of one fault: the worlds it makes, the questions it asks, and how the answers were judged.

Everything random comes from the round's own generator, so a seed and a number say which round it was. A
round never forgives: a wrong answer is kept with its explanation, and a fault that never heals is wrong too.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from federation.cut.take import take_cut
from pipeline.freeze import commit
from tests.builders import EVENTS, clip, new_lake, stage_rows
from tests.oracle import comparators, engines, ways
from tests.oracle.checker import Asked, Observed, Score, Verdict
from tests.oracle.faults.arena import Arena
from tests.oracle.faults.door import Door
from tests.oracle.shapes import split_by_split
from tests.oracle.world import World

SCHEMA = EVENTS.append(pa.field("kafka_partition", pa.int32())).append(pa.field("kafka_offset", pa.int64()))
COLUMNS = "partition=kafka_partition,offset=kafka_offset"
HEAL_S = 60.0

Ask = Callable[[ways.Lake], Observed]


@dataclass
class Row:
    """What one kind of fault has come to so far."""

    injections: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def answers(self) -> int:
        return self.verdicts.total()


class Round:
    """One injection of one fault."""

    def __init__(self, arena: Arena, row: Row, others: dict[str, Row], name: str) -> None:
        self.arena = arena
        self.row = row
        self.others = others
        self.name = name
        self.rng = random.Random(name)
        self._held: list[tuple[World, Asked, Row]] = []
        self._reached: dict[tuple[str, int], int] = {}
        self._frozen_over: set[str] = set()

    def world(self, *, partitions: int = 2, bootstrap: str | None = None, **topic_config: str) -> World:
        """An empty table over an empty topic; the table keeps partition and offset of its rows."""
        where = bootstrap or self.arena.broker.bootstrap
        directory = Path(tempfile.mkdtemp(dir=self.arena.directory))
        made = new_lake(where, directory, partitions=partitions, schema=SCHEMA, **topic_config)
        return World(made.having(kafkaColumns=COLUMNS))

    def bare_world(self) -> World:
        """An empty table over an empty topic; nothing of Kafka is in its rows."""
        directory = Path(tempfile.mkdtemp(dir=self.arena.directory))
        return World(new_lake(self.arena.broker.bootstrap, directory))

    def begun(self, **how: Any) -> World:
        """A world with some records frozen and some not, in amounts that only the seed knows."""
        here = self.world(**how)
        for partition in (0, 1):
            here.fill(self.rng.randint(3, 12), partition)
        self.freeze(here, {p: self.rng.randint(1, here.journal.end_of(p)) for p in (0, 1)})
        return here

    def some(self, here: World) -> None:
        """A few more records."""
        here.fill(self.rng.randint(1, 6), self.rng.randint(0, 1))

    def freeze(self, here: World, ends: Mapping[int, int] | None = None) -> int:
        """Commit what is hot; like most writers, note it in a consumer group before the table has it."""
        if not _is_strict(here):
            self._frozen_over.add(here.journal.run)
        staged = stage_rows(clip(take_cut(here.lake.merged()), ends or {}))
        places = [TopicPartition(here.lake.topic, r.partition, r.end) for r in staged.taken.cut.ranges]
        writer = Consumer(
            {"bootstrap.servers": here.lake.bootstrap, "group.id": here.lake.topic, "log_level": 0}
        )
        writer.commit(offsets=places, asynchronous=False)
        writer.close()
        return commit(staged)

    def inject(self, happens: Callable[[], object] = lambda: None) -> None:
        """Count an injection, and make it."""
        self.row.injections += 1
        happens()

    @contextmanager
    def patching(self) -> Iterator[pytest.MonkeyPatch]:
        with pytest.MonkeyPatch.context() as patch:
            yield patch

    def ask(
        self, here: World, chosen: Mapping[str, Ask] | None = None, *, compares: bool = True
    ) -> list[Score]:
        """Ask each way now and judge at once; nothing may be being sent."""
        scores = [
            self._score(self.row, here, here.oracle.ask(way, lambda ask=ask: ask(here.lake)))
            for way, ask in (self.ways(here) if chosen is None else chosen).items()
        ]
        self._require_no_way_back(here, scores)
        if compares and chosen is None:
            self.compare(here)
        return scores

    def cut_back(self) -> None:
        """The log itself has gone back, so answers may."""
        self._reached.clear()

    def _require_no_way_back(self, here: World, scores: list[Score]) -> None:
        # One answer after the other, so none may end before the one it came after.
        for score in scores:
            seen = score.asked.outcome
            ends = seen.ends if isinstance(seen, Observed) else None
            for partition, end in (ends or {}).items():
                key = (here.journal.run, partition)
                self.require(end >= self._reached.get(key, 0), f"{score} goes back to {end}")
                self._reached[key] = max(end, self._reached.get(key, 0))

    def expect(self, here: World, verdict: Verdict, chosen: Mapping[str, Ask] | None = None) -> None:
        """Ask, where only one verdict will do: a rightful answer that should be none is as wrong."""
        for score in self.ask(here, chosen):
            if score.verdict not in (verdict, Verdict.WRONG):
                self._is_wrong(f"{score} where only '{verdict}' will do")

    def compare(self, here: World) -> None:
        """Ask the comparators, who have a row of their own each."""
        asks: dict[str, Ask] = {
            "group offset as boundary": comparators.group_offset,
            "largest offset as boundary": comparators.column_max,
        }
        if self.arena.has_spark and self.rng.random() < self.arena.by_hand_share:
            asks["Spark Kafka source and Iceberg by hand"] = lambda lake: comparators.by_hand(
                self.arena.spark, lake
            )
        for way, ask in asks.items():
            asked = here.oracle.ask(way, lambda ask=ask: ask(here.lake))
            row = self.others.setdefault(way, Row())
            if isinstance(asked.outcome, Exception):
                row.verdicts[Verdict.DECLARED] += 1  # any error is one: nobody promised types
            else:
                self._score(row, here, asked)

    def meanwhile(
        self, here: World, happens: Callable[[], object], *, askers: int = 2, pause_s: float = 0.02
    ) -> None:
        """Ask over and over while something happens; judge when it is over and all outcomes are known."""
        over = threading.Event()
        asked: list[tuple[World, Asked, Row]] = []

        def keep_asking(seed: int) -> None:
            rng = random.Random(seed)
            while not over.wait(pause_s):
                way, ask = rng.choice(list(self.ways(here).items()))
                asked.append((here, here.oracle.ask(way, lambda ask=ask: ask(here.lake)), self.row))

        with ThreadPoolExecutor(askers) as pool:
            askings = [pool.submit(keep_asking, self.rng.random().__hash__()) for _ in range(askers)]
            try:
                self.inject(happens)
            finally:
                over.set()
            for asking in askings:
                asking.result()
        self._held.extend(asked)

    def settle(self) -> None:
        """Judge what was asked while records were being sent."""
        held, self._held = self._held, []
        for here, asked, row in held:
            self._score(row, here, asked)

    def heals(self, here: World) -> None:
        """After the fault, an answer must be right within a time."""
        self.settle()
        until = time.monotonic() + HEAL_S
        while True:
            score = here.oracle.score("library", lambda: ways.library(here.lake))
            if score.verdict is not Verdict.DECLARED or time.monotonic() > until:
                break
            time.sleep(0.2)
        self._count(self.row, score)
        if score.verdict is Verdict.DECLARED:
            self._is_wrong(f"does not heal within {HEAL_S:g} s: {score}")
        state = here.lake.load().metadata_location
        self.ask(here)
        self.require(here.lake.load().metadata_location == state, "questions have changed the table")

    def ways(self, here: World) -> dict[str, Ask]:
        """Library, engine and gateway; pyiceberg through the catalog; Spark where it is, now and then."""
        door = Door(here.lake)
        chosen: dict[str, Ask] = {
            "library": ways.library,
            "split by split": split_by_split,
            "library, its cut again": lambda lake: ways.library(lake, lake.open().cut()),
            "engine": ways.engine,
            "engine, self-union": ways.engine_twice,
            "gateway": door.ask,
            "gateway, JSON": door.ask_json,
            "catalog": engines.catalog,
        }
        # Spark shows no receipt, so what was accepted or assumed could not be told from a loss.
        is_whole = _is_strict(here) and here.journal.run not in self._frozen_over
        is_whole = is_whole and not here.oracle.unknowable
        if self.arena.has_spark and is_whole and self.rng.random() < self.arena.spark_share:
            chosen["spark"] = lambda lake: ways.spark(self.arena.spark, lake)
        if self.arena.has_spark and self.rng.random() < self.arena.spark_share:
            chosen["spark, its own reader"] = lambda lake: engines.spark_table(self.arena.spark, lake)
        return chosen

    def _score(self, row: Row, here: World, asked: Asked) -> Score:
        score = here.oracle.judge(asked)
        self._count(row, score)
        return score

    def _count(self, row: Row, score: Score) -> None:
        row.verdicts[score.verdict] += 1
        if score.verdict is Verdict.WRONG:
            row.wrong.append(f"{self.name}: {score}")
        elif score.verdict is Verdict.DECLARED:
            row.errors[type(score.asked.outcome).__name__] += 1

    def require(self, holds: bool, otherwise: str) -> None:
        """Whatever must hold besides the answers; it counts as a wrong answer if it does not."""
        if not holds:
            self._is_wrong(otherwise)

    def _is_wrong(self, why: str) -> None:
        self.row.verdicts[Verdict.WRONG] += 1
        self.row.wrong.append(f"{self.name}: {why}")


def _is_strict(here: World) -> bool:
    return here.lake.extra.get("failOnDataLoss") != "false"
