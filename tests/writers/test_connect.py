"""Tables that the real Iceberg Kafka Connect sink fills, read exactly at each of its commits.

The sink's snapshots hold offsets of its control topic, which look like a boundary and are none; only
the sink itself can show that the control topic is understood, through rebalances, idle partitions,
aborted transactions, a killed worker and a restart. One worker runs the sinks of all tests of a file.
"""

from __future__ import annotations

import uuid

import pytest
from pyiceberg.table.snapshots import Snapshot

from federation.boundary.connect.connect_resolver import COMMIT_ID
from federation.errors import BoundaryUnknownError
from tests.builders import add_partitions, delete_records
from tests.conftest import MakeLake
from tests.exactness import assert_exact_at_every_snapshot, seqs
from tests.fixtures.staged_writers import StagedWorker
from tests.writers.happenings import ROWS, abort, send
from tests.writers.sink import METADATA, POSITION, WITH_POSITION, Sink, forget

# What the sinks of these tests read, and nothing in a table says while no transaction has been committed.
COMMITTED = {"kafka.isolation.level": "read_committed"}

pytestmark = pytest.mark.kafka


def test_a_killed_worker_idle_partitions_and_aborted_records(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(partitions=3, schema=ROWS).having(**COMMITTED)
    send(made, range(100), partition=0)
    abort(made, range(900, 910), partition=1)
    send(made, range(100, 150), partition=1)
    with Sink(worker, made, control_partitions=2) as sink:
        sink.wait_for_rows(150)
        send(made, range(150, 200), partition=0)
        sink.wait_for_rows(200)
        send(made, range(200, 230), partition=1)
        worker.kill()
        worker.run()
        sink.put()
        send(made, range(230, 250), partition=0)
        sink.wait_for_rows(250)
    abort(made, range(910, 915), partition=0)
    send(made, range(250, 260), partition=1)

    snapshots = assert_exact_at_every_snapshot(made, seqs(range(260)), resolver="connect")
    assert len(snapshots) >= 3

    # Partition 2 never had a record, and once the control topic's beginning is gone nothing
    # tells whether the sink had read some.
    told = min(event.partition for event in sink.events())
    delete_records(made.bootstrap, sink.control, {told: 1})
    forget()

    with pytest.raises(BoundaryUnknownError, match=r"is gone, and what is left does not tell partitions"):
        made.open().cut()


def test_rebalances_a_clean_restart_and_a_new_partition(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(partitions=2, schema=ROWS)
    with Sink(worker, made, control_partitions=2, tasks=1) as sink:
        send(made, range(50), partition=0)
        send(made, range(50, 80), partition=1)
        sink.wait_for_rows(80)
        sink.put(tasks=3)
        send(made, range(80, 120), partition=1)
        send(made, range(120, 130), partition=0)
        sink.wait_for_rows(130)
        add_partitions(made.bootstrap, made.topic, 4)
        send(made, range(130, 160), partition=3)
        sink.wait_for_rows(160)
        sink.remove()
        send(made, range(160, 170), partition=0)
        sink.put(tasks=2)
        send(made, range(170, 180), partition=2)
        sink.wait_for_rows(180)
    send(made, range(180, 190), partition=3)

    snapshots = assert_exact_at_every_snapshot(made, seqs(range(190)), resolver="connect")
    assert len(snapshots) >= 4
    assert {round_of(snapshot) for snapshot in snapshots} <= {event.commit_id for event in sink.events()}


def round_of(snapshot: Snapshot) -> bytes:
    assert snapshot.summary is not None
    return uuid.UUID(snapshot.summary.additional_properties[COMMIT_ID]).bytes


def test_rows_with_kafka_columns_and_tombstones_on_both_sides(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=WITH_POSITION).having(kafkaColumns=POSITION, tombstones="skip")
    send(made, range(10), partition=0)
    send(made, [None, None], partition=0)
    send(made, range(10, 15), partition=1)
    send(made, [None], partition=1)
    with Sink(worker, made, more=METADATA) as sink:
        sink.wait_for_rows(15)
        send(made, [*range(15, 20), None], partition=0)
        sink.wait_for_rows(20)
    send(made, [None, *range(20, 25), None], partition=1)

    places = [(seq, 0, seq if seq < 10 else seq - 3) for seq in [*range(10), *range(15, 20)]]
    places += [(seq, 1, seq - 10 if seq < 15 else seq - 13) for seq in [*range(10, 15), *range(20, 25)]]
    assert_exact_at_every_snapshot(
        made,
        places,
        columns=("seq", "_kafka_metadata_partition", "_kafka_metadata_offset"),
        resolver="connect",
    )
