"""What is kept is joined, dropped and bounded, and answers are those without it all the while.

Tails and chunks are of a few rows here, so that little makes all happen that much would.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from hotset.store import hot_store
from tests.builders import Lake, commit_until, produce
from tests.hotset.store.kept_lake import chunks_of, counted, plainly, read, send, store_of

pytestmark = pytest.mark.kafka


def test_many_small_reads_become_few_chunks(kept: Callable[..., Lake], small: None) -> None:
    lake = kept()
    for turn in range(40):
        send(lake, 5, first=5 * turn)
        assert len(read(lake, "seq")[0]) == 5 * (turn + 1)
        store_of(lake).settle()

    assert read(lake) == (plainly(lake), 0, 200)
    needed = [chunk for chunk in chunks_of(lake) if chunk.info.counts.rows >= 40]
    assert len(needed) in (3, 4)


def test_more_than_there_is_room_for_passes_through(kept: Callable[..., Lake], small: None) -> None:
    lake = kept(hotStoreBytes="4000")
    send(lake, 200)

    assert read(lake) == (plainly(lake), 200, 0)
    assert read(lake)[0] == plainly(lake)
    assert store_of(lake).space.used_bytes() <= 4000


def test_two_topics_that_do_not_fit_together_are_both_right(
    kept: Callable[..., Lake], small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hotset.store.space._IN_USE_S", -1.0)
    one = kept(hotStoreBytes="60000")
    other = replace(kept(), extra=one.extra)
    send(one, 400)
    send(other, 400, first=1000)
    for _ in range(3):
        for lake in (one, other):
            assert read(lake)[0] == plainly(lake)
            assert store_of(lake).space.used_bytes() <= 60000


def test_a_chunk_under_a_lease_is_never_removed(
    kept: Callable[..., Lake], small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hotset.store.space._IN_USE_S", -1.0)
    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    lake = kept(hotStoreBytes="60000")
    send(lake, 30)
    read(lake)
    leased = chunks_of(lake)
    store_of(lake).lease([chunk.path.stem for chunk in leased], 600)

    commit_until(lake)
    for turn in range(20):
        send(lake, 30, first=30 * (turn + 1))
        assert read(lake)[0] == plainly(lake)
        store_of(lake).settle()

    assert {chunk.path for chunk in leased} <= {chunk.path for chunk in chunks_of(lake)}


@pytest.mark.parametrize("seed", range(3))
def test_any_history_is_answered_as_kafka_answers_it(
    kept: Callable[..., Lake], small: None, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Appends, commits up to anywhere, losses of files, new processes: all is as without a store."""
    chance = random.Random(seed)
    monkeypatch.setattr("hotset.store.housekeeping.UNUSED_S", -1.0)
    lake = kept(tombstones="skip", badRecords="skip", hotStoreBytes=str(chance.choice([30_000, 1 << 28])))
    older = [lake.open().scan().cut]
    for turn in range(25):
        kind = chance.choice(["send", "send", "send", "bad", "commit", "lose", "forget", "settle"])
        if kind == "send":
            send(lake, chance.randrange(1, 30), first=100 * turn, partition=chance.randrange(2))
        elif kind == "bad":
            produce(lake.bootstrap, lake.topic, [None, b"{", None][: chance.randrange(1, 4)])
        elif kind == "commit":
            commit_until(
                lake, {p: chance.randrange(1, 200) for p in chance.sample([0, 1], chance.randrange(3))}
            )
        elif kind == "lose":
            for chunk in chance.sample(there := chunks_of(lake), min(1, len(there))):
                chunk.path.unlink(missing_ok=True)
        elif kind == "forget":
            hot_store._stores.clear()  # as another process begins
        elif not store_of(lake).settle():
            raise AssertionError("the store does not settle")
        for cut in (None, chance.choice(older)):
            mine, plain = lake.open().scan(cut=cut), lake.open(hotStore="off").scan(cut=cut)
            assert sorted(mine.to_arrow().to_pylist(), key=str) == sorted(
                plain.to_arrow().to_pylist(), key=str
            )
            assert counted(mine) == counted(plain)
        older.append(mine.cut if cut is None else lake.open().scan().cut)
