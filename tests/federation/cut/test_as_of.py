"""`as-of`: the rows of an earlier time, whatever was committed, compacted or produced since.

Brokers set the times here unless a test says otherwise, so what had arrived by a time is known.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from coldset.errors import SnapshotNotFoundError
from federation.boundary.assumptions import Assumption
from federation.cut.as_of import parse_as_of
from federation.errors import NotKeptError, OptionError
from kafkaiceberg.__main__ import main
from tests.builders import (
    Lake,
    commit_until,
    delete_records,
    make_topic,
    produce,
    wait_until,
    write_config,
)
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def pass_a_moment() -> int:
    """Return a time that lies between what was done before and what is done after, by the clock of all."""
    before = now_ms()
    wait_until(lambda: now_ms() > before, "the clock to move")
    between = now_ms()
    wait_until(lambda: now_ms() > between + 1, "the clock to move")
    return between


def send(lake: Lake, first: int, end: int, partition: int = 0) -> int:
    """Produce, and return a time after it."""
    produce(lake.bootstrap, lake.topic, [{"seq": seq} for seq in range(first, end)], partition=partition)
    return pass_a_moment()


def found(lake: Lake, **options: Any) -> list[int]:
    given = {name.replace("_", "-"): str(value) for name, value in options.items()}
    return sorted(lake.open(**given).scan().to_arrow()["seq"].to_pylist())


def assumed(lake: Lake, at_ms: int) -> set[str]:
    scan = lake.open(**{"as-of": str(at_ms)}).scan()
    scan.to_arrow()
    return set(scan.receipt.to_dict()["assumed"])


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    fresh = lake(partitions=0, schema=ROWS)
    make_topic(fresh.bootstrap, fresh.topic, partitions=2, message_timestamp_type="LogAppendTime")
    return fresh


def test_the_rows_of_a_time_are_those_that_had_arrived_by_then(made: Lake) -> None:
    first = send(made, 0, 4)
    commit_until(made, {0: 3})
    second = send(made, 4, 9, partition=1)
    commit_until(made)
    third = send(made, 9, 12)

    assert found(made, as_of=first) == list(range(4))
    assert found(made, as_of=second) == list(range(9))
    assert found(made, as_of=third) == found(made) == list(range(12))
    assert assumed(made, second) == set()


@pytest.mark.parametrize("seed", range(6))
def test_each_time_of_a_random_history_is_exact(made: Lake, seed: int) -> None:
    chance = random.Random(seed)
    times: list[tuple[int, int]] = []
    sent = 0
    for _ in range(12):
        if chance.random() < 0.4:
            cut = made.open().cut()
            commit_until(made, {r.partition: chance.randint(r.start, r.end) for r in cut.ranges})
        else:
            more = chance.randint(1, 5)
            send(made, sent, sent + more, partition=chance.randrange(2))
            sent += more
        times.append((pass_a_moment(), sent))

    for at_ms, count in times:
        assert found(made, as_of=at_ms) == list(range(count))
        assert assumed(made, at_ms) == set()


def test_a_snapshot_means_the_time_of_its_commit(made: Lake) -> None:
    send(made, 0, 4)
    snapshot_id = commit_until(made, {0: 2})
    pass_a_moment()
    send(made, 4, 6)
    commit_until(made)

    assert found(made, as_of=snapshot_id) == list(range(4))
    assert found(made, snapshot_id=snapshot_id) == list(range(6))
    assert found(made, snapshot_id=snapshot_id, read="cold") == [0, 1]


def test_before_the_first_snapshot_there_were_records_only(made: Lake) -> None:
    before = pass_a_moment()
    first = send(made, 0, 4)
    commit_until(made)
    send(made, 4, 6)

    assert found(made, as_of=before) == []
    assert found(made, as_of=first) == list(range(4))


def test_rows_deleted_since_are_there_and_rows_deleted_before_are_not(made: Lake) -> None:
    send(made, 0, 6)
    commit_until(made)
    made.load().delete("seq = 1")
    between = pass_a_moment()
    made.load().delete("seq = 2")

    assert found(made, as_of=between) == [0, 2, 3, 4, 5]


def test_what_neither_half_keeps_is_an_error_or_a_gap_that_is_named(made: Lake) -> None:
    send(made, 0, 4)
    commit_until(made, {0: 2})
    then = send(made, 4, 6)
    commit_until(made)
    delete_records(made.bootstrap, made.topic, {0: 5})

    with pytest.raises(NotKeptError, match=r"\[\[0, 2, 5\]\].*read=cold"):
        found(made, as_of=then)
    assert found(made, as_of=then, failOnDataLoss="false") == [0, 1, 5]
    assert found(made, as_of=then, read="cold") == [0, 1]


def test_a_snapshot_that_is_expired_is_not_kept_any_more(made: Lake) -> None:
    send(made, 0, 2)
    first = commit_until(made)
    then = pass_a_moment()
    send(made, 2, 4)
    commit_until(made)
    made.load().maintenance.expire_snapshots().by_id(first).commit()

    for at in (then, first):
        with pytest.raises(SnapshotNotFoundError):
            found(made, as_of=at)
    assert found(made, as_of=now_ms()) == list(range(4))


def test_the_head_of_then_counts_although_it_was_rolled_back(made: Lake) -> None:
    send(made, 0, 2)
    first = commit_until(made)
    made.load().append(pa.table({"seq": [99]}, schema=ROWS))  # by hand, and a mistake
    then = pass_a_moment()
    made.load().manage_snapshots().rollback_to_snapshot(first).commit()
    after = pass_a_moment()

    assert found(made, as_of=then) == [0, 1, 99]
    assert found(made, as_of=after) == [0, 1]


def test_a_branch_has_a_head_of_then(made: Lake) -> None:
    send(made, 0, 2)
    first = commit_until(made)
    made.load().manage_snapshots().create_branch(first, "side").commit()
    then = send(made, 2, 4)
    made.load().append(pa.table({"seq": [99]}, schema=ROWS), branch="side")

    assert found(made, as_of=then, branch="side") == list(range(4))
    assert found(made, branch="side") == [0, 1, 2, 3, 99]


def test_times_of_producers_are_named_as_assumed(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    then = send(made, 0, 4)
    send(made, 4, 6)

    assert found(made, as_of=then) == list(range(4))
    assert assumed(made, then) == {Assumption.CREATE_TIMES}


def test_nothing_is_assumed_of_times_where_none_decides(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    send(made, 0, 4)
    commit_until(made)

    assert assumed(made, pass_a_moment()) == set()


def test_transactions_that_were_open_then_are_named_as_assumed(made: Lake) -> None:
    producer = Producer({"bootstrap.servers": made.bootstrap, "transactional.id": made.topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(made.topic, b'{"seq": 0}', partition=0)
    producer.flush()
    then = pass_a_moment()
    producer.commit_transaction()
    send(made, 1, 2)

    assert Assumption.TRANSACTIONS_THEN in assumed(made, then)


def test_the_receipt_is_of_that_time_and_its_token_reads_it_again(made: Lake) -> None:
    then = send(made, 0, 4)
    send(made, 4, 6)
    scan = made.open(**{"as-of": str(then)}).scan()
    rows = scan.to_arrow()

    assert scan.receipt.as_of_ms == then
    assert made.open().scan(cut=scan.cut).to_arrow().equals(rows)
    assert found(made, cut=scan.receipt.cut) == list(range(4))


def test_a_topic_alone_has_a_time_too(made: Lake) -> None:
    then = send(made, 0, 4)
    send(made, 4, 6)

    assert found(made, as_of=then, read="hot", schema="seq bigint") == list(range(4))


def test_sql_and_the_command_line_read_a_time(
    made: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = send(made, 0, 4)
    commit_until(made, {0: 1})
    send(made, 4, 6)
    when = datetime.fromtimestamp(then / 1000, UTC).isoformat()
    count = f"select count(*) as n from {made.table}"

    assert made.sql(count).values() == [[6]]
    assert made.sql(count, **{"as-of": when}).values() == [[4]]
    assert made.sql(count).values() == [[6]]
    config = str(write_config(made, tmp_path / "kafkaiceberg.toml"))
    assert main(["--config", config, "query", "--json", "-o", f"as-of={when}", count]) == 0
    assert '"rows": [[4]]' in capsys.readouterr().out


@pytest.mark.spark
def test_spark_reads_a_time(made: Lake, spark: Any) -> None:
    then = send(made, 0, 4)
    commit_until(made)
    send(made, 4, 6)

    frame = spark.read.format("kafkaiceberg").options(**made.options).option("as-of", str(then))

    assert sorted(row.seq for row in frame.load(made.table).collect()) == list(range(4))


@pytest.mark.parametrize("text", ["yesterday", "2026-11-22 10:00:00", "-5", "1e3", "2026-13-01T00:00:00Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="as-of"):
        parse_as_of(text)


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-11-22T10:00:00Z", 1_795_341_600_000),
        ("2026-11-22 11:00:00.123456+01:00", 1_795_341_600_123),
        ("1970-01-01T00:00:00.001Z", 1),
    ],
)
def test_times_are_to_the_millisecond(text: str, time_ms: int) -> None:
    assert parse_as_of(text).time_ms == time_ms


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"as-of": "9999999999999"}, "has not come yet"),
        ({"as-of": "1795341600123", "tag": "x"}, "exclude each other"),
        ({"as-of": "1795341600123", "snapshot-id": "5"}, "exclude each other"),
        ({"as-of": "1795341600"}, "in milliseconds, and no snapshot"),
    ],
)
def test_options_that_make_no_sense_are_refused(made: Lake, options: Mapping[str, str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        made.open(**options).cut()
