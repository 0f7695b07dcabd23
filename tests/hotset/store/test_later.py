"""What is little is stored after its answer: locked until then, and lost only where a process is killed.

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from federation.engine.run import resident_rows as resident
from foundation.deadline import Deadline
from hotset.errors import DecodeError
from hotset.kafka.offsets import OffsetRange
from hotset.store.background_tasks import WRITES
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.offset_locks import lock_range, try_lock_file
from tests.builders import Lake, produce
from tests.conftest import MakeLake

# A process that asks, says how many rows there are and ends; if it is told to, it stores nothing until then.
ASKER = """
import json, sys, threading
from federation.options.definition import merge_options
from federation.engine import run_query
from hotset.store.background_tasks import WRITES
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
    """A lake with ten records, which are kept in a store of their own."""
    made = lake(partitions=1).having(hotStore="on_demand", hotStorePath=str(tmp_path / "store"))
    send(made, 0, 10)
    # Nothing is given up because a machine is slow.
    monkeypatch.setattr(resident, "_GOOD_S", 600.0)
    return made


def send(lake: Lake, first: int, count: int) -> None:
    records = [{"producer": "p", "seq": first + i, "run": "r"} for i in range(count)]
    produce(lake.bootstrap, lake.topic, records, partition=0)


def ask(lake: Lake, column: str = "seq") -> tuple[int, int, int]:
    """How many rows there are, and how many records came from Kafka and from the store."""
    answer = lake.sql(f"select count({column}) as n from {lake.table}")
    [receipt] = answer.receipts
    return answer.rows["n"][0].as_py(), receipt.records_fetched, receipt.records_resident


def bases(lake: Lake) -> list[Path]:
    return list(Path(lake.extra["hotStorePath"]).rglob("*.base"))


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
def test_an_answer_does_not_wait_for_the_store_and_who_wants_the_same_does(kept: Lake) -> None:
    with ThreadPoolExecutor(1) as pool:
        with held_up():
            assert ask(kept) == (10, 10, 0)
            assert bases(kept) == []
            # Rows of the same columns are kept for the next statement; another one has to look.
            assert ask(kept) == (10, 0, 10)
            other = pool.submit(ask, kept, "run")
            with pytest.raises(TimeoutError):
                other.result(0.2)

        assert other.result() == (10, 0, 10)
    assert len(bases(kept)) == 1


@pytest.mark.kafka
def test_new_records_are_read_while_older_ones_are_not_stored_yet(kept: Lake) -> None:
    with held_up():
        for turn in range(1, 4):
            assert ask(kept) == (10 * turn, 10, 10 * (turn - 1))
            send(kept, 10 * turn, 10)
    assert settle(kept)
    assert ask(kept, "run") == (40, 10, 30)


@pytest.mark.kafka
def test_who_finds_too_much_waiting_stores_by_himself(kept: Lake) -> None:
    with held_up(tasks=4):
        assert ask(kept) == (10, 10, 0)
        assert len(bases(kept)) == 1


@pytest.mark.kafka
def test_a_folder_that_is_removed_before_costs_only_reading_again(
    kept: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "_GOOD_S", 0.0)
    with held_up():
        assert ask(kept) == (10, 10, 0)
        shutil.rmtree(kept.extra["hotStorePath"])

    for _ in range(2):
        assert settle(kept)
        assert ask(kept)[0] == 10


@pytest.mark.kafka
def test_what_found_no_room_is_kept_for_a_while_if_it_is_little(
    kept: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cramped = kept.having(hotStoreBytes="1")
    assert ask(cramped) == (10, 10, 0)
    assert WRITES.settle(60.0)
    assert ask(cramped) == (10, 0, 10)

    monkeypatch.setattr(resident, "_GOOD_S", 0.0)

    assert ask(cramped) == (10, 10, 0)


@pytest.mark.kafka
def test_what_found_no_room_is_not_kept_if_it_is_much(kept: Lake) -> None:
    send(kept, 10, 5_000)
    cramped = kept.having(hotStoreBytes="1")

    for _ in range(2):
        assert ask(cramped) == (5_010, 5_010, 0)


@pytest.mark.kafka
def test_a_statement_that_fails_over_its_records_leaves_them_to_the_next(kept: Lake) -> None:
    produce(kept.bootstrap, kept.topic, [{"producer": "p", "seq": "x", "run": "bad"}], partition=0)
    with pytest.raises(DecodeError):
        ask(kept)

    assert ask(kept, "run") == (11, 0, 11)


@pytest.mark.kafka
def test_a_process_that_ends_after_its_answer_has_stored_it(kept: Lake) -> None:
    assert asker(kept, is_held_up=False).communicate()[0].split() == ["10"]

    assert len(bases(kept)) == 1
    assert ask(kept) == (10, 0, 10)


@pytest.mark.kafka
def test_a_process_that_is_killed_after_its_answer_has_stored_nothing_and_locks_nothing(kept: Lake) -> None:
    running = asker(kept, is_held_up=True)
    assert running.stdout is not None
    assert running.stdout.readline().split() == ["10"]
    running.kill()
    running.communicate()

    assert bases(kept) == []
    assert ask(kept) == (10, 10, 0)


def asker(lake: Lake, *, is_held_up: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ASKER, lake.table, json.dumps(lake.options), str(is_held_up)]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    """A lock is of an open file, which a child has too; the parent lets go while it lives."""
    wanted, deadline = OffsetRange(0, 5, 9), Deadline.after_ms(60_000)
    wait, go_on = os.pipe()
    with lock_range(tmp_path, wanted, deadline, _go_on), try_lock_file(tmp_path / "file") as is_ours:
        assert is_ours
        child = os.fork()
        if child == 0:
            os.close(go_on)
            os.read(wait, 1)
            os._exit(0)
        with try_lock_file(tmp_path / "file") as is_other:
            assert not is_other
    try:
        with lock_range(tmp_path, wanted, Deadline.after_ms(1_000), _go_on):
            pass
        with try_lock_file(tmp_path / "file") as is_ours:
            assert is_ours
    finally:
        os.write(go_on, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.close(wait)
        os.close(go_on)


def _go_on() -> None:
    """Has no objection."""
