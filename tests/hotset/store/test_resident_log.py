"""Whatever happens to a log and to what is kept of it, a reading has each record of its cut once, or fails.

The log is in memory, and chunks are real files. Histories are random: the log grows, changes its leader and
loses its end, chunks are lost, joined and evicted, processes begin anew, and older cuts are read again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from hotset.errors import HotReadTimeoutError, KafkaUnavailableError, LogTruncatedError
from hotset.kafka.offsets import OffsetRange
from hotset.store import housekeeping
from hotset.store.background_tasks import WRITES
from hotset.store.chunk import Chunk
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.housekeeping import Chore, tidy
from hotset.store.leases import lease_chunks
from hotset.store.log_folder import LogFolder
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_log import HotRows, ResidentLog
from tests.hotset.store.pieces import SCHEMA, places_of, rows_in
from tests.hotset.store.small_log import Cut, SmallLog


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Little is much: tails, chunks and times are small."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", 8)
    monkeypatch.setattr("hotset.store.resident_log.LARGE_ROWS", 25)
    monkeypatch.setattr("hotset.store.coverage.LARGE_ROWS", 40)
    monkeypatch.setattr("hotset.store.coverage.JOINED", 3)
    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    yield
    assert WRITES.settle(60.0)


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
    assert (found.counts.bad, [(b.partition, b.offset) for b in found.counts.first_bad]) == (
        len(bad),
        bad[:5],
    )
    assert found.counts.newest_ms == max((place.offset for place in cut.records), default=None)


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


def _nothing() -> None:
    """Nothing happens."""


@pytest.mark.parametrize("seed", range(40))
def test_a_reading_has_each_record_of_its_cut_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    history = History(seed, tmp_path, monkeypatch)

    for _ in range(30):
        history.turn()

    assert history.answers > 30


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> SmallLog:
    """A log of two partitions with something in them."""
    made = SmallLog(2).plant(monkeypatch)
    made.append(0, 100)
    made.append(1, 60)
    return made


def chunks_of(found: HotRows) -> list[Chunk]:
    return [part.chunk for part in found.parts]


def test_what_was_read_is_read_once(tmp_path: Path, topic: SmallLog) -> None:
    log, cut = ResidentLog(a_folder(tmp_path)), topic.cut()

    assert read(log, topic, cut)[1].records_fetched == len(cut.records)
    found, meter = read(log, topic, cut)

    check(found, cut)
    assert (meter.records_fetched, meter.records_resident) == (0, len(cut.records))


def test_all_rows_are_in_chunks_if_somebody_wants_them_there(tmp_path: Path, topic: SmallLog) -> None:
    log = ResidentLog(a_folder(tmp_path))
    read(log, topic, topic.cut())
    topic.append(0, 3)

    found, _ = read(log, topic, topic.cut(), as_chunks=True)

    assert found.tail == ()
    check(found, topic.cut())


def test_without_room_nothing_is_kept_and_nothing_is_missing(tmp_path: Path, topic: SmallLog) -> None:
    folder = a_folder(tmp_path, limit=1)
    log = ResidentLog(folder)

    for as_chunks in (False, True):
        found, meter = read(log, topic, topic.cut(), as_chunks=as_chunks)
        check(found, topic.cut())
        assert (found.parts, meter.records_resident) == ((), 0)


def test_chunks_that_go_while_others_are_read_are_read_again(tmp_path: Path, topic: SmallLog) -> None:
    folder = a_folder(tmp_path)
    log = ResidentLog(folder)
    read(log, topic, topic.cut(), as_chunks=True)
    topic.append(0, 30)

    def lose() -> None:
        for each in folder.chunks():
            folder.remove(each)

    topic.happens = lose
    found, _ = read(log, topic, topic.cut())

    check(found, topic.cut())


def test_what_kafka_does_not_answer_is_asked_once(tmp_path: Path, topic: SmallLog) -> None:
    asked = []

    def refuse() -> None:
        asked.append(1)
        raise KafkaUnavailableError("no broker answers")

    topic.happens = refuse
    with pytest.raises(KafkaUnavailableError):
        read(ResidentLog(a_folder(tmp_path)), topic, topic.cut())

    assert len(asked) == 1


def test_a_reading_that_fails_leaves_what_was_there_to_the_next(tmp_path: Path, topic: SmallLog) -> None:
    log, before = ResidentLog(a_folder(tmp_path)), topic.cut()
    read(log, topic, before)
    topic.append(0, 500)
    left = iter(range(3))

    def fail() -> None:
        if next(left, None) is None:
            raise KafkaUnavailableError("the broker went")

    topic.happens = fail
    with pytest.raises(KafkaUnavailableError):
        read(log, topic, topic.cut())
    topic.happens = _nothing

    found, meter = read(log, topic, topic.cut())
    check(found, topic.cut())
    assert meter.records_fetched <= len(topic.cut().records) - len(before.records)


def test_leaders_that_are_not_known_vouch_for_nothing(tmp_path: Path, topic: SmallLog) -> None:
    folder = a_folder(tmp_path)
    log = ResidentLog(folder)
    topic.knows_epochs = False

    for _ in range(2):
        found, meter = read(log, topic, topic.cut(), as_chunks=True)
        check(found, topic.cut())
        assert meter.records_fetched == len(topic.cut().records)
    assert folder.chunks() == []


def test_what_an_older_cut_reads_is_nothing_that_a_later_leader_wrote(
    tmp_path: Path, topic: SmallLog
) -> None:
    log, older = ResidentLog(a_folder(tmp_path)), topic.cut()
    topic.lead(0, keeping=50)
    topic.append(0, 80)
    check(read(log, topic, topic.cut(), as_chunks=True)[0], topic.cut())

    with pytest.raises(LogTruncatedError):
        read(log, topic, older)


def test_a_chunk_that_was_cut_off_goes_unless_it_is_under_a_lease(tmp_path: Path, topic: SmallLog) -> None:
    folder = a_folder(tmp_path)
    log = ResidentLog(folder)
    before = chunks_of(read(log, topic, topic.cut(), as_chunks=True)[0])
    lease_chunks(folder.space.root, [before[0].path.stem], 60)
    for partition in (0, 1):
        topic.lead(partition, keeping=10)
        topic.append(partition, 200)

    found, _ = read(log, topic, topic.cut())

    check(found, topic.cut())
    assert set(before) & set(folder.chunks()) == {before[0]}


def test_chunks_of_two_leaders_are_not_one(tmp_path: Path, topic: SmallLog) -> None:
    """A statement that begins behind what was cut off does not ask for it, and nobody vouches for it."""
    folder = a_folder(tmp_path)
    log = ResidentLog(folder)
    read(log, topic, topic.cut(), as_chunks=True)
    topic.lead(0, keeping=90)
    topic.append(0, 30)
    for end in (105, 110, 115, 120):
        later = Cut((OffsetRange(0, 100, end),), {0: 1}, [])
        log.read(topic.source(later), later.ranges, ReadMeter(), as_chunks=True)

    tidy(Chore(folder, "", SCHEMA, {}))

    check(read(log, topic, topic.cut())[0], topic.cut())


def test_many_who_ask_at_once_are_answered_by_one_reading(tmp_path: Path, topic: SmallLog) -> None:
    log, cut = ResidentLog(a_folder(tmp_path)), topic.cut()
    together = threading.Barrier(16)

    def ask(_: int) -> int:
        together.wait()
        found, meter = read(log, topic, cut)
        check(found, cut)
        return meter.records_fetched

    with ThreadPoolExecutor(16) as pool:
        fetched = sum(pool.map(ask, range(16)))

    assert fetched == len(cut.records)


def test_who_waits_is_read_for_under_the_same_leader_only(tmp_path: Path, topic: SmallLog) -> None:
    log, early = ResidentLog(a_folder(tmp_path)), topic.cut()
    asked: list[OffsetRange] = []
    real = topic.fetch

    def fetch(source: object, ranges: list[OffsetRange], meter: ReadMeter) -> object:
        asked.extend(ranges)
        return real(source, ranges, meter)  # type: ignore[arg-type]

    pytest.MonkeyPatch().setattr("hotset.store.resident_log.fetch_rows", fetch)
    topic.append(0, 20)
    log._asked = {(0, 0): 120, (1, 7): 500}

    check(read(log, topic, early)[0], early)

    assert sorted(asked) == [OffsetRange(0, 0, 120), OffsetRange(1, 0, 60)]


def test_waiting_for_another_reading_ends_at_the_deadline(tmp_path: Path, topic: SmallLog) -> None:
    log, cut = ResidentLog(a_folder(tmp_path)), topic.cut()
    with log._lock, pytest.raises(HotReadTimeoutError, match="another statement was still reading"):
        log.read(topic.source(cut, timeout_ms=50), cut.ranges, ReadMeter())


def test_waiting_for_another_reading_ends_when_the_guard_says_so(tmp_path: Path, topic: SmallLog) -> None:
    def stop() -> None:
        raise KeyError("stopped")

    log, cut = ResidentLog(a_folder(tmp_path)), topic.cut()
    with log._lock, pytest.raises(KeyError, match="stopped"):
        log.read(topic.source(cut, guard=stop), cut.ranges, ReadMeter())


def test_what_becomes_a_chunk_later_is_read_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, topic = a_folder(tmp_path), SmallLog(1).plant(monkeypatch)
    log, go_on = ResidentLog(folder), threading.Event()
    topic.append(0, 12)
    assert WRITES.settle(60.0)
    assert WRITES.take(go_on.wait)
    for _ in range(3):
        check(read(log, topic, topic.cut())[0], topic.cut())
        topic.append(0, 2)
    assert folder.chunks() == []

    go_on.set()
    assert WRITES.settle(60.0)

    found, meter = read(log, topic, topic.cut())
    check(found, topic.cut())
    assert len(chunks_of(found)) == 1
    assert meter.records_fetched <= 2


def test_a_chore_that_fails_keeps_no_other_waiting(
    tmp_path: Path, topic: SmallLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, chore = housekeeping.Keeper(), Chore(a_folder(tmp_path), "a", SCHEMA, {})
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    with monkeypatch.context() as patch:
        patch.setattr(housekeeping, "tidy", lambda _chore: {}["nothing"])
        keeper.note(chore)
        assert keeper.settle()
    assert WRITES.settle(60.0)
    done = threading.Event()
    monkeypatch.setattr(housekeeping, "tidy", lambda _chore: done.set())

    keeper.note(replace(chore, starts={0: 1}))

    assert done.wait(60.0)
    assert keeper.settle()
    assert told == [KeyError]
