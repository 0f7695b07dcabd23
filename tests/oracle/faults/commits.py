"""Faults of commits: committers that race, sleep or die, and a catalog that answers wrongly or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

from coldset.errors import CommitStateUnknownError
from federation.cut.take import take_cut
from foundation.errors import KafkaIcebergError
from pipeline.errors import FencedError
from pipeline.freeze import Staged, commit
from stack.catalog_proxy import CUT_AFTER, CUT_BEFORE, HANG_AFTER, HANG_BEFORE, CatalogFault
from tests.builders import Lake, RestLake, make_table, stage_rows, wait_until
from tests.oracle.checker import Verdict
from tests.oracle.faults import committer
from tests.oracle.faults.round import SCHEMA, Round
from tests.oracle.world import World


def i1c_two_committers(round_: Round) -> None:
    """Two committers of one range, at the same moment: exactly one lands."""
    here = round_.begun()
    round_.some(here)
    staged = [stage_rows(take_cut(here.lake.merged())) for _ in range(2)]
    landed: list[int] = []
    barrier = threading.Barrier(2)

    def race(one: Staged) -> None:
        barrier.wait()
        with contextlib.suppress(FencedError):
            landed.append(commit(one))

    threads = [threading.Thread(target=race, args=[one]) for one in staged]

    def happen() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    round_.meanwhile(here, happen)
    round_.require(len(landed) == 1, f"{len(landed)} of two committers landed")
    round_.heals(here)


def i2c_zombie(round_: Round) -> None:
    """A committer stopped before its commit, and woken after another one has committed."""
    here = round_.begun()
    round_.some(here)
    with _child(here.lake, f"stop:{round_.rng.choice(committer.UNDECIDED)}") as child:
        wait_until(lambda: _state(child.pid) == "T", "the committer to stop")
        round_.inject()
        round_.some(here)
        round_.freeze(here)
        round_.ask(here)
        child.send_signal(signal.SIGCONT)
        round_.require(child.wait(60) == committer.FENCED, "a committer that slept has landed")
    round_.heals(here)


def i3c_catalog(round_: Round) -> None:
    """A catalog that refuses, fails, or applies a commit and loses its answer."""
    here = round_.begun()
    round_.some(here)
    real = SqlCatalog.commit_table
    how = round_.rng.choice(["conflict", "failed", "applied, then failed", "applied, then conflict"])

    def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
        patch.undo()
        if how.startswith("applied"):
            real(self, *args, **kwargs)
        raise CommitFailedException(how) if how.endswith("conflict") else ConnectionError(how)

    with round_.patching() as patch:
        patch.setattr(SqlCatalog, "commit_table", faulty)
        round_.inject()
        with contextlib.suppress(CommitStateUnknownError):
            round_.freeze(here)
    round_.ask(here)
    round_.some(here)
    round_.freeze(here)
    round_.heals(here)


def i3c_rest_catalog(round_: Round) -> None:
    """A REST catalog behind a proxy: 409, 5xx, hanging, cut before and after it has applied a commit."""
    proxy = round_.arena.catalog_proxy
    plain = round_.world()
    lake = RestLake(
        plain.lake.bootstrap, plain.lake.directory, plain.lake.table, plain.lake.topic, plain.lake.extra,
        uri=proxy.uri, timeout_ms=10_000,
    )  # fmt: skip
    make_table(lake.catalog, lake.table, SCHEMA)
    here = World(lake)
    here.fill(6, 0)
    round_.freeze(here, {0: 3})
    faults = [CatalogFault(status) for status in (409, 500, 502, 503, 504)]
    faults += [CatalogFault(status, is_applied=True) for status in (409, 500, 502, 503, 504)]
    faults += [CUT_BEFORE, CUT_AFTER, HANG_BEFORE, HANG_AFTER]
    for fault in round_.rng.sample(faults, 4):
        round_.some(here)
        round_.inject(lambda it=fault: proxy.fail_commits(it))
        with contextlib.suppress(KafkaIcebergError):
            round_.freeze(here)
        proxy.release()
        round_.ask(here, round_.ways(here))
    proxy.fail_commits()
    round_.freeze(here)
    round_.expect(here, Verdict.CORRECT, round_.ways(here))


def i4c_killed_committer(round_: Round) -> None:
    """A committer killed at one of its steps, from before it reads until after it has committed."""
    here = round_.begun()
    round_.some(here)
    step = round_.rng.choice(committer.STEPS)
    with _child(here.lake, f"kill:{step}") as child:
        round_.meanwhile(here, lambda: child.wait(60))
    round_.require(child.returncode == -signal.SIGKILL, f"{step} was not reached: {child.returncode}")
    round_.settle()
    round_.ask(here)
    round_.freeze(here)
    round_.heals(here)


def n2_freezes_all_the_while(round_: Round) -> None:
    """Two freezes in a loop and producers, while all ways are asked."""
    here = round_.begun()
    over = threading.Event()
    failures: list[BaseException] = []

    def keep(doing: Callable[[], object]) -> None:
        try:
            while not over.is_set():
                with contextlib.suppress(KafkaIcebergError):
                    doing()
        except BaseException as exc:  # noqa: BLE001 - raised below
            failures.append(exc)

    threads = [threading.Thread(target=keep, args=[lambda: round_.freeze(here)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    round_.meanwhile(here, lambda: [round_.some(here) for _ in range(40)])
    over.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    round_.heals(here)


@contextlib.contextmanager
def _child(lake: Lake, failpoint: str) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-m", "tests.oracle.faults.committer", lake.bootstrap, str(lake.directory)]
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen([*argv, lake.table, lake.topic, failpoint], env=env) as child:
        try:
            yield child
        finally:
            child.kill()


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
