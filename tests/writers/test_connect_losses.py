"""Rows that the real sink loses for good, and what is still known of it once maintenance has run.

A coordinator that passes over what tasks have said in the control topic commits none of their files, and
their offsets are committed all the same. Expiry takes away the commit that shows it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from pyiceberg.expressions import LessThan

from federation.boundary.connect import control_topic
from federation.errors import BoundaryUnknownError, OffsetGapError
from stack.connect import ConnectWorker
from tests.builders import HANG_S, Lake, admin, delete_records, make_topic, unique, wait_until
from tests.conftest import MakeLake
from tests.federation.query_story import expire
from tests.fixtures.staged_writers import StagedWorker
from tests.fixtures.stages import Live
from tests.writers.happenings import ROWS, compact, send
from tests.writers.sink import Sink

pytestmark = [pytest.mark.kafka, pytest.mark.long]


@pytest.fixture
def stage() -> Live:
    """The sink itself: nobody can play what happens to a catalog that nobody can write to."""
    return Live()


@pytest.fixture
def worker(stage: Live, connect_program: ConnectWorker) -> StagedWorker:
    return StagedWorker(stage, connect_program)


@contextmanager
def no_commits(lake: Lake) -> Iterator[None]:
    """Let nobody write to the catalog, which may be read."""
    connection = sqlite3.connect(lake.directory / "catalog.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def pass_over(sink: Sink) -> None:
    """Let the sink's coordinator go on behind all that was said, as one does that begins at the end."""
    group, end = f"connect-{sink.name}-coord", max(event.offset for event in sink.events()) + 1
    place = ConsumerGroupTopicPartitions(group, [TopicPartition(sink.control, 0, end)])
    client = admin(sink.lake.bootstrap)

    def is_set() -> bool:
        told = client.alter_consumer_group_offsets([place])[group].result(HANG_S).topic_partitions
        return len(told) == 1 and not told[0].error

    wait_until(is_set, f"offsets of {group} to be set")


@pytest.fixture
def lossy(lake: MakeLake, worker: StagedWorker) -> Lake:
    """A table that lacks twenty of its records; their files are in storage, and in no snapshot."""
    made = lake(schema=ROWS)
    control = make_topic(made.bootstrap, unique("control"), partitions=1)
    sink = Sink(worker, made, control=control, tasks=1)
    with no_commits(made):
        sink.put()
        send(made, range(20), partition=0)
        wait_until(lambda: sum(event.rows for event in sink.events()) == 20, "the rows to be announced")
        worker.kill()
    pass_over(sink)
    worker.run()
    with sink:
        send(made, range(20, 30), partition=0)
        sink.wait_for_rows(10)
        send(made, range(30, 35), partition=0)
        sink.wait_for_rows(15)
    assert sorted(made.load().scan().to_arrow()["seq"].to_pylist()) == list(range(20, 35))
    return made


def test_a_loss_stays_known_when_the_commit_that_shows_it_is_gone(lossy: Lake) -> None:
    with pytest.raises(BoundaryUnknownError, match="added 10 rows, and the sink had announced 30"):
        lossy.open().cut()

    forget(lossy)

    with pytest.raises(BoundaryUnknownError, match=r"announced 35 rows, .* 15 of them, .* in no snapshot"):
        lossy.open().cut()

    # Whoever takes the files away takes the proof, and what is missing is still named.
    for file in data_files(lossy):
        if str(file) not in live_files(lossy):
            file.unlink()
    assert told(lossy) == (15, "estimated", ["offsets_without_rows"])


def test_rows_that_people_deleted_are_no_loss(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    with Sink(worker, made) as sink:
        send(made, range(20), partition=0)
        sink.wait_for_rows(20)
        made.load().delete(LessThan("seq", 5))
        send(made, range(20, 30), partition=0)
        sink.wait_for_rows(25)
        compact(made.load())
        send(made, range(30, 40), partition=0)
        sink.wait_for_rows(35)
    forget(made)
    send(made, range(40, 45), partition=0)

    assert told(made) == (40, "estimated", ["offsets_without_rows"])


def test_what_was_only_rewritten_stays_exact(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    with Sink(worker, made) as sink:
        send(made, range(20), partition=0)
        sink.wait_for_rows(20)
        compact(made.load())
        send(made, range(20, 30), partition=0)
        sink.wait_for_rows(30)
    forget(made)

    assert told(made) == (30, "exact", [])


def test_a_hole_that_the_sink_has_passed_is_named(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(partitions=1, schema=ROWS)
    with Sink(worker, made) as sink:
        send(made, range(20), partition=0)
        sink.wait_for_rows(20)
    send(made, range(20, 40), partition=0)
    delete_records(made.bootstrap, made.topic, {0: 30})
    with pytest.raises(OffsetGapError):
        made.open().cut()
    with sink:
        sink.wait_for_rows(30)

    assert told(made) == (30, "estimated", ["offsets_without_rows"])


def forget(lake: Lake) -> None:
    """Leave nothing but the last commit, in the table and in this process."""
    expire(lake)
    control_topic._known.clear()


def data_files(lake: Lake) -> list[Path]:
    return [Path(path) for path in lake.directory.rglob("*.parquet")]


def live_files(lake: Lake) -> set[str]:
    return {str(path).removeprefix("file:") for path in lake.load().inspect.files()["file_path"].to_pylist()}


def told(lake: Lake) -> tuple[int, str, list[str]]:
    """Rows of the answer, how sure it is, and what it assumes if the isolation is stated."""
    scan = lake.open(**{"kafka.isolation.level": "read_committed"}).scan()
    rows = scan.to_arrow().num_rows
    found = scan.receipt.to_dict()
    return rows, found["boundary"]["confidence"], found["assumed"]
