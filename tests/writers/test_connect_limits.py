"""What a Connect sink's control topic cannot tell is an error, and what it can tell survives others.

Sinks that read several topics or write several tables, two sinks of one table, a control topic that is
cut short, held up or replaced, and commits of others between the sink's own: each with the real sink.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from pyiceberg.expressions import LessThan
from pyiceberg.table.snapshots import Snapshot

from federation.boundary.connect import CONNECT_OFFSETS_PREFIX
from federation.errors import BoundaryUnknownError, NotOneToOneError, TopicReplacedError
from tests.builders import delete_records, delete_topic, make_table, make_topic
from tests.conftest import MakeLake
from tests.exactness import assert_exact_at_every_snapshot, seqs
from tests.fixtures.staged_writers import StagedWorker
from tests.transactions import transaction
from tests.writers.happenings import ROWS, abort, compact, send
from tests.writers.sink import METADATA, POSITION, WITH_POSITION, Sink, forget

pytestmark = pytest.mark.kafka


def test_a_sink_that_reads_uncommitted_is_exact_in_its_own_terms(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    abort(made, range(900, 910), partition=0)
    with Sink(worker, made, isolation="read_uncommitted") as sink:
        sink.wait_for_rows(30)
        send(made, range(20, 30), partition=0)
        sink.wait_for_rows(40)
    abort(made, range(910, 915), partition=1)
    send(made, range(30, 40), partition=1)

    own = made.having(**{"kafka.isolation.level": "read_uncommitted"})
    assert_exact_at_every_snapshot(own, seqs(range(40), range(900, 915)), resolver="connect")


def test_an_open_transaction_on_the_control_topic_holds_nothing_up(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    with Sink(worker, made) as sink:
        sink.wait_for_rows(20)
    send(made, range(20, 30), partition=1)

    begun = [b"what a killed task had begun to say"]
    with transaction(made.bootstrap, sink.control, begun, commits=False):
        assert_exact_at_every_snapshot(made, seqs(range(30)), resolver="connect")


def test_a_control_topic_that_is_cut_short_is_exact_as_long_as_it_tells(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    send(made, range(20, 30), partition=1)
    with Sink(worker, made) as sink:
        sink.wait_for_rows(30)
        send(made, range(30, 40), partition=0)
        send(made, range(40, 50), partition=1)
        sink.wait_for_rows(50)
    send(made, range(50, 60), partition=1)
    first, *_, last = made.load().snapshots()
    reached = [control_offset(snapshot) for snapshot in (first, last)]

    delete_records(made.bootstrap, sink.control, {0: reached[0]})
    forget()
    older = [s.snapshot_id for s in made.load().snapshots() if control_offset(s) < reached[1]]
    assert_exact_at_every_snapshot(made, seqs(range(60)), resolver="connect", unknown=older)

    delete_records(made.bootstrap, sink.control, {0: reached[1]})
    forget()
    with pytest.raises(BoundaryUnknownError, match=r"does not tell partitions \[0, 1\]"):
        made.open().cut()


def test_a_control_topic_that_is_gone_is_an_error_unless_the_rows_tell(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(schema=WITH_POSITION)
    send(made, range(20), partition=0)
    with Sink(worker, made, more=METADATA) as sink:
        sink.wait_for_rows(20)
    send(made, range(20, 25), partition=1)
    delete_topic(made.bootstrap, sink.control)
    forget()

    with pytest.raises(BoundaryUnknownError, match="no control topic with events of the sink"):
        made.open(boundary="connect", kafkaColumns=POSITION).cut()
    assert_exact_at_every_snapshot(
        made.having(kafkaColumns=POSITION), seqs(range(25)), columns=["seq"], resolver="columns"
    )


def test_a_topic_that_was_made_anew_is_found_out(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    with Sink(worker, made) as sink:
        sink.wait_for_rows(20)
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic)
    send(made, range(100, 130), partition=0)
    forget()

    with pytest.raises(TopicReplacedError, match="offset 19 of partition 0"):
        made.open().cut()


def test_a_sink_of_two_topics_is_an_error_that_names_the_other(lake: MakeLake, worker: StagedWorker) -> None:
    made, other = lake(schema=WITH_POSITION), lake(schema=ROWS)
    send(made, range(10), partition=0)
    send(other, range(10, 15), partition=1)
    with Sink(worker, made, topics=[other.topic], more=METADATA) as sink:
        sink.wait_for_rows(15)

    with pytest.raises(NotOneToOneError, match=f"also reads topics .*{other.topic}"):
        made.open(kafkaColumns=POSITION.replace("topic=_kafka_metadata_topic,", "")).cut()


def test_a_sink_that_routes_a_topic_to_two_tables_is_an_error_that_names_both(
    lake: MakeLake, worker: StagedWorker
) -> None:
    schema = WITH_POSITION.append(pa.field("kind", pa.string()))
    made = lake(schema=schema)
    second = f"{made.table}_second"
    make_table(made.catalog, second, schema)
    routes = {
        "iceberg.tables.route-field": "kind",
        f"iceberg.table.{made.table}.route-regex": "a",
        f"iceberg.table.{second}.route-regex": "b",
        **METADATA,
    }
    send(made, [{"seq": i, "kind": "a"} for i in range(10)], partition=0)
    with Sink(worker, made, tables=[second], more=routes) as sink:
        sink.wait_for_rows(10)
        assert made.open(kafkaColumns=POSITION).cut().ranges[0].start == 10
        # The table stands still, and what is new is none of its own.
        send(made, [{"seq": i, "kind": "b"} for i in range(10, 20)], partition=0)
        sink.wait_for_rows(10, table=second)
    send(made, [{"seq": 20, "kind": "b"}], partition=0)

    for table, stranger in ((made.table, second), (second, made.table)):
        with pytest.raises(NotOneToOneError, match=f"{table}.*also writes to tables .*{stranger}"):
            replace(made, table=table).open(kafkaColumns=POSITION).cut()


def test_two_sinks_of_one_table_are_an_error_that_names_both(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    send(made, range(10), partition=0)
    with Sink(worker, made) as first:
        first.wait_for_rows(10)
    with Sink(worker, made, control=first.control) as second:
        second.wait_for_rows(20)

    with pytest.raises(BoundaryUnknownError, match=f"{second.name}|{first.name}"):
        made.open().cut()
    assert made.load().scan().count() == 20, "each record is in the table twice"


def test_commits_of_others_on_top_and_between(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    send(made, range(20, 30), partition=1)
    with Sink(worker, made) as sink:
        sink.wait_for_rows(30)
        made.load().delete(LessThan("seq", 5))
        send(made, range(30, 40), partition=0)
        sink.wait_for_rows(35)
        compact(made.load())
        send(made, range(40, 50), partition=1)
        sink.wait_for_rows(45)
    made.load().delete(LessThan("seq", 8))
    send(made, range(50, 55), partition=0)
    deletes = [s.snapshot_id for s in made.load().snapshots() if is_delete(s)]
    order = [s.snapshot_id for s in made.load().snapshots()]

    def expected(snapshot: Snapshot) -> list[tuple[object, ...]]:
        gone = sum(order.index(delete) <= order.index(snapshot.snapshot_id) for delete in deletes)
        return seqs(range((0, 5, 8)[gone], 55))

    snapshots = assert_exact_at_every_snapshot(made, expected, resolver="connect")
    assert len(snapshots) >= 6


def test_a_rollback_that_the_sink_does_not_know_of_is_an_error(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(schema=ROWS)
    send(made, range(20), partition=0)
    with Sink(worker, made) as sink:
        sink.wait_for_rows(20)
        send(made, range(20, 30), partition=0)
        sink.wait_for_rows(30)
        first = made.load().snapshots()[0].snapshot_id
        made.load().manage_snapshots().rollback_to_snapshot(first).commit()
        assert sorted(made.open().scan().to_arrow()["seq"].to_pylist()) == list(range(30))
        send(made, range(30, 35), partition=0)
        sink.wait_for_rows(25)

    with pytest.raises(BoundaryUnknownError, match="rows were lost, rolled back or committed twice"):
        made.open().cut()


def control_offset(snapshot: Snapshot) -> int:
    assert snapshot.summary is not None
    keys = snapshot.summary.additional_properties
    (text,) = (value for key, value in keys.items() if key.startswith(CONNECT_OFFSETS_PREFIX))
    return int(json.loads(text)["0"])


def is_delete(snapshot: Snapshot) -> bool:
    summary = snapshot.summary
    assert summary is not None
    keys = summary.additional_properties
    return int(keys.get("deleted-records", 0)) > int(keys.get("added-records", 0))
