"""Faults of Spark's executors: Python workers killed while they read, tasks tried again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

from tests.oracle import ways
from tests.oracle.checker import DeclaredError, Observed
from tests.oracle.faults.round import Round


def g2_killed_workers(round_: Round) -> None:
    """Python workers of Spark killed while they read; the task is tried again, at the same cut."""
    here = round_.begun().having(maxRecordsPerPartition="2")
    round_.some(here)
    round_.ask(here, {"spark": lambda lake: ways.spark(round_.arena.spark, lake)})
    over = threading.Event()
    killed: list[int] = []
    wait_s = round_.rng.uniform(0.05, 0.6)

    def kill() -> None:
        while not over.wait(wait_s):
            for pid in round_.rng.sample(found := workers(), min(1, len(found))):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(wait_s)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for is_twice in (False, True, False):
            round_.inject()
            round_.ask(here, {"spark": lambda lake, it=is_twice: _spark(round_, lake, is_twice=it)})
    finally:
        over.set()
        killer.join()
    round_.ask(here, {"spark": lambda lake: ways.spark(round_.arena.spark, lake)})
    round_.heals(here)


def _spark(round_: Round, lake: ways.Lake, *, is_twice: bool) -> Observed:
    try:
        return ways.spark(round_.arena.spark, lake, is_twice=is_twice)
    except Exception as exc:
        raise DeclaredError(str(exc)[:200]) from exc  # the job failed, and Spark said so


def workers() -> list[int]:
    """Python workers below this process: those that Spark's daemon has forked."""
    parents: dict[int, int] = {}
    daemons: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            pid = int(folder.name)
            parents[pid] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in (folder / "cmdline").read_bytes() and _is_below(pid, parents):
                daemons.add(pid)
    return [pid for pid, parent in parents.items() if parent in daemons]


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0) or _parent(pid)
        if pid == os.getpid():
            return True
    return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
