"""Tables that real Spark Structured Streaming queries fill, read exactly at each of their commits.

The marks that Spark leaves in summaries and checkpoints are Spark's own business; only Spark itself
can show that the resolver still understands them. One Spark program runs the queries of all tests.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import LessThan
from pyiceberg.table.snapshots import Snapshot

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID
from federation.errors import BoundaryUnknownError
from stack.errors import StackError
from tests.builders import Lake
from tests.conftest import MakeLake
from tests.exactness import assert_exact_at_every_snapshot, seqs
from tests.fixtures.staged_writers import StagedSpark
from tests.writers.happenings import ROWS, abort, compact, send, send_in_transaction

# What the queries of these tests read; a table says so only where transactions have left a trace in it.
COMMITTED = {"kafka.isolation.level": "read_committed"}

pytestmark = pytest.mark.kafka

POSITION = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
KAFKA_COLUMNS = "partition=kafka_partition,offset=kafka_offset"
SELECT = "v.*, partition AS kafka_partition, offset AS kafka_offset"


def stream(
    spark_writer: StagedSpark,
    lake: Lake,
    query: str = "first",
    source: Mapping[str, str] | None = None,
    **request: object,
) -> None:
    """Let a query take what the topic holds now."""
    source = {"kafka.bootstrap.servers": lake.bootstrap, **(source or {"subscribe": lake.topic})}
    spark_writer.stream(
        lake.directory / "catalog.db",
        table=lake.table,
        checkpoint=str(lake.directory / query),
        schema="seq long",
        source=source,
        **request,
    )


def having_checkpoints(lake: Lake, *queries: str) -> Lake:
    return lake.having(checkpointLocation=",".join(str(lake.directory / query) for query in queries))


def epoch_of(snapshot: Snapshot) -> str | None:
    assert snapshot.summary is not None
    return snapshot.summary.additional_properties.get(SPARK_EPOCH_ID)


def test_restarts_and_aborted_records(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(partitions=3, schema=ROWS), "first").having(**COMMITTED)
    send(made, range(100), partition=0)
    abort(made, range(900, 920), partition=1)
    send_in_transaction(made, range(100, 150), partition=1)
    stream(spark_writer, made)
    send(made, range(150, 200), partition=0)
    abort(made, range(920, 930), partition=1)
    stream(spark_writer, made)
    send(made, range(200, 210), partition=1)

    snapshots = assert_exact_at_every_snapshot(made, seqs(range(210)), resolver="spark")
    assert len(snapshots) > 3


def test_an_epoch_that_is_planned_and_not_committed(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=ROWS), "first")
    send(made, range(50), partition=0)
    stream(spark_writer, made)
    send(made, range(50, 70), partition=1)
    with pytest.raises(StackError):
        stream(spark_writer, made, where="assert_true(v.seq < 50) IS NULL")
    planned = {path.name for path in (made.directory / "first" / "offsets").iterdir() if path.name.isdigit()}
    assert max(map(int, planned)) > int(epoch_of(made.load().snapshots()[-1]) or 0)
    assert_exact_at_every_snapshot(made, seqs(range(70)), resolver="spark")

    stream(spark_writer, made)
    assert_exact_at_every_snapshot(made, seqs(range(70)), resolver="spark")
    assert made.load().scan().count() == 70

    # The sink has committed an epoch and Spark has not noted it: the epoch is planned again, and skipped.
    committed = sorted((made.directory / "first" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    committed[-1].unlink()
    (committed[-1].parent / f".{committed[-1].name}.crc").unlink()
    send(made, range(70, 80), partition=0)
    stream(spark_writer, made)
    send(made, range(80, 85), partition=0)
    assert_exact_at_every_snapshot(made, seqs(range(85)), resolver="spark")


def test_epochs_without_rows_and_commits_of_others(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=ROWS), "first").having(**COMMITTED)
    send(made, range(30), partition=0)
    stream(spark_writer, made)
    abort(made, range(900, 910), partition=1)
    stream(spark_writer, made)
    assert [epoch_of(snapshot) for snapshot in made.load().snapshots()] == ["0", "1"]
    compact(made.load())
    send(made, range(30, 40), partition=1)
    stream(spark_writer, made)
    made.load().delete(LessThan("seq", 5))
    send(made, range(40, 45), partition=0)
    deleted = made.load().snapshots()[-1].snapshot_id

    assert_exact_at_every_snapshot(
        made, lambda at: seqs(range(5 if at.snapshot_id == deleted else 0, 45)), resolver="spark"
    )


def test_an_epoch_that_is_rolled_back_is_an_error_once_the_query_goes_on(
    lake: MakeLake, spark_writer: StagedSpark
) -> None:
    made = having_checkpoints(lake(schema=ROWS), "first")
    send(made, range(20), partition=0)
    stream(spark_writer, made)
    first = made.load().snapshots()[0].snapshot_id
    send(made, range(20, 30), partition=0)
    stream(spark_writer, made)
    made.load().manage_snapshots().rollback_to_snapshot(first).commit()
    assert_exact_at_every_snapshot(made, seqs(range(30)), resolver="spark")

    send(made, range(30, 35), partition=0)
    stream(spark_writer, made)
    with pytest.raises(BoundaryUnknownError, match=r"epoch 1 .* is not in the history"):
        made.open().cut()
    assert made.load().scan().count() == 25


def test_two_queries_of_different_partitions(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=ROWS), "first", "second")
    send(made, range(40), partition=0)
    send(made, range(40, 60), partition=1)
    stream(spark_writer, made, "first", source={"assign": json.dumps({made.topic: [0]})})
    stream(spark_writer, made, "second", source={"assign": json.dumps({made.topic: [1]})})
    send(made, range(60, 70), partition=0)
    stream(spark_writer, made, "first", source={"assign": json.dumps({made.topic: [0]})})
    send(made, range(70, 75), partition=1)

    assert_exact_at_every_snapshot(made, seqs(range(75)), resolver="spark")
    with pytest.raises(BoundaryUnknownError, match="none of the given checkpoints is its own"):
        having_checkpoints(made, "second").open().cut()


def test_a_query_that_takes_over_from_another(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=ROWS), "first", "second", "third")
    send(made, range(40), partition=0)
    send(made, range(40, 60), partition=1)
    stream(spark_writer, made, "first")
    send(made, range(60, 70), partition=0)
    ends = json.dumps({made.topic: {"0": 40, "1": 20}})
    stream(spark_writer, made, "second", source={"subscribe": made.topic, "startingOffsets": ends})
    send(made, range(70, 75), partition=1)
    assert_exact_at_every_snapshot(
        having_checkpoints(made, "first", "second"), seqs(range(75)), resolver="spark"
    )

    stream(spark_writer, made, "third")
    with pytest.raises(BoundaryUnknownError, match="twice"):
        made.open().cut()


def test_epochs_that_the_checkpoint_has_dropped(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=POSITION), "first")
    for start in range(0, 100, 20):
        send(made, range(start, start + 20), partition=0)
        stream(spark_writer, made, select=SELECT, epochs_kept=2)
    send(made, range(100, 110), partition=1)
    kept = {path.name for path in (made.directory / "first" / "offsets").iterdir()}
    dropped = [s.snapshot_id for s in made.load().snapshots() if epoch_of(s) not in kept]
    assert 0 < len(dropped) < len(made.load().snapshots())

    assert_exact_at_every_snapshot(made, seqs(range(110)), resolver="spark", unknown=dropped)
    assert_exact_at_every_snapshot(made.having(kafkaColumns=KAFKA_COLUMNS), seqs(range(110)))


def test_what_a_checkpoint_cannot_tell_is_an_error(
    lake: MakeLake, spark_writer: StagedSpark, tmp_path: Path
) -> None:
    made, other = lake(schema=ROWS), lake(schema=ROWS)
    send(made, range(20), partition=0)
    stream(spark_writer, made)
    send(other, range(20, 30), partition=0)
    copied = shutil.copytree(made.directory / "first", tmp_path / "copy")
    offsets = copied / "offsets" / "0"
    offsets.write_text(offsets.read_text().replace("v1", "v2", 1))
    with pytest.raises(BoundaryUnknownError, match="version v2, and only v1 is known"):
        made.open(checkpointLocation=str(copied)).cut()

    stream(spark_writer, made, "second", source={"subscribe": other.topic})
    with pytest.raises(BoundaryUnknownError, match=other.topic):
        having_checkpoints(made, "first", "second").open().cut()

    both = having_checkpoints(lake(schema=ROWS), "both")
    send(both, range(10), partition=0)
    stream(spark_writer, both, "both", source={"subscribe": f"{both.topic},{other.topic}"})
    with pytest.raises(BoundaryUnknownError, match=other.topic):
        both.open().cut()


def test_a_foreach_batch_writer_leaves_no_mark(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = having_checkpoints(lake(schema=POSITION), "first")
    send(made, range(30), partition=0)
    stream(spark_writer, made, select=SELECT, is_native=False)
    send(made, range(30, 35), partition=1)

    with pytest.raises(BoundaryUnknownError, match="nothing says which records"):
        made.open().cut()
    assert_exact_at_every_snapshot(
        made.having(kafkaColumns=KAFKA_COLUMNS), seqs(range(35)), resolver="columns"
    )
