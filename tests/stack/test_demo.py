"""The demo as a newcomer runs it: it proves its claims, and nothing of it outlives it.

Each test runs `python -m stack.demo` as a program, in a folder of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stack.java import ROOT

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

DEADLINE_S = 300.0
STOP_S = 120.0


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stack.demo", "--folder", str(folder)],
        cwd=ROOT,
        env={**os.environ, "ONCE": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def processes_in(folder: Path) -> list[str]:
    """Processes that work in the demo's folder or were given it as an argument."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            where = os.readlink(process / "cwd")
        except OSError:
            continue  # It has just ended, or is not ours.
        if str(folder) in command or Path(where).is_relative_to(folder):
            found.append(f"{process.name} {command}")
    return found


def wait_until_said(demo: subprocess.Popen[str], words: str) -> str:
    assert demo.stdout is not None
    said = ""
    while words not in said:
        read = demo.stdout.read(1)
        assert read, f"ended before {words!r}:\n{said}"
        said += read
    return said


def test_once_shows_that_all_claims_hold(tmp_path: Path) -> None:
    demo = start(tmp_path / "demo", ONCE="1")
    try:
        said, _ = demo.communicate(timeout=DEADLINE_S)
    finally:
        demo.kill()

    assert demo.returncode == 0, said
    assert "All claims hold." in said
    assert "NOT TRUE" not in said
    assert processes_in(tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "words"),
    [
        pytest.param(signal.SIGINT, "kafkaiceberg", id="interrupted before anything runs"),
        pytest.param(signal.SIGINT, "Kafka broker", id="interrupted while a program is being started"),
        pytest.param(signal.SIGINT, "Kafka broker .", id="interrupted while the broker starts"),
        pytest.param(signal.SIGINT, "first freeze", id="interrupted while Spark starts"),
        pytest.param(signal.SIGTERM, "The next SQL query", id="ended in the middle of the story"),
    ],
)
def test_a_demo_that_is_stopped_leaves_nothing(tmp_path: Path, number: int, words: str) -> None:
    demo = start(tmp_path / "demo")
    try:
        said = wait_until_said(demo, words)
        demo.send_signal(number)
        rest, _ = demo.communicate(timeout=STOP_S)
    finally:
        demo.kill()

    assert demo.returncode == 0, said + rest
    assert "Traceback" not in said + rest
    assert processes_in(tmp_path) == []


@pytest.mark.long
def test_a_demo_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    demo = start(tmp_path / "demo")
    try:
        wait_until_said(demo, "first freeze")
    finally:
        demo.kill()
        demo.communicate(timeout=STOP_S)

    # Its guards see the end of the demo within a second.
    until_s = time.monotonic() + 60
    while processes_in(tmp_path) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert processes_in(tmp_path) == []


@pytest.mark.long
def test_two_demos_do_not_share_a_folder(tmp_path: Path) -> None:
    first = start(tmp_path / "demo")
    try:
        wait_until_said(first, "Kafka broker")
        second = start(tmp_path / "demo")
        said, _ = second.communicate(timeout=STOP_S)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=STOP_S)
    finally:
        first.kill()

    assert second.returncode == 1
    assert "another demo runs" in said
    assert processes_in(tmp_path) == []
