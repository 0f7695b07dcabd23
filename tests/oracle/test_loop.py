"""The claim itself: a freeze looping, producers sending, and every answer right on every way in.

Nothing is arranged here. Commits land when they land, transactions open and end, and the library, the
gateway and Spark ask all the while. The answers are kept and judged once the fate of each record is known.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stack import ManagedProcess
from stack.ports import free_port
from tests.builders import Lake, wait_until, write_config
from tests.oracle import engines, ways
from tests.oracle.checker import Asked, Observed, Score, Verdict
from tests.oracle.conftest import MakeWorld
from tests.oracle.world import TALLY, World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.oracle]

HANG_S = 420.0
PAUSE_S = 0.1
# Every answer is judged by every record so far, so more of them cost time and show nothing new.
SEND_PAUSE_S = 0.3

Answers = Mapping[str, int]


@pytest.mark.parametrize(
    ("answers", "least"),
    [
        pytest.param({"library": 40, "gateway": 40, "catalog": 20, "spark": 6}, 3, id="seconds"),
        pytest.param(
            {"library": 225, "gateway": 225, "catalog": 200, "spark": 60},
            10,
            id="minutes",
            marks=pytest.mark.long,
        ),
    ],
)
def test_every_answer_is_right_while_records_arrive_and_are_frozen(
    world: MakeWorld, spark: SparkSession, tmp_path: Path, answers: Answers, least: int
) -> None:
    """So many answers on each way, and more commits than so many."""
    here = world(partitions=2)
    here.fill(50)
    here.freeze()
    config = write_config(here.lake, tmp_path / "kafkaiceberg.toml", port=free_port())

    with freezing(here.lake, config) as freezer, serving(config) as base, sending(here):
        freezer.wait_for("rows in", HANG_S)
        asked = ask_on_all_ways(here, spark, base, freezer, answers)
        wait_until(lambda: commits(here.lake) > least, "commits", HANG_S)
    scores = [here.oracle.judge(one) for one in asked]

    verdicts = Counter(score.verdict for score in scores)
    TALLY.update({str(verdict): count for verdict, count in verdicts.items()})
    assert verdicts[Verdict.WRONG] == 0, told(scores, Verdict.WRONG)
    assert verdicts[Verdict.DECLARED] == 0, told(scores, Verdict.DECLARED)
    assert Counter(one.way.split()[0] for one in asked) == answers
    assert sum(has_both_halves(one) for one in asked) > (answers["library"] + answers["gateway"]) // 5
    assert not [
        way
        for way in ("library", "gateway", "catalog")
        if goes_back([one for one in asked if way in one.way])
    ]


def ask_on_all_ways(
    here: World, spark: SparkSession, base: str, freezer: ManagedProcess, answers: Answers
) -> list[Asked]:
    """Ask on each way in a thread of its own, a plain question and one that reads the table twice in turn."""
    lake = here.lake
    questions: dict[str, list[tuple[str, Callable[[], Observed]]]] = {
        "library": [("library", lambda: ways.library(lake))],
        "catalog": [("catalog", lambda: engines.catalog(lake))],
        "gateway": [
            ("gateway", lambda: ways.gateway(base, lake)),
            ("gateway twice", lambda: ways.gateway(base, lake, is_twice=True)),
        ],
        "spark": [
            ("spark", lambda: ways.spark(spark, lake)),
            ("spark twice", lambda: ways.spark(spark, lake, is_twice=True)),
        ],
    }

    def ask(way: str) -> list[Asked]:
        found = []
        for (name, question), _ in zip(cycle(questions[way]), range(answers[way]), strict=False):
            assert freezer.is_running, freezer.log_tail()
            found.append(here.oracle.ask(name, question))
            time.sleep(PAUSE_S)  # so that commits come between the answers, not a condition to wait for
        return found

    with ThreadPoolExecutor(len(answers)) as pool:
        return [one for found in pool.map(ask, answers) for one in found]


@contextmanager
def sending(here: World) -> Iterator[None]:
    """About thirty records a second, a third of them in short transactions, until the block ends."""
    stop = threading.Event()
    failures: list[BaseException] = []

    def run(send: Callable[[], None]) -> None:
        try:
            while not stop.wait(SEND_PAUSE_S):
                send()
        except BaseException as exc:
            failures.append(exc)
            raise

    txn = here.sender("txn", transactional=True)
    endings = cycle([txn.commit, txn.abort, txn.commit])

    def transact() -> None:
        txn.begin()
        txn.send(3, 1)
        next(endings)()

    threads = [threading.Thread(target=run, args=[send]) for send in (lambda: here.fill(6, 0), transact)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures


@contextmanager
def freezing(lake: Lake, config: Path) -> Iterator[ManagedProcess]:
    command = ["--config", str(config), "freeze", lake.table, "--every", "1s"]
    with kafkaiceberg(command, config) as process:
        yield process


@contextmanager
def serving(config: Path) -> Iterator[str]:
    with kafkaiceberg(["--config", str(config), "serve"], config) as process:
        process.wait_for("serving at", HANG_S)
        yield process.log_text().split("serving at ")[1].split()[0].rstrip("/")


def kafkaiceberg(arguments: list[str], config: Path) -> ManagedProcess:
    log = config.with_name(f"{arguments[2]}.log")
    return ManagedProcess.start([sys.executable, "-m", "kafkaiceberg", *arguments], log, cwd=Path.cwd())


def commits(lake: Lake) -> int:
    return len(lake.load().metadata.snapshots)


def goes_back(asked: list[Asked]) -> bool:
    """Whether a later answer of one way ends before an earlier one."""
    ends = [one.outcome.ends for one in asked if isinstance(one.outcome, Observed) and one.outcome.ends]
    return any(later[p] < earlier[p] for earlier, later in pairwise(ends) for p in earlier)


def has_both_halves(asked: Asked) -> bool:
    seen = asked.outcome
    return isinstance(seen, Observed) and bool(seen.rows_hot) and bool(seen.rows_cold)


def told(scores: list[Score], verdict: Verdict) -> str:
    return "\n".join(str(score) for score in scores if score.verdict is verdict)[:4000]
