"""Whatever happens to a log and to what is kept of it, a reading has each record of its cut once, or fails.

The log is in memory, and chunks are real files. Histories are random: the log grows, changes its leader and
loses its end, chunks are lost, joined and evicted, processes begin anew, and older cuts are read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from hotset.errors import LogTruncatedError
from hotset.store.background_tasks import WRITES
from hotset.store.housekeeping import Chore, tidy
from hotset.store.resident_log import ResidentLog
from tests.hotset.store.pieces import SCHEMA
from tests.hotset.store.small_log import Cut, SmallLog, a_folder, check, read

pytestmark = pytest.mark.usefixtures("small")


def _nothing() -> None:
    """Nothing happens."""


class History:
    """What happens to a log, its chunks and its readers, by chance."""

    def __init__(self, seed: int, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self.chance = Random(seed)
        self.topic = SmallLog(3, self.chance).plant(patch)
        self.folder = a_folder(directory, self.chance.choice([1, 9_000, 40_000, 1 << 24]))
        self.log = ResidentLog(self.folder)
        self.starts: dict[int, int] = {}
        self.older: list[Cut] = []
        self.answers = 0
        self.refused = 0

    def turn(self) -> None:
        action = self.chance.choice(
            [self.append] * 4
            + [self.lead, self.lose, self.age, self.commit, self.begin_anew, self.tidy, self.settle]
        )
        action()
        self.ask(self.topic.cut(self.starts), self.chance.choice([self.lose_all, _nothing, _nothing]))
        if self.older:
            self.ask(self.chance.choice(self.older), _nothing)

    def ask(self, cut: Cut, meanwhile: Callable[[], object]) -> None:
        if self.chance.random() < 0.2:
            cut = self.narrowed(cut)
        self.topic.happens = meanwhile
        try:
            found, _ = read(self.log, self.topic, cut, as_chunks=self.chance.random() < 0.3)
        except LogTruncatedError:
            self.refused += 1
        else:
            self.answers += 1
            check(found, cut)
        self.topic.happens = _nothing
        self.older.append(cut)

    def narrowed(self, cut: Cut) -> Cut:
        """The cut of somebody who asks for some partitions and offsets only."""
        ranges = []
        for each in cut.ranges:
            start = self.chance.randrange(each.start, each.end)
            ranges.append(replace(each, start=start, end=self.chance.randrange(start, each.end) + 1))
        some = tuple(each for each in ranges if self.chance.random() < 0.7)
        inside = [
            p for p in cut.records if any(p[0] == r.partition and r.start <= p[1] < r.end for r in some)
        ]
        return Cut(some, cut.epochs, inside)

    def append(self) -> None:
        self.topic.append(self.chance.randrange(3), self.chance.choice([1, 3, 9, 60]))

    def lead(self) -> None:
        partition = self.chance.randrange(3)
        end = self.topic.ends[partition]
        lowest = min(end, self.starts.get(partition, 0))
        self.topic.lead(partition, self.chance.choice([None, self.chance.randrange(lowest, end + 1)]))

    def lose(self) -> None:
        chunks = self.folder.chunks()
        for each in self.chance.sample(chunks, min(len(chunks), 1)):
            each.path.unlink(missing_ok=True)

    def age(self) -> None:
        for each in self.folder.chunks():
            os.utime(each.path, times=(1, 1))

    def lose_all(self) -> None:
        for each in self.folder.chunks():
            each.path.unlink(missing_ok=True)

    def commit(self) -> None:
        partition = self.chance.randrange(3)
        end = self.topic.ends[partition]
        self.starts[partition] = self.chance.randrange(min(end, self.starts.get(partition, 0)), end + 1)

    def begin_anew(self) -> None:
        self.log = ResidentLog(self.folder)

    def tidy(self) -> None:
        self.folder.path.mkdir(parents=True, exist_ok=True)
        tidy(Chore(self.folder, "", SCHEMA, dict(self.starts)))

    def settle(self) -> None:
        assert WRITES.settle(60.0)


@pytest.mark.parametrize("seed", range(30))
def test_a_reading_has_each_record_of_its_cut_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    history = History(seed, tmp_path, monkeypatch)

    for _ in range(30):
        history.turn()

    assert history.answers > 30
