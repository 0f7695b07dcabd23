"""Tables whose rows say which records they are: the union is exact, or the boundary is an error.

Each test is something that happens to such tables: compaction that mixes partitions, deleted rows, rolled
back commits, transactions, writers that start late, drop tombstones or write records twice.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual

from federation.boundary.columns import holes
from federation.errors import BoundaryUnknownError, OffsetOverlapError
from hotset.errors import DecodeError
from tests.builders import Lake, commit_until, delete_records, produce
from tests.conftest import MakeLake
from tests.transactions import transaction, wait_until_ended

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
COLUMNS = {"kafkaColumns": "partition=kafka_partition,offset=kafka_offset"}


def send(lake: Lake, counts: dict[int, int]) -> None:
    for partition, count in counts.items():
        produce(lake.bootstrap, lake.topic, [{"seq": partition}] * count, partition=partition)


def append(lake: Lake, *rows: tuple[int, int], **summary: str) -> None:
    """Write one data file of these records, as any foreign writer may."""
    found = [{"seq": p, "kafka_partition": p, "kafka_offset": o} for p, o in rows]
    lake.load().append(pa.Table.from_pylist(found, schema=ROWS), snapshot_properties=summary)


def span(partition: int, start: int, end: int) -> list[tuple[int, int]]:
    return [(partition, offset) for offset in range(start, end)]


def union(lake: Lake, **options: str) -> list[tuple[int, int]]:
    rows = lake.open(**COLUMNS, **options).scan().to_arrow().to_pylist()
    return sorted((row["kafka_partition"], row["kafka_offset"]) for row in rows)


def boundary(lake: Lake, **options: str) -> dict[str, str]:
    scan = lake.open(**COLUMNS, **options).scan()
    scan.to_arrow()
    assert scan.receipt.boundary is not None
    return dict(scan.receipt.boundary)


def looked(lake: Lake) -> tuple[str, ...]:
    committed = lake.open(**COLUMNS).scan().taken.committed
    assert committed is not None
    return committed.looked


def deleted(partition: int, start: int) -> And:
    return And(EqualTo("kafka_partition", partition), GreaterThanOrEqual("kafka_offset", start))


def send_transactions(lake: Lake, count: int) -> None:
    """One record each, so that every second offset is a control record."""
    producer = Producer(
        {"bootstrap.servers": lake.bootstrap, "transactional.id": lake.topic, "log_level": 0, "linger.ms": 0}
    )
    producer.init_transactions()
    for _ in range(count):
        producer.begin_transaction()
        producer.produce(lake.topic, b'{"seq": 0}', partition=0)
        producer.commit_transaction()
    wait_until_ended(lake.bootstrap, lake.topic)


def test_the_boundary_says_which_sources_it_is_from(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 6, 1: 3})
    append(made, *span(0, 0, 3))
    append(made, *span(0, 3, 4), *span(1, 0, 2))

    assert union(made) == span(0, 0, 6) + span(1, 0, 3)
    assert "1 by manifest bounds" in boundary(made)["provenance"]
    assert "1 by reading" in boundary(made)["provenance"]


def test_files_that_compaction_has_mixed_give_the_same_boundary(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 5, 1: 5})
    append(made, (1, 1), (0, 2), (0, 0), (1, 0), (0, 1))
    append(made, (0, 3), (1, 2))

    assert union(made) == span(0, 0, 5) + span(1, 0, 5)


def test_records_that_are_in_the_table_twice_do_not_move_the_boundary(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 6})
    append(made, *span(0, 0, 4))
    append(made, *span(0, 2, 4))

    assert union(made) == sorted(span(0, 0, 6) + span(0, 2, 4))


@pytest.mark.parametrize("mode", ["tail", "middle", "all"])
def test_deleted_rows_do_not_come_back_while_history_remembers_them(lake: MakeLake, mode: str) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8, 1: 2})
    append(made, *span(0, 0, 5), *span(1, 0, 2))
    start = {"tail": 3, "middle": 1, "all": 0}[mode]
    made.load().delete(deleted(0, start))
    if mode == "middle":
        append(made, *span(0, 5, 7))

    assert union(made) == span(0, 0, start) + span(0, 5, 8) + span(1, 0, 2)


def test_deleted_rows_stay_deleted_through_later_rewrites(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, *span(0, 0, 5))
    made.load().delete(deleted(0, 3))
    append(made, *span(0, 5, 6))
    made.load().delete(EqualTo("kafka_offset", 1))

    assert union(made) == [(0, 0), (0, 2), *span(0, 5, 8)]


def test_a_rollback_is_no_deletion(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, *span(0, 0, 3))
    good = made.load().current_snapshot()
    append(made, *span(0, 3, 6))
    made.load().delete(deleted(0, 5))
    assert good is not None
    made.load().manage_snapshots().rollback_to_snapshot(good.snapshot_id).commit()

    assert union(made) == span(0, 0, 8)


def test_deleted_rows_that_are_written_again_are_an_error_until_all_are_there(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, *span(0, 0, 6))
    made.load().delete(deleted(0, 0))
    append(made, *span(0, 0, 2))

    with pytest.raises(BoundaryUnknownError, match="written again"):
        union(made)

    append(made, *span(0, 2, 7))
    assert union(made) == span(0, 0, 8)


def test_without_history_deleted_rows_come_back_and_it_is_said_that_history_is_gone(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, *span(0, 0, 5))
    made.load().delete(deleted(0, 3))
    send(made, {1: 1})
    append(made, *span(1, 0, 1))
    table = made.load()
    old = [s.snapshot_id for s in table.snapshots()][:-1]
    table.maintenance.expire_snapshots().by_ids(old).commit()

    cut = made.open(**COLUMNS).scan().taken

    assert union(made) == span(0, 0, 8) + span(1, 0, 1)
    assert cut.committed is not None
    assert any("expired" in sentence for sentence in cut.committed.looked)


def test_a_recorded_boundary_is_a_floor_even_if_history_is_gone(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    commit_until(made.having(**COLUMNS), {0: 5})
    made.load().delete(deleted(0, 2))

    assert union(made, boundary="columns") == span(0, 0, 2) + span(0, 5, 8)


def test_more_holes_than_could_be_read_one_by_one_are_read_in_one_go(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send_transactions(made, 1200)
    append(made, *[(0, 2 * n) for n in range(1100)])

    assert union(made) == [(0, 2 * n) for n in range(1200)]
    assert any(line.endswith("nothing visible in the holes") for line in looked(made))


def test_holes_over_too_many_offsets_are_an_error_that_says_how_many_are_read(
    lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, (0, 0), (0, 6))
    monkeypatch.setattr(holes, "OFFSETS_READ", 4)

    with pytest.raises(BoundaryUnknownError, match=r"5 offsets .* more than the 4"):
        made.open(**COLUMNS).cut()


def test_what_was_found_in_holes_is_not_read_again(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send_transactions(made, 3)
    append(made, (0, 0), (0, 2))
    first = made.open(**COLUMNS).scan().taken.committed
    append(made, (0, 4))

    second = made.open(**COLUMNS).scan().taken.committed

    assert first is not None
    assert second is not None
    assert "read 1 offsets" in str(first.looked)
    assert "read 1 offsets" in str(second.looked)


def test_a_hole_that_an_open_transaction_hides_is_an_error_at_once(lake: MakeLake) -> None:
    """Nothing is visible in it now, and something may be later."""
    made = lake(schema=ROWS, partitions=1)
    send(made, {0: 2})
    with transaction(made.bootstrap, made.topic, [b'{"seq": 0}'], commits=False):
        send(made, {0: 2})
        append(made, (0, 0), (0, 1), (0, 4))

        with pytest.raises(OffsetOverlapError, match="open transaction"):
            made.open(**COLUMNS).cut()


def test_a_writer_that_started_late_is_named_and_can_be_accepted(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 6, 1: 2})
    append(made, *span(0, 4, 5), *span(1, 0, 1))

    with pytest.raises(BoundaryUnknownError, match=r"started late: the first offset .* partition 0 is 4"):
        made.open(**COLUMNS).cut()

    scan = made.open(**COLUMNS, failOnDataLoss="false").scan()
    rows = scan.to_arrow().to_pylist()
    assert sorted((r["kafka_partition"], r["kafka_offset"]) for r in rows) == span(0, 4, 6) + span(1, 0, 2)
    assert scan.receipt.gaps == ((0, 0, 4),)
    again = made.open(**COLUMNS, failOnDataLoss="false", cut=scan.cut.token()).scan()
    assert again.to_arrow().num_rows == 4


def test_holes_that_retention_has_emptied_make_the_boundary_estimated(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 8})
    append(made, *span(0, 3, 6))
    delete_records(made.bootstrap, made.topic, {0: 4})

    assert union(made) == span(0, 3, 8)
    assert boundary(made)["confidence"] == "estimated"
    assert any(line.endswith("3 offsets in holes are no longer in Kafka") for line in looked(made))


def test_tombstones_are_dropped_and_counted_where_the_writer_drops_them(lake: MakeLake) -> None:
    """The newest records were tombstones: the boundary is low, and they are read again."""
    made = lake(schema=ROWS)
    send(made, {0: 3})
    produce(made.bootstrap, made.topic, [None, None], partition=0)
    send(made, {0: 2})
    produce(made.bootstrap, made.topic, [None], partition=0)
    append(made, *span(0, 0, 3))

    scan = made.open(**COLUMNS, tombstones="skip").scan()
    rows = scan.to_arrow().to_pylist()

    assert [row["kafka_offset"] for row in rows] == [0, 1, 2, 5, 6]
    assert (scan.receipt.rows_hot, scan.receipt.rows_skipped) == (2, 3)
    answer = made.sql(f"SELECT count(*) AS n FROM {made.table}", **COLUMNS, tombstones="skip")
    assert answer.rows.to_pylist() == [{"n": 5}]
    assert answer.receipts[0].to_dict()["rows_skipped"] == 3


def test_a_tombstone_is_an_error_unless_told_otherwise(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    produce(made.bootstrap, made.topic, [None], partition=0)

    with pytest.raises(DecodeError, match="tombstones=skip"):
        made.open(**COLUMNS).scan().to_arrow()


def test_offsets_without_holes_are_proven_without_reading_the_topic(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 3})
    append(made, *span(0, 0, 2))

    assert "the offsets have no holes" in looked(made)
