"""Drains that read ahead on a real broker: the same records and errors as without, and nothing left behind.

Each test runs over both ways of taking records. What one lane does is tested in `test_lanes.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foundation.deadline import Deadline
from hotset.drain import reader_threads
from hotset.drain.drain_ranges import drain
from hotset.drain.reader_threads import _Lane
from hotset.errors import HotReadTimeoutError, OffsetOutOfRangeError
from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.offsets import OffsetRange
from hotset.kafka.record_source import DrainLimits
from stack import KafkaBroker
from tests.builders import delete_records, make_topic, produce, unique
from tests.clock import clock_of
from tests.hotset.reading import COMMITTED, chunks_of, everything

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("way")]

ROOT = Path(__file__).parents[3]
PARTITIONS = 3
RECORDS = 4000
SMALL = DrainLimits(chunk_rows=500)


def go_on() -> None:
    """Has no objection."""


def lanes() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hot-lane"]


def until(holds: Callable[[], bool]) -> None:
    deadline = Deadline.after_ms(20_000)
    while not holds():
        assert not deadline.has_passed
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert lanes() == []


@pytest.fixture(scope="module")
def client(broker: KafkaBroker) -> KafkaClient:
    return connect({"bootstrap.servers": broker.bootstrap})


@pytest.fixture(scope="module")
def topic(broker: KafkaBroker) -> str:
    made = make_topic(broker.bootstrap, unique("lanes"), partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        produce(broker.bootstrap, made, [b"%d" % n for n in range(RECORDS)], partition=partition)
    return made


def ranges() -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(partition, partition, RECORDS) for partition in range(PARTITIONS))


def test_several_lanes_give_each_record_once_and_in_the_order_of_its_partition(
    client: KafkaClient, topic: str, way: str
) -> None:
    seen: dict[int, list[int]] = {partition: [] for partition in range(PARTITIONS)}
    most = 0

    for chunk in chunks_of(client, topic, *ranges(), limits=SMALL):
        most = max(most, len(lanes()))
        assert chunk.num_rows <= SMALL.chunk_rows
        for row in chunk.to_pylist():
            assert row["value"] == b"%d" % row["offset"]
            seen[row["partition"]].append(row["offset"])

    assert seen == {partition: list(range(partition, RECORDS)) for partition in range(PARTITIONS)}
    assert most == (min(PARTITIONS, len(os.sched_getaffinity(0))) if way == "native" else 1)


def test_a_short_read_needs_no_thread(client: KafkaClient, topic: str) -> None:
    for _ in chunks_of(client, topic, OffsetRange(0, 0, 400), OffsetRange(1, 0, 100), limits=SMALL):
        assert lanes() == []


def test_a_drain_that_is_left_or_stopped_leaves_no_thread_and_no_consumer(
    client: KafkaClient, topic: str
) -> None:
    handles = _librdkafka_threads()

    def stop_later() -> None:
        if len(taken) == 2:
            raise InterruptedError

    for guard in (go_on, stop_later):
        taken: list[int] = []
        batches = drain(client, topic, ranges(), COMMITTED, Deadline.after_ms(60_000), SMALL, guard=guard)
        taken.append(next(batches).num_rows)
        taken.append(next(batches).num_rows)
        if guard is go_on:
            del batches
        else:
            with pytest.raises(InterruptedError):
                list(batches)
        assert lanes() == []
    until(lambda: _librdkafka_threads() <= handles)


def _librdkafka_threads() -> int:
    return sum(_name_of(task).startswith("rdk:") for task in Path("/proc/self/task").iterdir())


def _name_of(task: Path) -> str:
    try:
        return (task / "comm").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return ""


def test_an_error_of_one_partition_is_the_error_of_the_read(client: KafkaClient, broker: KafkaBroker) -> None:
    topic = make_topic(broker.bootstrap, unique("lanes"), partitions=2)
    for partition in (0, 1):
        produce(broker.bootstrap, topic, [b"v"] * RECORDS, partition=partition)
    delete_records(broker.bootstrap, topic, {1: 100})

    with pytest.raises(OffsetOutOfRangeError) as caught:
        list(chunks_of(client, topic, OffsetRange(0, 0, RECORDS), OffsetRange(1, 50, RECORDS), limits=SMALL))

    assert caught.value.details["partition"] == 1
    assert lanes() == []


def test_a_deadline_that_passes_while_a_batch_is_used_ends_the_read(
    client: KafkaClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_of(monkeypatch, "foundation.deadline")
    batches = drain(client, topic, ranges(), COMMITTED, Deadline.after_ms(60_000), DrainLimits(chunk_rows=10))
    next(batches)
    clock.jump(60)

    with pytest.raises(HotReadTimeoutError, match="60000 ms were not enough"):
        list(batches)


def test_time_that_the_taker_needs_is_no_silence_of_kafka(
    client: KafkaClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_of(monkeypatch, "hotset.drain.drain_ranges")
    made: list[_Lane] = []
    monkeypatch.setattr(reader_threads, "_Lane", lambda *what: made.append(_Lane(*what)) or made[-1])
    limits = DrainLimits(chunk_rows=2000, no_progress_ms=60_000)
    rows = 0

    for chunk in chunks_of(client, topic, *ranges(), limits=limits):
        rows += chunk.num_rows
        # Who is reading still would be right to call this a silence.
        until(lambda: all(lane.batch is not None or lane.is_done for lane in made))
        clock.jump(61)

    assert made
    assert rows == sum(r.span for r in ranges())


def test_a_child_that_is_forked_after_a_read_reads_too(
    client: KafkaClient, broker: KafkaBroker, topic: str
) -> None:
    assert everything(client, topic, *ranges(), limits=SMALL).num_rows
    assert lanes() == []

    child = os.fork()
    if child == 0:
        try:
            own = connect({"bootstrap.servers": broker.bootstrap})
            rows = everything(own, topic, *ranges(), limits=SMALL).num_rows
            os._exit(0 if rows == sum(r.span for r in ranges()) else 1)
        finally:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


AT_THE_END = """
    import sys, threading, time
    from foundation.deadline import Deadline
    from hotset.drain import drain
    from hotset.kafka import DrainLimits, Isolation, OffsetRange, connect

    client = connect({{"bootstrap.servers": {bootstrap!r}}})
    ranges = tuple(OffsetRange(p, 0, {records}) for p in range({partitions}))
    limits = DrainLimits(chunk_rows=100)
    batches = drain(client, {topic!r}, ranges, Isolation.READ_COMMITTED, Deadline.after_ms(60_000), limits)
"""
ABANDONED = """
    print(next(batches).num_rows, flush=True)
"""
GOES_ON = """
    def read():
        while threading.main_thread().is_alive():
            time.sleep(0.01)
        print(sum(batch.num_rows for batch in batches), flush=True)

    threading.Thread(target=read).start()
"""


@pytest.mark.parametrize(
    ("ending", "told"), [(ABANDONED, 100), (GOES_ON, PARTITIONS * RECORDS)], ids=["abandoned", "goes on"]
)
def test_the_end_of_a_process_waits_for_those_who_read_and_for_nobody_else(
    broker: KafkaBroker, topic: str, ending: str, told: int
) -> None:
    start = AT_THE_END.format(bootstrap=broker.bootstrap, topic=topic, records=RECORDS, partitions=PARTITIONS)
    script = textwrap.dedent(start) + textwrap.dedent(ending)

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{told}\n", "")
