"""Tasks beside statements are done once, in order, whatever one of them does, and before the process ends.

Threads, forks and the ends of processes are real.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hotset.store import background_tasks as beside
from hotset.store.background_tasks import Beside


@pytest.fixture
def tasks() -> Iterator[Beside]:
    """Tasks of a test's own, which wait for nobody."""
    made = Beside("of-a-test", 0.0)
    yield made
    made.end()


def of_the_test() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "of-a-test"]


def test_tasks_are_done_in_order(tasks: Beside) -> None:
    done: list[int] = []

    assert all(tasks.take(lambda n=n: done.append(n)) for n in range(3))

    assert tasks.settle(60.0)
    assert done == [0, 1, 2]


def test_few_tasks_may_wait(tasks: Beside) -> None:
    go_on = threading.Event()
    taken = [tasks.take(go_on.wait) for _ in range(9)]
    assert taken == [True] * 4 + [False] * 5

    go_on.set()

    assert tasks.settle(60.0)
    assert tasks.take(go_on.wait)


def test_a_task_waits_for_whoever_gave_it_unless_somebody_is_in_a_hurry() -> None:
    tasks, done = Beside("of-a-test", 3600.0), threading.Event()
    assert tasks.take(done.set)
    assert not done.wait(0.05)

    tasks.hurry()

    assert done.wait(60.0)
    assert tasks.take(done.clear)
    tasks.end()
    assert not done.is_set()


def test_what_goes_wrong_is_told_and_the_next_task_is_done(
    tasks: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_value))
    done = threading.Event()

    assert tasks.take(lambda: {}["nothing"])
    assert tasks.take(done.set)

    assert tasks.settle(60.0)
    assert done.is_set()
    assert [type(each) for each in told] == [KeyError]


def test_a_thread_ends_when_no_task_comes_and_begins_with_the_next(
    tasks: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "_STAYS_S", 0.0)
    for _ in range(3):
        done = threading.Event()
        assert tasks.take(done.set)
        [thread] = of_the_test()
        thread.join(60.0)
        assert done.is_set()
    assert of_the_test() == []


def test_nothing_is_taken_after_the_end(tasks: Beside) -> None:
    tasks.end()

    assert not tasks.take(lambda: pytest.fail("it is too late"))


def test_a_forked_child_has_neither_tasks_nor_a_thread_of_its_parent(tasks: Beside) -> None:
    go_on = threading.Event()
    assert all(tasks.take(go_on.wait) for _ in range(4))
    child = os.fork()
    if child == 0:
        mine = threading.Event()
        is_right = tasks.settle(0.0) and tasks.take(mine.set) and tasks.settle(60.0) and mine.is_set()
        os._exit(0 if is_right else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not tasks.settle(0.0)
    go_on.set()


def test_tasks_that_were_taken_are_done_before_a_process_ends() -> None:
    code = """
from hotset.store.background_tasks import CHORES, WRITES
def write():
    print("written", flush=True)
    CHORES.take(lambda: print("kept", flush=True))
assert WRITES.take(write)
print("answered", flush=True)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout.split() == ["answered", "written", "kept"]
    assert ended.stderr == ""
