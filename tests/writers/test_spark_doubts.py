"""What Spark's native sink leaves open, with a real query: how it read, which topic, and what it passed over.

None of it is in the checkpoint, and all of it used to be called exact.
"""

from __future__ import annotations

import time

import pytest

from federation.boundary import boundary_cache as cache
from federation.boundary.evidence import settling
from federation.errors import IsolationMismatchError, TopicReplacedError
from tests.builders import Lake, delete_records, delete_topic, make_topic, produce
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import Player, StagedLake
from tests.writers.happenings import ROWS, abort, send

pytestmark = pytest.mark.kafka

ISOLATION = "kafka.isolation.level"


@pytest.fixture
def made(lake: MakeLake) -> StagedLake:
    fresh = lake(partitions=1, schema=ROWS)
    return fresh.having(checkpointLocation=str(fresh.directory / "query"))


def stream(writer: StagedSpark, lake: Lake, **source: str) -> None:
    """Let the query take what the topic holds now, by the source's own defaults where nothing is said."""
    source = {
        "kafka.bootstrap.servers": lake.bootstrap,
        "subscribe": lake.topic,
        ISOLATION: "read_uncommitted",
        **{key.replace("_", "."): value for key, value in source.items()},
    }
    writer.stream(
        lake.directory / "catalog.db",
        table=lake.table,
        checkpoint=str(lake.directory / "query"),
        schema="seq long",
        source=source,
    )


def told(lake: Lake, **options: str) -> tuple[int, str, list[str]]:
    """Rows of the answer, how sure it is, and what it assumes."""
    scan = lake.open(**options).scan()
    rows = scan.to_arrow().num_rows
    found = scan.receipt.to_dict()
    return rows, found["boundary"]["confidence"], found["assumed"]


def test_aborted_records_that_the_default_isolation_has_written_are_named(
    made: StagedLake, spark_writer: StagedSpark
) -> None:
    send(made, range(20), partition=0)
    abort(made, range(900, 950), partition=0)
    send(made, range(20, 30), partition=0)
    stream(spark_writer, made)
    send(made, range(30, 35), partition=0)

    # What is played has the times of its recording, but markers of transactions are of now.
    is_played = isinstance(made.stage, Player)
    topic, sure = ("same_topic", "estimated") if is_played else ("record_times", "proven")
    assert told(made) == (85, "estimated", [topic, "writer_isolation"])
    assert told(made, **{ISOLATION: "read_uncommitted"}) == (85, sure, [topic])
    with pytest.raises(IsolationMismatchError):
        made.open(**{ISOLATION: "read_committed"}).cut()


def test_without_transactions_the_isolation_is_no_question(
    made: StagedLake, spark_writer: StagedSpark
) -> None:
    send(made, range(20), partition=0)
    stream(spark_writer, made)
    send(made, range(20, 25), partition=0)

    assert told(made) == (25, "proven", ["record_times"])


@pytest.mark.parametrize("after_ms", [0, 120_000], ids=["at once", "minutes later"])
def test_a_topic_made_anew_and_longer_is_never_exact(
    made: StagedLake, spark_writer: StagedSpark, after_ms: int
) -> None:
    send(made, range(30), partition=0)
    stream(spark_writer, made)
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic, partitions=1)
    now_ms = made.stage.time_ms() or int(time.time() * 1000)
    rows = [{"seq": seq} for seq in range(100)]
    produce(made.bootstrap, made.topic, rows, timestamp_ms=now_ms + after_ms)

    if after_ms:
        with pytest.raises(TopicReplacedError, match="younger than snapshot"):
            made.open().cut()
    else:
        assert told(made) == (100, "estimated", ["same_topic"])


def test_a_hole_that_the_query_has_passed_is_named(made: StagedLake, spark_writer: StagedSpark) -> None:
    send(made, range(20), partition=0)
    stream(spark_writer, made)
    send(made, range(20, 40), partition=0)
    delete_records(made.bootstrap, made.topic, {0: 30})
    stream(spark_writer, made, failOnDataLoss="false")
    cache._found.clear()
    settling._settled.clear()
    settling._counted.clear()

    rows, confidence, assumed = told(made, **{ISOLATION: "read_uncommitted"})

    assert (rows, confidence) == (30, "estimated")
    assert "offsets_without_rows" in assumed
