"""Many readers share one store: Kafka is read once, and whoever is killed leaves nothing wrong behind.

Readers are real threads and processes. Processes are ended with SIGKILL at moments that nobody chose, while
others go on reading; every answer of every reader must be right.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Lake, produce, unique, wait_until
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

# A reader as another process: it reads again and again and says what it found until it is ended.
READER = """
import json, sys
import hotset.store.resident_log
from federation.options.config import Config
from federation.table import open_table
hotset.store.resident_log._TAIL_ROWS = 20
hotset.store.resident_log.LARGE_ROWS = 200
table, options = sys.argv[1], json.loads(sys.argv[2])
while True:
    scan = open_table(table, options, config=Config()).scan(["seq"])
    seqs = sorted(scan.to_arrow()["seq"].to_pylist())
    ends = sum(r.end for r in scan.cut.ranges)
    print(json.dumps([ends, seqs == list(range(ends)), scan.receipt.records_fetched]), flush=True)
"""


@pytest.fixture
def kept(lake: MakeLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A lake whose hot records are kept in a store of their own, as chunks when there are twenty."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", 20)
    return lake(partitions=1).having(hotStore="on_demand", hotStorePath=str(tmp_path / "store"))


def send(lake: Lake, first: int, count: int) -> None:
    produce(lake.bootstrap, lake.topic, [{"producer": "p", "seq": first + i} for i in range(count)])


class Reader:
    """Another process that reads the lake until it is killed; what it says goes to a file."""

    def __init__(self, lake: Lake) -> None:
        self._said = lake.directory / f"{unique('reader')}.said"
        command = [sys.executable, "-c", READER, lake.table, json.dumps(lake.options)]
        with self._said.open("w") as said:
            environment = {**os.environ, "PYTHONPATH": os.getcwd()}
            self._process = subprocess.Popen(command, stdout=said, env=environment)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def answers(self) -> list[Any]:
        """How much it asked for, whether it was right, and how much it fetched, each time."""
        lines = self._said.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_for_an_answer(readers: list[Reader]) -> None:
    wait_until(lambda: any(each.answers() for each in readers), "a reader to answer")


def read(lake: Lake) -> list[int]:
    found: list[int] = sorted(lake.open().scan(["seq"]).to_arrow()["seq"].to_pylist())
    return found


@pytest.mark.parametrize("in_sql", [False, True])
def test_equal_questions_at_once_read_kafka_once(kept: Lake, in_sql: bool) -> None:
    send(kept, 0, 500)
    together = threading.Barrier(32)

    def ask() -> tuple[int, int]:
        together.wait()
        if in_sql:
            answer = kept.sql(f"select * from {kept.table}")
            return answer.rows.num_rows, answer.receipts[0].records_fetched
        scan = kept.open().scan()
        return scan.to_arrow().num_rows, scan.receipt.records_fetched

    with ThreadPoolExecutor(32) as pool:
        answers = [each.result() for each in [pool.submit(ask) for _ in range(32)]]

    assert [rows for rows, _ in answers] == [500] * 32
    assert sum(fetched for _, fetched in answers) == 500


def test_processes_share_what_one_of_them_has_read(kept: Lake) -> None:
    send(kept, 0, 200)
    assert kept.open().scan(["seq"]).to_arrow().num_rows == 200

    reader = Reader(kept)
    try:
        wait_until(lambda: bool(reader.answers()), "another process to answer")
    finally:
        reader.kill()

    assert reader.answers()[0] == [200, True, 0]


def test_killed_readers_leave_nothing_wrong_behind(kept: Lake) -> None:
    """Three readers at a time, one of them killed every so often, while records go on coming."""
    chance, sent = random.Random(7), 0
    all_readers = running = [Reader(kept) for _ in range(3)]
    try:
        for _ in range(12):
            send(kept, sent, 150)
            sent += 150
            # They take seconds to start, longer on a busy machine; from then on any moment will do.
            wait_for_an_answer(running)
            time.sleep(chance.uniform(0, 0.5))
            running[chance.randrange(3)].kill()
            running = [each if each.is_running else Reader(kept) for each in running]
            all_readers = [*all_readers, *running]
            assert read(kept) == list(range(sent))
    finally:
        for reader in all_readers:
            reader.kill()
    answers = [answer for reader in all_readers for answer in reader.answers()]
    assert answers
    assert [answer for answer in answers if not answer[1]] == []


def test_readers_killed_while_they_write_leave_nothing_torn(kept: Lake) -> None:
    """Each is killed within milliseconds after its first file appears, while it is written, or others are."""
    send(kept, 0, 3000)
    chance, store = random.Random(11), Path(kept.extra["hotStorePath"])
    for turn in range(10):
        reader = Reader(kept)
        try:
            wait_until(
                lambda: any(store.glob("making/*")) or any(store.glob("logs/*/*.parquet")),
                "a file to appear",
            )
            time.sleep(chance.uniform(0, 0.02))
        finally:
            reader.kill()

        assert read(kept) == list(range(3000))
        # The next one finds nothing again.
        (store / "logs").rename(store.with_name(f"before {turn}"))
