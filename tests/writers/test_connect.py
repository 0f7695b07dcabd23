"""Tables that the real Iceberg Kafka Connect sink fills, read exactly at each of its commits.

The sink's snapshots hold offsets of its control topic, which look like a boundary and are none; only
the sink itself can show that the control topic is understood, through idle partitions, aborted
transactions, a killed worker and a restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from federation.errors import BoundaryUnknownError
from stack.connect import ConnectSink
from tests.builders import HANG_S, Lake, delete_records, make_topic, produce, wait_until
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


def start_sink(lake: Lake, folder: Path) -> ConnectSink:
    return ConnectSink.start(
        folder,
        bootstrap=lake.bootstrap,
        topic=lake.topic,
        control_topic=f"control.{lake.topic}",
        catalog_file=lake.directory / "catalog.db",
        table=lake.table,
    )


def send(lake: Lake, seqs: range, *, partition: int) -> None:
    produce(lake.bootstrap, lake.topic, [{"seq": seq} for seq in seqs], partition=partition)


def abort(lake: Lake, seqs: range, *, partition: int) -> None:
    producer = Producer({"bootstrap.servers": lake.bootstrap, "transactional.id": lake.topic, "log_level": 0})
    producer.init_transactions(HANG_S)
    producer.begin_transaction()
    for seq in seqs:
        producer.produce(lake.topic, json.dumps({"seq": seq}).encode(), partition=partition)
    producer.flush(HANG_S)
    producer.abort_transaction(HANG_S)


def has_rows(lake: Lake, count: int) -> Callable[[], bool]:
    return lambda: lake.load().scan().count() >= count


def test_the_union_is_exact_at_every_commit_of_the_sink(lake: MakeLake, tmp_path: Path) -> None:
    made = lake(partitions=3, schema=ROWS)
    make_topic(made.bootstrap, f"control.{made.topic}", partitions=2)
    send(made, range(100), partition=0)
    abort(made, range(900, 910), partition=1)
    send(made, range(100, 150), partition=1)
    with start_sink(made, tmp_path / "first") as sink:
        wait_until(has_rows(made, 150), "the first records to be committed", 120)
        send(made, range(150, 200), partition=0)
        wait_until(has_rows(made, 200), "more records to be committed", 120)
        send(made, range(200, 230), partition=1)
        sink.kill()
    with start_sink(made, tmp_path / "second"):
        send(made, range(230, 250), partition=0)
        wait_until(has_rows(made, 250), "the new worker to go on", 240)
    abort(made, range(910, 915), partition=0)
    send(made, range(250, 260), partition=1)

    snapshots = made.load().snapshots()
    for snapshot in snapshots:
        scan = made.open(**{"snapshot-id": str(snapshot.snapshot_id)}).scan()

        assert sorted(scan.to_arrow()["seq"].to_pylist()) == list(range(260))
        assert scan.receipt.boundary is not None
        assert scan.receipt.boundary["resolver"] == "connect"
    assert len(snapshots) >= 3

    assert_a_control_topic_cut_short_is_an_error(made)


def assert_a_control_topic_cut_short_is_an_error(made: Lake) -> None:
    # Partition 2 never had a record, and once the control topic's beginning is gone nothing
    # tells whether the sink had read some.
    from federation.boundary import connect

    connect._found.clear()
    delete_records(made.bootstrap, f"control.{made.topic}", {0: 1})

    with pytest.raises(
        BoundaryUnknownError, match=r"is gone, and what is left does not tell partitions \[2\]"
    ):
        made.open().cut()
