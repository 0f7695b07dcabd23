"""A topic in memory in the place of Kafka: its log grows, changes its leader, and loses its end.

It answers the two questions that the store asks of a cluster: for the records of ranges, and whether a log
still has the history that an older leader had. Nothing here knows what is kept.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from foundation.deadline import Deadline
from hotset.errors import LogTruncatedError
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits
from hotset.store.hot_rows import Rows
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.log_folder import LogFolder
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_log import HotRows, ResidentLog
from hotset.store.row_source import RowSource
from tests.hotset.store.pieces import SCHEMA, Place, piece, places_of, rows_in, told


def _nothing(*_: object) -> None:
    """Has no objection, and sees nothing."""


@dataclass(frozen=True)
class Cut:
    """What is to be read, under which leaders, and what was there when it was taken."""

    ranges: tuple[OffsetRange, ...]
    epochs: Mapping[int, int]
    records: list[Place] = field(repr=False)


class SmallLog:
    """Partitions with an end and a history of leaders, each from an offset on."""

    def __init__(self, partitions: int, chance: Random | None = None) -> None:
        self.ends = [0] * partitions
        self.leaders: list[list[tuple[int, int]]] = [[(0, 0)] for _ in range(partitions)]
        self.happens: Callable[[], object] = _nothing
        self.knows_epochs = True
        self._chance = chance or Random(0)

    def plant(self, patch: pytest.MonkeyPatch) -> SmallLog:
        """Be what the store reads."""
        patch.setattr("hotset.store.resident_log.fetch_rows", self.fetch)
        patch.setattr("hotset.store.resident_log.is_same_history", self.is_same_history)
        return self

    def append(self, partition: int, count: int) -> None:
        self.ends[partition] += count

    def lead(self, partition: int, keeping: int | None = None) -> None:
        """Have another leader, which may lack the end of the log."""
        leaders, end = self.leaders[partition], self.ends[partition]
        self.ends[partition] = min(end, end if keeping is None else keeping)
        after = leaders[-1][1] + 1
        leaders[:] = [each for each in leaders if each[0] < self.ends[partition] or each[1] == 0]
        leaders.append((self.ends[partition], after))

    def writer(self, partition: int, offset: int) -> int:
        leaders = self.leaders[partition]
        return leaders[bisect.bisect_right(leaders, (offset, 1 << 60)) - 1][1]

    def epoch(self, partition: int) -> int:
        return self.leaders[partition][-1][1] if self.knows_epochs else -1

    def cut(self, starts: Mapping[int, int] | None = None) -> Cut:
        """Everything from the given starts on."""
        at = starts or {}
        ranges = tuple(OffsetRange(p, min(at.get(p, 0), end), end) for p, end in enumerate(self.ends))
        wanted = tuple(each for each in ranges if not each.is_empty)
        return Cut(wanted, {p: self.epoch(p) for p in range(len(self.ends))}, told(wanted, self.writer))

    def source(
        self, cut: Cut, *, timeout_ms: int = 60_000, guard: Callable[[], None] = _nothing
    ) -> RowSource:
        nobody: Any = None
        starts = {each.partition: each.start for each in cut.ranges}
        limits = DrainLimits(memory_bytes=1 << 20, no_progress_ms=1000)
        return RowSource(
            nobody, "topic", "id", Isolation.READ_COMMITTED, cut.epochs, starts, SCHEMA, nobody, "", limits,
            Deadline.after_ms(timeout_ms), guard, _nothing,
        )  # fmt: skip

    def fetch(self, source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter) -> Iterator[Rows]:
        """Instead of Kafka: parts of one or more partitions, of a few offsets each."""
        for each in ranges:
            self._require(source, each)
        at = {each.partition: each for each in ranges}
        while at:
            some = []
            for partition in self._chance.sample(sorted(at), self._chance.randrange(1, len(at) + 1)):
                left = at.pop(partition)
                end = min(left.end, left.start + self._chance.randrange(1, 12))
                some.append(OffsetRange(partition, left.start, end))
                if end < left.end:
                    at[partition] = OffsetRange(partition, end, left.end)
            part = piece(*some, writer=self.writer)
            part = Rows(
                part.ranges, {r.partition: source.epochs[r.partition] for r in some}, part.rows, part.others,
                newest_ms=part.newest_ms,
            )  # fmt: skip
            meter.records_fetched += part.counts.records
            self.happens()
            yield part

    def is_same_history(
        self, _client: Any, _topic: str, place: tuple[str, int, int, int, int], _by: Any
    ) -> bool:
        """Whether a leader's log, as it is now, reaches as far as it was read."""
        _, partition, end, epoch, _ = place
        later = [start for start, leader in self.leaders[partition] if leader > epoch]
        return min(later, default=self.ends[partition]) >= end

    def _require(self, source: RowSource, wanted: OffsetRange) -> None:
        epoch = source.epochs[wanted.partition]
        place = ("id", wanted.partition, wanted.end, epoch, 0)
        if 0 <= epoch < self.epoch(wanted.partition) and not self.is_same_history(None, "", place, None):
            raise LogTruncatedError("the log was cut back")
        assert wanted.end <= self.ends[wanted.partition], "nobody asks for what is not there"


def a_folder(directory: Path, limit: int = 1 << 24) -> LogFolder:
    store = open_store(StoreSettings(str(directory / "store"), limit))
    assert store is not None
    return LogFolder(store.space, store.folder / "a-log")


def read(
    log: ResidentLog, topic: SmallLog, cut: Cut, *, as_chunks: bool = False
) -> tuple[HotRows, ReadMeter]:
    meter = ReadMeter()
    return log.read(topic.source(cut), cut.ranges, meter, as_chunks=as_chunks), meter


def check(found: HotRows, cut: Cut) -> None:
    """What was found is what was there when the cut was taken, and counted rightly."""
    parts = [*rows_in(found.parts), *found.tail]
    assert places_of(parts) == cut.records
    assert found.counts.rows == sum(isinstance(place.what, int) for place in cut.records)
    assert found.counts.tombstones == sum(place.what is None for place in cut.records)
    bad = [place[:2] for place in cut.records if place.what == "bad"]
    assert found.counts.bad == len(bad)
    assert [(each.partition, each.offset) for each in found.counts.first_bad] == bad[:5]
    assert found.counts.newest_ms == max((place.offset for place in cut.records), default=None)
