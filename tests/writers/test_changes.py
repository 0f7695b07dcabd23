"""Changes to rows, as the real Kafka Connect sink takes them out of Debezium's envelopes, and as we do.

The same records are read once before and once after the sink has committed them, and
nobody may be able to tell the two apart.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.builders import send
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedWorker
from tests.fixtures.stages import StagedLake
from tests.hotset.changes import debezium, mysql_source, text
from tests.writers.sink import Sink

pytestmark = pytest.mark.kafka

PATTERN = "lake.{db}_{table}"
TRANSFORM = {
    "transforms": "changes",
    "transforms.changes.type": "org.apache.iceberg.connect.transforms.DebeziumTransform",
    "transforms.changes.cdc.target.pattern": PATTERN,
}
CDC = pa.struct(
    [
        ("op", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("offset", pa.int64()),
        ("source", pa.string()),
        ("target", pa.string()),
    ]
)
SCHEMA = pa.schema([("id", pa.int64()), ("note", pa.string()), ("_cdc", CDC)])
OLD, NEW = {"id": 1, "note": "old"}, {"id": 1, "note": "new"}


def capture(made: StagedLake, *, ts_ms: int) -> None:
    changes = [
        debezium("r", None, OLD, ts_ms=ts_ms),
        debezium("c", None, OLD, ts_ms=ts_ms + 1, source=mysql_source()),
        debezium("u", OLD, NEW, ts_ms=ts_ms + 2),
        debezium("d", NEW, ts_ms=ts_ms + 3),
    ]
    values = [*(text(change) for change in changes), None]
    time_ms = made.stage.time_ms()
    send(made.bootstrap, made.topic, ((b"1", value, []) for value in values), timestamp_ms=time_ms)


def test_rows_are_the_same_before_and_after_the_sink_commits_them(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(schema=SCHEMA, partitions=1).having(envelope="debezium", **{"cdc.target.pattern": PATTERN})
    capture(made, ts_ms=1_700_000_000_123)
    with Sink(worker, made, more=TRANSFORM) as sink:
        sink.wait_for_rows(4)
        capture(made, ts_ms=1_800_000_000_456)
        sink.wait_for_rows(8)
    first, *_, last = made.load().snapshots()

    half, whole = (
        sorted(made.open(**{"snapshot-id": str(s.snapshot_id)}).scan().to_arrow().to_pylist(), key=str)
        for s in (first, last)
    )

    assert half == whole
    told = [row["_cdc"] for row in whole]
    assert sorted((cdc["offset"], cdc["op"]) for cdc in told) == [
        *zip((0, 1, 2, 3, 5, 6, 7, 8), "IIUDIIUD", strict=True)
    ]
    assert made.open(**{"snapshot-id": str(first.snapshot_id)}).cut().hot_span == 5
