"""What comes through the store is what Kafka alone would give, and what was read once is not read again.

Answers with the store are compared with answers without it, and the receipt tells what came from where.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pyarrow as pa
import pytest

from federation.errors import TopicReplacedError
from hotset.errors import DecodeError
from tests.builders import Lake, commit_until, delete_topic, make_topic, produce
from tests.hotset.store.kept_lake import counted, plainly, ranges_of, read, send, store_of
from tests.oracle.journal import Journal, Sender
from tests.transactions import wait_until_ended

pytestmark = pytest.mark.kafka


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
    kept: Callable[..., Lake], small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = kept()
    send(lake, 16)
    commit_until(lake, {0: 4})
    assert read(lake) == (plainly(lake), 12, 0)
    store_of(lake).settle()
    assert ranges_of(lake) == [(0, 4, 16)]

    commit_until(lake)
    send(lake, 3, first=16)
    assert read(lake) == (plainly(lake), 3, 0)
    store_of(lake).settle()
    assert (0, 4, 16) in ranges_of(lake)  # a statement may still read it

    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    send(lake, 14, first=19)
    assert read(lake) == (plainly(lake), 14, 3)
    store_of(lake).settle()
    assert [start for _, start, _ in ranges_of(lake) if start < 16] == []


def test_a_boundary_within_a_chunk_cuts_it(kept: Callable[..., Lake], small: None) -> None:
    lake = kept(tombstones="skip", badRecords="skip")
    send(lake, 8)
    produce(lake.bootstrap, lake.topic, [None, b"{", None])
    send(lake, 8, first=8)
    send(lake, 8, first=100, partition=1)
    read(lake)
    store_of(lake).settle()
    assert ranges_of(lake) == [(0, 0, 19), (1, 0, 8)]

    for ends in ({0: 5, 1: 3}, {0: 9, 1: 8}, {0: 12}):
        commit_until(lake, ends)
        scan, plain = lake.open().scan(), lake.open(hotStore="off").scan()
        assert sorted(scan.to_arrow().to_pylist(), key=str) == sorted(plain.to_arrow().to_pylist(), key=str)
        assert counted(scan) == counted(plain)
        sql = f"SELECT count(*), sum(seq) FROM {lake.table}"
        assert lake.sql(sql).values() == lake.sql(sql, hotStore="off").values()


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


def test_a_topic_that_was_made_anew_has_nothing_in_the_store(
    kept: Callable[..., Lake], small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    lake = kept(read="hot", schema="seq bigint, producer string")
    send(lake, 20)
    read(lake)
    delete_topic(lake.bootstrap, lake.topic)
    make_topic(lake.bootstrap, lake.topic)
    send(lake, 16, first=100)

    assert read(lake) == (plainly(lake), 16, 0)
    store_of(lake).settle()
    assert ranges_of(lake) == [(0, 0, 16)]


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


def test_a_changed_schema_is_decoded_anew(kept: Callable[..., Lake]) -> None:
    lake = kept(read="hot", schema="seq int")
    send(lake, 5)
    assert read(lake)[1:] == (5, 0)

    wider = lake.having(schema="seq bigint, producer string")

    assert read(wider) == (plainly(wider), 5, 0)
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
        assert read(lake, **ask)[0] == plainly(lake, **ask)
        assert read(lake, **ask)[1] == 0


@pytest.mark.parametrize("store", ["off", "on_demand"])
def test_records_are_judged_whole_whatever_is_asked_for(kept: Callable[..., Lake], store: str) -> None:
    lake = kept(read="hot", schema="seq bigint, run string", hotStore=store)
    produce(lake.bootstrap, lake.topic, [{"seq": "x", "run": "fine"}, {"seq": 1, "run": "fine"}])

    for columns in (("seq", "run"), ("run",), ("seq",)):
        with pytest.raises(DecodeError, match="seq"):
            read(lake, *columns)


def test_tombstones_are_kept_for_statements_that_skip_them(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 3)
    produce(lake.bootstrap, lake.topic, [None])
    send(lake, 3, first=3)
    with pytest.raises(DecodeError, match="tombstone"):
        read(lake)

    assert read(lake, tombstones="skip") == (plainly(lake, tombstones="skip"), 7, 0)
    assert read(lake, tombstones="skip") == (plainly(lake, tombstones="skip"), 0, 7)


def test_what_is_no_decoded_value_is_read_when_columns_need_it(kept: Callable[..., Lake]) -> None:
    columns = "key=k,headers=h,timestamp=t,timestamp_type=tt,topic=top,value=v"
    ddl = "seq bigint, k binary, h array<struct<key: string, value: binary>>, t timestamp, tt int, top string"
    lake = kept(read="hot", schema=f"{ddl}, v binary", kafkaColumns=columns)
    send(lake, 4)
    for wanted in [("seq",), ("seq", "t", "top"), ("seq", "v"), ("seq", "k"), ("h", "tt"), ()]:
        assert read(lake, *wanted)[0] == plainly(lake, *wanted)

    assert read(lake)[1:] == (0, 4)


def test_a_folder_that_disappears_costs_only_reading_again(kept: Callable[..., Lake]) -> None:
    lake = kept()
    send(lake, 10)
    read(lake)
    root = store_of(lake).space.root
    os.rename(root, root.with_name("elsewhere"))

    assert read(lake)[0] == plainly(lake)
    assert read(lake)[0] == plainly(lake)
