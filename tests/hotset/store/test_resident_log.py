"""Each record of a cut is read once, whatever goes meanwhile, and whoever asks at the same time.

The log is in memory, and chunks are real files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hotset.errors import HotReadTimeoutError, KafkaUnavailableError, LogTruncatedError
from hotset.kafka.offsets import OffsetRange
from hotset.store import housekeeping
from hotset.store.background_tasks import WRITES
from hotset.store.chunk import Chunk
from hotset.store.hot_rows import Rows
from hotset.store.housekeeping import Chore, tidy
from hotset.store.leases import lease_chunks
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_log import HotRows, ResidentLog
from hotset.store.row_source import RowSource
from tests.hotset.store.pieces import SCHEMA
from tests.hotset.store.small_log import Cut, SmallLog, a_folder, check, read

pytestmark = pytest.mark.usefixtures("small")


def _nothing() -> None:
    """Nothing happens."""


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


def test_who_waits_is_read_for_under_the_same_leader_only(
    tmp_path: Path, topic: SmallLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, early = ResidentLog(a_folder(tmp_path)), topic.cut()
    asked: list[OffsetRange] = []

    def fetch(source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter) -> Iterator[Rows]:
        asked.extend(ranges)
        return topic.fetch(source, ranges, meter)

    monkeypatch.setattr("hotset.store.resident_log.fetch_rows", fetch)
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
