"""What comes through the store is what Kafka alone would give, and what was read once is not read again.

Answers with the store are compared with answers without it, and the receipt tells what came from where.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from federation.errors import TopicReplacedError
from hotset.errors import DecodeError
from hotset.store.chunk_index import find_chunks
from hotset.store.hot_store import HotStore, StoreSettings, open_store
from tests.builders import Lake, commit_until, delete_topic, make_topic, produce
from tests.conftest import MakeLake
from tests.oracle.journal import Journal, Sender
from tests.transactions import wait_until_ended

pytestmark = pytest.mark.kafka

LIMIT = 1 << 28


@pytest.fixture
def kept(lake: MakeLake, tmp_path: Path) -> Callable[..., Lake]:
    """A maker of lakes whose hot records are kept in a store of their own."""

    def make(**options: str) -> Lake:
        place = {
            "hotStore": "on_demand",
            "hotStorePath": str(tmp_path / "store"),
            "hotStoreBytes": str(LIMIT),
        }
        return lake().having(**{**place, **options})

    return make


def store_of(lake: Lake) -> HotStore:
    settings = StoreSettings(lake.extra["hotStorePath"], int(lake.extra["hotStoreBytes"]))
    store = open_store(settings)
    assert store is not None
    return store


def chunks_of(lake: Lake) -> list[tuple[int, int, int]]:
    """Partition, start and end of what is kept of any topic."""
    found = []
    for folder in (store_of(lake).space.root / "logs").glob("*/*"):
        found += [(int(folder.name), c.name.start, c.name.end) for c in find_chunks(folder)]
    return sorted(found)


def send(lake: Lake, count: int, *, first: int = 0, partition: int = 0) -> None:
    records = [{"producer": "p", "seq": first + i, "run": "r" * (i % 3)} for i in range(count)]
    produce(lake.bootstrap, lake.topic, records, partition=partition)


def read(lake: Lake, *columns: str, **options: str) -> tuple[list[dict[str, object]], int, int]:
    """All rows in order, how many records came from Kafka, and how many from the store."""
    scan = lake.open(**options).scan(columns or None)
    rows = scan.to_arrow().to_pylist()
    receipt = scan.receipt
    return sorted(rows, key=str), receipt.records_fetched, receipt.records_resident


def plainly(lake: Lake, *columns: str, **options: str) -> list[dict[str, object]]:
    return read(lake, *columns, hotStore="off", **options)[0]


def test_what_was_read_is_not_read_again_and_new_records_are(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 30)
    send(lake, 20, first=100, partition=1)
    assert read(lake) == (plainly(lake), 50, 0)

    send(lake, 7, first=50)

    assert read(lake) == (plainly(lake), 7, 50)
    assert read(lake) == (plainly(lake), 0, 57)


def test_columns_are_added_when_they_are_asked_for(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    assert read(lake, "seq") == (plainly(lake, "seq"), 10, 0)

    for columns in [("run", "seq"), ("producer",), ()]:
        assert read(lake, *columns) == (plainly(lake, *columns), 0, 10)


def test_another_cut_of_the_same_records_finds_its_part(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    early = lake.open().scan()
    send(lake, 10, first=10)
    read(lake)

    rows = early.to_arrow()

    assert sorted(rows["seq"].to_pylist()) == list(range(10))
    assert (early.receipt.records_fetched, early.receipt.records_resident) == (0, 10)


def test_records_before_a_boundary_that_moved_are_left_out_and_dropped(
    kept: Callable[..., Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = kept()
    send(lake, 12)
    commit_until(lake, {0: 4})
    assert read(lake) == (plainly(lake), 8, 0)

    commit_until(lake)
    send(lake, 3, first=12)
    assert read(lake) == (plainly(lake), 3, 0)
    store_of(lake).settle()
    assert (0, 4, 12) in chunks_of(lake)  # another table may need it

    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    send(lake, 1, first=15)
    assert read(lake) == (plainly(lake), 1, 3)
    store_of(lake).settle()
    assert [start for _, start, _ in chunks_of(lake) if start < 12] == []


def test_aborted_records_and_markers_are_passed_once(kept: Callable[..., Lake]) -> None:
    lake = kept()
    sender = Sender(lake, Journal(), "t", transactional=True)
    for end in (sender.commit, sender.abort, sender.abort):
        sender.begin()
        sender.send(3)
        end()
        wait_until_ended(lake.bootstrap, lake.topic)
        assert read(lake)[0] == plainly(lake)

    assert read(lake)[1:] == (0, 3)


def test_isolations_are_kept_apart(kept: Callable[..., Lake]) -> None:
    lake = kept()
    loose = lake.having(**{"kafka.isolation.level": "read_uncommitted"})
    sender = Sender(lake, Journal(), "t", transactional=True)
    sender.begin()
    sender.send(2)
    sender.abort()

    assert (len(read(loose)[0]), len(read(lake)[0])) == (2, 0)
    assert (len(read(loose)[0]), len(read(lake)[0])) == (2, 0)


def test_a_topic_that_was_made_anew_has_nothing_in_the_store(kept: Callable[..., Lake]) -> None:
    lake = kept(read="hot", schema="seq bigint, producer string")
    send(lake, 10)
    read(lake)
    delete_topic(lake.bootstrap, lake.topic)
    make_topic(lake.bootstrap, lake.topic)
    send(lake, 6, first=100)

    assert read(lake) == (plainly(lake), 6, 0)
    store_of(lake).settle()
    assert chunks_of(lake) == [(0, 0, 6)]


def test_a_token_of_the_old_topic_is_refused_whatever_the_store_has(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    scan = lake.open().scan()
    scan.to_arrow()
    delete_topic(lake.bootstrap, lake.topic)
    make_topic(lake.bootstrap, lake.topic)
    send(lake, 10)

    with pytest.raises(TopicReplacedError):
        lake.open().scan(cut=scan.cut)


def test_a_changed_schema_is_decoded_anew_without_kafka(kept: Callable[..., Lake]) -> None:
    lake = kept(read="hot", schema="seq int")
    send(lake, 5)
    assert read(lake)[1:] == (5, 0)

    wider = lake.having(schema="seq bigint, producer string")

    assert read(wider) == (plainly(wider), 0, 5)
    assert wider.open().scan().to_arrow().schema.field("seq").type == pa.int64()


def test_a_bad_record_is_judged_by_the_policy_of_each_statement(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 5)
    produce(
        lake.bootstrap, lake.topic, [{"producer": "p", "seq": "x", "run": "bad"}, b"{", {"run": "no seq"}]
    )
    send(lake, 5, first=5)
    for _ in range(2):
        with pytest.raises(DecodeError, match="offset 5"):
            read(lake)

    for policy in ("skip", "null", "dead_letter", "skip"):
        ask = {"badRecords": policy}
        assert read(lake, **ask) == (plainly(lake, **ask), 0, 13)


def test_only_the_columns_that_were_asked_for_are_judged(kept: Callable[..., Lake]) -> None:
    lake = kept(read="hot", schema="seq bigint, run string")
    produce(lake.bootstrap, lake.topic, [{"seq": "x", "run": "fine"}, {"seq": 1, "run": "fine"}])
    for _ in range(2):
        with pytest.raises(DecodeError, match="seq"):
            read(lake, "seq", "run")
        assert read(lake, "run")[0] == [{"run": "fine"}, {"run": "fine"}]


def test_tombstones_are_kept_for_statements_that_skip_them(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 3)
    produce(lake.bootstrap, lake.topic, [None])
    send(lake, 3, first=3)
    with pytest.raises(DecodeError, match="tombstone"):
        read(lake)

    assert read(lake, tombstones="skip") == (plainly(lake, tombstones="skip"), 0, 7)


def test_what_is_no_decoded_value_is_read_when_columns_need_it(kept: Callable[..., Lake]) -> None:
    columns = "key=k,headers=h,timestamp=t,timestamp_type=tt,topic=top,value=v"
    ddl = "seq bigint, k binary, h array<struct<key: string, value: binary>>, t timestamp, tt int, top string"
    lake = kept(read="hot", schema=f"{ddl}, v binary", kafkaColumns=columns)
    send(lake, 4)
    for wanted in [("seq",), ("seq", "t", "top"), ("seq", "v"), ("seq", "k"), ("h", "tt"), ()]:
        assert read(lake, *wanted)[0] == plainly(lake, *wanted)

    assert read(lake)[1:] == (0, 4)


def test_many_small_reads_become_few_chunks(kept: Callable[..., Lake]) -> None:
    lake = kept()
    for turn in range(40):
        send(lake, 5, first=5 * turn)
        assert len(read(lake, "seq")[0]) == 5 * (turn + 1)
        store_of(lake).settle()

    assert read(lake) == (plainly(lake), 0, 200)
    assert len(chunks_of(lake)) < 10


def test_more_than_there_is_room_for_passes_through(kept: Callable[..., Lake]) -> None:
    lake = kept(hotStoreBytes="4000")
    send(lake, 200)

    assert read(lake) == (plainly(lake), 200, 0)
    assert read(lake) == (plainly(lake), 200, 0)
    assert store_of(lake).space.used_bytes() <= 4000


def test_two_topics_that_do_not_fit_together_are_both_right(kept: Callable[..., Lake]) -> None:
    one = kept(hotStoreBytes="60000")
    other = replace(kept(), extra=one.extra)
    send(one, 400)
    send(other, 400, first=1000)
    for _ in range(3):
        for lake in (one, other):
            assert read(lake)[0] == plainly(lake)
            assert store_of(lake).space.used_bytes() <= 60000


def test_evicted_bytes_are_not_missed_until_a_new_column_is_asked_for(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    read(lake, "seq")
    for path in store_of(lake).space.root.rglob("*.raw"):
        path.unlink()
    store_of(lake).maps._open.clear()

    assert read(lake, "seq") == (plainly(lake, "seq"), 0, 10)
    assert read(lake, "run") == (plainly(lake, "run"), 10, 0)
    assert read(lake, "run") == (plainly(lake, "run"), 0, 10)


def test_a_folder_that_disappears_costs_only_reading_again(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    read(lake)
    root = store_of(lake).space.root
    os.rename(root, root.with_name("elsewhere"))

    assert read(lake)[0] == plainly(lake)
    assert read(lake)[0] == plainly(lake)
