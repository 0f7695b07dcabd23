"""One behaviour, whatever kind of writer filled the table.

Each writer here leaves a different mark of what it has committed; the union must come out the same,
at every snapshot that is still in the table, and what no mark explains must be an error.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from federation.boundary.flink import FLINK_CHECKPOINT_ID, FLINK_JOB_ID, FLINK_OPERATOR_ID
from federation.boundary.redpanda.redpanda_resolver import REDPANDA_MARK
from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.errors import BoundaryUnknownError
from pipeline.errors import FreezeOptionError
from pipeline.freeze import freeze_once
from stack import KafkaBroker
from stack.redpanda import RedpandaProxy
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake
from tests.exactness import assert_exact_at_every_snapshot
from tests.federation.boundary.foreign_commits import (
    ROWS,
    append,
    commit_and_declare,
    declared,
    held,
    send,
)
from tests.federation.flink_encoder import SourceOperator, encode_metadata

pytestmark = pytest.mark.kafka


@dataclass(frozen=True)
class Writer:
    """How a kind of writer commits the records of both partitions up to some end."""

    name: str
    commit: Callable[[Lake, dict[int, int]], None]
    options: Callable[[Lake], dict[str, str]]


def commit_with_freeze(lake: Lake, ends: dict[int, int]) -> None:
    commit_until(lake.having(kafkaColumns=COLUMNS), ends)


def commit_with_columns(lake: Lake, ends: dict[int, int]) -> None:
    append(lake, held(lake), ends)


def commit_with_spark_marks(lake: Lake, ends: dict[int, int]) -> None:
    """What Spark's streaming sink leaves; the checkpoint has the layout of a real one."""
    checkpoint = lake.directory / "checkpoint"
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text('{"id":"the-query"}')
    epoch = len(list((checkpoint / "offsets").iterdir()))
    vector = json.dumps({lake.topic: {str(p): end for p, end in ends.items()}})
    (checkpoint / "offsets" / str(epoch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{vector}\n')
    append(lake, held(lake), ends, **{SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: str(epoch)})


def commit_with_flink_marks(lake: Lake, ends: dict[int, int]) -> None:
    """What Flink's sink leaves; the checkpoint has the bytes of a real one."""
    job = lake.directory / "checkpoints" / FLINK_JOB
    number = len(list(job.glob("chk-*"))) + 1
    source = SourceOperator([{(lake.topic, p): end} for p, end in ends.items()])
    (job / f"chk-{number}").mkdir(parents=True)
    (job / f"chk-{number}" / "_metadata").write_bytes(encode_metadata(number, [source], [FLINK_SINK]))
    marks = {FLINK_JOB_ID: FLINK_JOB, FLINK_CHECKPOINT_ID: str(number), FLINK_OPERATOR_ID: FLINK_SINK}
    append(lake, held(lake), ends, **marks)


@functools.cache
def redpanda() -> RedpandaProxy:
    return RedpandaProxy()


def commit_with_redpanda(lake: Lake, ends: dict[int, int]) -> None:
    """What Redpanda leaves; its proxy tells of the newest snapshot only, its columns of the others."""
    append(lake, held(lake), ends, **{REDPANDA_MARK: '{"offset":1,"cluster":"c"}'})
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    redpanda().commit(lake.topic, snapshot.snapshot_id, {p: end - 1 for p, end in ends.items()})


COLUMNS = "partition=kafka_partition,offset=kafka_offset"
FLINK_JOB, FLINK_SINK = "1f" * 16, "2e" * 16

WRITERS = [
    Writer(
        "freeze",
        commit_with_freeze,
        lambda _: {},
    ),
    Writer("columns", commit_with_columns, lambda _: {}),
    Writer(
        "spark",
        commit_with_spark_marks,
        lambda lake: {"checkpointLocation": str(lake.directory / "checkpoint")},
    ),
    Writer("redpanda", commit_with_redpanda, lambda _: {"redpandaUrl": redpanda().url}),
    Writer(
        "flink",
        commit_with_flink_marks,
        lambda lake: {"boundary": "flink", "checkpointLocation": str(lake.directory / "checkpoints")},
    ),
    Writer("declared", commit_and_declare, lambda lake: {"boundary": "declared"}),
]


def options_at(writer: Writer, lake: Lake, snapshot_id: int) -> dict[str, str]:
    own = writer.options(lake)
    if writer.name == "declared":
        own = {**own, "committedOffsets": declared(lake, snapshot_id)}
    return {"kafkaColumns": COLUMNS, **own}


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_the_union_is_exact_at_every_snapshot_of_any_writer(lake: MakeLake, writer: Writer) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10, 1: 4})
    writer.commit(made, {0: 6, 1: 4})
    send(made, {0: 5, 1: 3})
    writer.commit(made, {0: 12, 1: 4})
    send(made, {1: 2})

    expected = [(0, i, i) for i in range(15)] + [(1, i, 1000 + i) for i in range(9)]
    assert_exact_at_every_snapshot(
        made,
        expected,
        columns=["kafka_partition", "kafka_offset", "seq"],
        options_at=lambda snapshot_id: options_at(writer, made, snapshot_id),
    )


def test_a_receipt_says_which_resolver_answered_and_how_sure_it_is(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 3})
    commit_with_columns(made, {0: 2})

    scan = made.open(kafkaColumns=COLUMNS).scan()
    scan.to_arrow()

    assert scan.receipt.boundary is not None
    boundary = scan.receipt.boundary
    assert (boundary["resolver"], boundary["confidence"]) == ("columns", "proven")


def test_a_visible_record_that_the_writer_passed_over_is_an_error(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    append(made, {0: 0}, {0: 4})
    append(made, {0: 5}, {0: 8})

    with pytest.raises(BoundaryUnknownError, match="offset 4"):
        made.open(kafkaColumns=COLUMNS).cut()


def test_a_hole_of_tombstones_and_aborted_records_is_proven(broker: KafkaBroker, lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    produce(broker.bootstrap, made.topic, [{"seq": 0}, None, None, {"seq": 3}], partition=0)
    append(made, {0: 0}, {0: 1})
    append(made, {0: 3}, {0: 4})

    cut = made.open(kafkaColumns=COLUMNS).cut()

    assert [(r.start, r.end) for r in cut.ranges] == [(4, 4), (0, 0)]


def test_a_table_that_two_kinds_of_writer_fill_is_an_error_unless_the_rows_tell(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10, 1: 10})
    commit_with_spark_marks(made, {0: 5, 1: 5})
    append(made, {0: 5}, {0: 7}, **{"kafka.connect.offsets.control.connect-s": "{}"})
    checkpoint = str(made.directory / "checkpoint")

    for options in ({}, {"boundary": "spark"}, {"boundary": "connect"}):
        with pytest.raises(BoundaryUnknownError, match=r"commits of .*Spark streaming"):
            made.open(checkpointLocation=checkpoint, **options).cut()
    assert made.open(checkpointLocation=checkpoint, kafkaColumns=COLUMNS).scan().to_arrow().num_rows == 20


def test_a_recorded_boundary_tells_of_all_writers_before_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    commit_with_spark_marks(made, {0: 5})
    checkpoint = {"checkpointLocation": str(made.directory / "checkpoint")}
    commit_until(made.having(kafkaColumns=COLUMNS, **checkpoint), {0: 8})
    assert made.open(boundary="summary").cut().ranges[0].start == 8

    commit_with_spark_marks(made, {0: 9})
    with pytest.raises(BoundaryUnknownError, match=r"commits of .*Spark streaming"):
        made.open(boundary="summary").cut()


def test_a_table_of_an_unknown_writer_is_an_error_that_lists_what_was_looked_for(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    append(made, {}, {0: 5})

    with pytest.raises(BoundaryUnknownError) as raised:
        made.open().cut()

    looked = str(raised.value.details["looked"])
    for word in ("kafkaiceberg.offsets", "spark.sql.streaming.queryId", "kafkaColumns"):
        assert word in looked


@pytest.mark.spark
def test_a_freeze_refuses_a_table_that_another_writer_fills(lake: MakeLake, spark: object) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    commit_with_columns(made, {0: 5})

    with pytest.raises(FreezeOptionError, match="another writer"):
        freeze_once(spark, made.merged(kafkaColumns=COLUMNS))  # type: ignore[arg-type]
