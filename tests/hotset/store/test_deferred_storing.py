"""A tail becomes a chunk after the answer that made it long, and is lost only where a process is killed.

Storing is held up by a task that waits, so that what happens in between is no matter of luck.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotset.store.background_tasks import WRITES
from hotset.store.file_locks import try_lock_file
from hotset.store.hot_store import StoreSettings, open_store
from tests.builders import Lake, produce
from tests.conftest import MakeLake

# A process that asks, says how many rows there are and ends; if it is told to, it stores nothing until then.
ASKER = """
import json, sys, threading
import hotset.store.resident_log
from federation.engine import run_query
from federation.options.table_definition import merge_options
from hotset.store.background_tasks import WRITES
hotset.store.resident_log._TAIL_ROWS = 8
table, options, is_held_up = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "True"
if is_held_up:
    WRITES.take(threading.Event().wait)
answer = run_query(f"select count(*) as n from {table}", {table: merge_options(table, options, {})})
print(answer.rows["n"][0].as_py(), flush=True)
if is_held_up:
    sys.stdin.read()
"""


@pytest.fixture
def kept(lake: MakeLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake with ten records, which are a long tail in a store of their own."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", 8)
    made = lake(partitions=1).having(hotStore="on_demand", hotStorePath=str(tmp_path / "store"))
    send(made, 0, 10)
    return made


def send(lake: Lake, first: int, count: int) -> None:
    records = [{"producer": "p", "seq": first + i, "run": "r"} for i in range(count)]
    produce(lake.bootstrap, lake.topic, records, partition=0)


def ask(lake: Lake, column: str = "seq") -> tuple[int, int, int]:
    """How many rows there are, and how many records came from Kafka and from the store."""
    answer = lake.sql(f"select count({column}) as n from {lake.table}")
    [receipt] = answer.receipts
    return answer.rows["n"][0].as_py(), receipt.records_fetched, receipt.records_resident


def chunks(lake: Lake) -> list[Path]:
    return list(Path(lake.extra["hotStorePath"]).glob("logs/*/*.parquet"))


def settle(lake: Lake) -> bool:
    store = open_store(StoreSettings(lake.extra["hotStorePath"], 1 << 30))
    assert store is not None
    return store.settle()


@contextlib.contextmanager
def held_up(tasks: int = 1) -> Iterator[None]:
    """Let nothing be stored later within the block."""
    go_on = threading.Event()
    assert WRITES.settle(60.0)
    assert all(WRITES.take(go_on.wait) for _ in range(tasks))
    try:
        yield
    finally:
        go_on.set()


@pytest.mark.kafka
def test_no_answer_waits_for_the_store(kept: Lake) -> None:
    with held_up():
        assert ask(kept) == (10, 10, 0)
        assert chunks(kept) == []
        assert ask(kept) == (10, 0, 10)
        assert ask(kept, "run") == (10, 0, 10)
    assert settle(kept)

    assert len(chunks(kept)) == 1
    assert ask(kept) == (10, 0, 10)


@pytest.mark.kafka
def test_new_records_are_read_while_older_ones_are_not_stored_yet(kept: Lake) -> None:
    with held_up():
        assert ask(kept) == (10, 10, 0)
        send(kept, 10, 3)
        assert ask(kept) == (13, 3, 10)
        assert chunks(kept) == []
    assert settle(kept)
    send(kept, 13, 2)
    assert ask(kept, "run") == (15, 2, 13)


@pytest.mark.kafka
def test_who_finds_a_tail_twice_as_long_stores_by_himself(kept: Lake) -> None:
    with held_up(tasks=4):
        assert ask(kept) == (10, 10, 0)
        assert chunks(kept) == []
        send(kept, 10, 10)
        assert ask(kept) == (20, 10, 10)
        assert len(chunks(kept)) == 1


@pytest.mark.kafka
def test_a_folder_that_is_removed_before_costs_only_reading_again(kept: Lake) -> None:
    with held_up():
        assert ask(kept) == (10, 10, 0)
        shutil.rmtree(kept.extra["hotStorePath"])

    for _ in range(3):
        assert settle(kept)
        assert ask(kept)[0] == 10


@pytest.mark.kafka
def test_what_finds_no_room_is_kept_if_it_is_little(kept: Lake) -> None:
    cramped = kept.having(hotStoreBytes="1")
    assert ask(cramped) == (10, 10, 0)
    assert WRITES.settle(60.0)
    assert ask(cramped) == (10, 0, 10)

    send(kept, 10, 90)

    assert ask(cramped) == (100, 90, 10)
    assert ask(cramped) == (100, 100, 0)


@pytest.mark.kafka
def test_a_process_that_ends_after_its_answer_has_stored_it(kept: Lake) -> None:
    assert asker(kept, is_held_up=False).communicate()[0].split() == ["10"]

    assert len(chunks(kept)) == 1
    assert ask(kept) == (10, 0, 10)


@pytest.mark.kafka
def test_a_process_that_is_killed_after_its_answer_has_stored_nothing_and_locks_nothing(kept: Lake) -> None:
    running = asker(kept, is_held_up=True)
    assert running.stdout is not None
    assert running.stdout.readline().split() == ["10"]
    running.kill()
    running.communicate()

    assert chunks(kept) == []
    assert ask(kept) == (10, 10, 0)


def asker(lake: Lake, *, is_held_up: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ASKER, lake.table, json.dumps(lake.options), str(is_held_up)]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.kafka
def test_a_forked_child_has_a_store_of_its_own(kept: Lake) -> None:
    """Its parent's tail and what its parent was about to store are not the child's."""
    with held_up():
        assert ask(kept) == (10, 10, 0)
        child = os.fork()
        if child == 0:
            store = open_store(StoreSettings(kept.extra["hotStorePath"], 1 << 30))
            is_right = store is not None and store.settle(60.0) and chunks(kept) == []
            os._exit(0 if is_right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert settle(kept)
    assert len(chunks(kept)) == 1


def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    """A lock is of an open file, which a child has too; the parent lets go while it lives."""
    wait, go_on = os.pipe()
    begun, begin = os.pipe()
    with try_lock_file(tmp_path / "file") as is_ours:
        assert is_ours
        child = os.fork()
        if child == 0:
            os.close(go_on)
            os.write(begin, b"x")
            os.read(wait, 1)
            os._exit(0)
        assert os.read(begun, 1) == b"x"
        with try_lock_file(tmp_path / "file") as is_other:
            assert not is_other
    try:
        with try_lock_file(tmp_path / "file") as is_ours:
            assert is_ours
    finally:
        os.write(go_on, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        for each in (wait, go_on, begun, begin):
            os.close(each)
