"""The gateway as a process: it announces itself, answers over a socket, and ends in order.

What only a real server can show is here: signals, lost clients, the arguments
of the command.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from stack import ManagedProcess
from stack.ports import free_port
from tests.builders import Lake, produce, wait_until, write_config
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ENDLESS = "select count(*) from range(1000000000) a, range(1000000000) b"


@pytest.fixture(scope="module")
def some(lake: MakeLake) -> Lake:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(3)])
    return made


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def gateway(some: Lake, tmp_path: Path, port: int) -> Iterator[ManagedProcess]:
    config = write_config(some, tmp_path / "kafkaiceberg.toml", port=port, threads="1")
    argv = [sys.executable, "-m", "kafkaiceberg", "--config", str(config), "--verbose", "serve"]
    with ManagedProcess.start(argv, tmp_path / "gateway.log") as process:
        process.wait_for(f"^serving at http://127.0.0.1:{port}$", 60)
        yield process


def test_the_process_answers_and_ends_in_order(gateway: ManagedProcess, some: Lake, port: int) -> None:
    sql = quote(f"select count(*) from {some.table}")

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/sql?q={sql}", timeout=30) as answer:
        body = json.load(answer)
    gateway.send_signal(signal.SIGTERM)

    assert body["rows"] == [[3]]
    assert gateway.wait(60) == 0, gateway.log_tail()
    assert "Traceback" not in gateway.log_text()


def test_every_answer_is_one_line_in_the_log(gateway: ManagedProcess, some: Lake, port: int) -> None:
    sql = quote(f"select count(*) from {some.table}")

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/sql?q={sql}", timeout=30) as answer:
        body = json.load(answer)

    gateway.wait_for(f"query {body['query_id']}: 1 rows in .* at {some.table}=kic1", 10)


def test_a_client_that_leaves_stops_its_statement(gateway: ManagedProcess, port: int) -> None:
    request = f"GET /v1/sql?q={quote(ENDLESS)} HTTP/1.1\r\nHost: localhost\r\n\r\n"

    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(request.encode())
        wait_until(lambda: not is_answering(port), "the one worker to be busy")

    gateway.wait_for("QUERY_CANCELLED", 30)
    wait_until(lambda: is_answering(port), "the one worker to be free again")


def test_a_statement_is_watched_over_another_connection(some: Lake, tmp_path: Path, port: int) -> None:
    config = write_config(some, tmp_path / "kafkaiceberg.toml", port=port, threads="2")
    argv = [sys.executable, "-m", "kafkaiceberg", "--config", str(config), "serve"]
    request = f"GET /v1/sql?q={quote(ENDLESS)} HTTP/1.1\r\nHost: localhost\r\n\r\n"

    with ManagedProcess.start(argv, tmp_path / "gateway.log") as process:
        process.wait_for(f"^serving at http://127.0.0.1:{port}$", 60)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(request.encode())
            wait_until(lambda: [each["sql"] for each in queries(port)] == [ENDLESS], "it to be seen")

        wait_until(lambda: queries(port) == [], "it to have ended with its client")


def test_a_taken_port_is_an_error_and_not_a_second_server(
    gateway: ManagedProcess, some: Lake, tmp_path: Path, port: int
) -> None:
    config = write_config(some, tmp_path / "second.toml", port=port)
    argv = [sys.executable, "-m", "kafkaiceberg", "--config", str(config), "serve"]

    with ManagedProcess.start(argv, tmp_path / "second.log") as second:
        assert second.wait(60) == 1

    assert "error: " in second.log_text()
    assert gateway.is_running


def queries(port: int) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/queries", timeout=30) as answer:
        found: list[dict[str, Any]] = json.load(answer)["queries"]
    return found


def is_answering(port: int) -> bool:
    """Whether a worker is free to say so; with one worker, whether no statement runs."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (TimeoutError, urllib.error.URLError):
        return False
