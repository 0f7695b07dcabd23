"""A gateway as a user starts it, `kafkaiceberg serve`, and a client as small as a user's.

The demo and the benchmarks ask over HTTP only, so that what they show is what a user gets. It must
not import the gateway: the process boundary is part of what is shown.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from stack.errors import StackError
from stack.java import ROOT
from stack.process import ManagedProcess

HOST: Final = "127.0.0.1"
START_DEADLINE_S: Final = 90.0
ANSWER_DEADLINE_S: Final = 90.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer over HTTP: the rows as arrays, the receipt, and the milliseconds it took."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    receipt: Mapping[str, Any]
    elapsed_ms: float

    @property
    def table(self) -> Mapping[str, Any]:
        """The receipt of the first table of the statement."""
        found: Mapping[str, Any] = self.receipt["tables"][0]
        return found

    def partition(self, number: int) -> Mapping[str, int]:
        """Return what the receipt says about one partition.

        Raises:
            KeyError: The receipt does not name it.
        """
        for found in self.table["partitions"]:
            if found["partition"] == number:
                partition: Mapping[str, int] = found
                return partition
        raise KeyError(number)


class Gateway:
    """A running `kafkaiceberg serve`, which ends when this process ends."""

    def __init__(self, process: ManagedProcess, address: str) -> None:
        """Hold a started gateway; use `start`."""
        self.process = process
        self.address = address
        self._connection: http.client.HTTPConnection | None = None

    @classmethod
    def start(cls, folder: Path) -> Self:
        """Start a gateway in a folder that has a `kafkaiceberg.toml`, and wait until it listens.

        Raises:
            StackError: It ended or was late; the message ends with the tail of its log.
        """
        process = run_python(["-m", "kafkaiceberg", "serve"], folder, "gateway")
        process.await_start(r"^serving at \S+$", START_DEADLINE_S)
        line = next(x for x in process.log_text().splitlines() if x.startswith("serving at "))
        return cls(process, line.removeprefix("serving at "))

    def ask(self, sql: str) -> Reply:
        """Run one statement; one thread at a time, over one connection that is kept.

        Raises:
            StackError: The gateway answered with an error, or not at all.
        """
        began_s = time.monotonic()
        try:
            if self._connection is None:
                location = urlsplit(self.address)
                self._connection = http.client.HTTPConnection(
                    location.hostname or HOST, location.port, timeout=ANSWER_DEADLINE_S
                )
            headers = {"Content-Type": "application/json"}
            self._connection.request("POST", "/v1/sql", json.dumps({"sql": sql}), headers)
            answer = json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError) as exc:
            self._connection = None
            raise StackError(f"the gateway at {self.address} did not answer: {exc!r}") from exc
        elapsed_ms = (time.monotonic() - began_s) * 1000
        if "error" in answer:
            raise StackError(f"the gateway refused {sql!r}: {answer['error']['message']}")
        columns = tuple(column["name"] for column in answer["columns"])
        return Reply(columns, tuple(map(tuple, answer["rows"])), answer["receipt"], elapsed_ms)

    def stop(self) -> None:
        """Stop the gateway."""
        self.process.stop(5)


def run_python(arguments: list[str], folder: Path, name: str) -> ManagedProcess:
    """Start a Python program in a folder, with this project importable, here and in Spark's workers.

    Args:
        arguments: What follows `python`.
        folder: Where it runs; its output goes to `<name>.log` there.
        name: For the log.

    Raises:
        StackError: It could not be started.
    """
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "PYTHONUNBUFFERED": "1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
    }
    return ManagedProcess.start([sys.executable, *arguments], folder / f"{name}.log", environment, cwd=folder)


def choose_port(preferred: int = 8765) -> int:
    """Return the preferred port if nobody listens on it, else any free one.

    Raises:
        OSError: There is none.
    """
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port")


def write_config(folder: Path, bootstrap: str, catalog: Mapping[str, str], port: int) -> Path:
    """Write the `kafkaiceberg.toml` that a user of this table would write.

    Args:
        folder: Where it goes.
        bootstrap: Kafka's address.
        catalog: pyiceberg's catalog properties.
        port: Where the gateway shall listen.

    Returns:
        The file.
    """
    from stack.orders import NAMESPACE, TABLE, TOPIC

    lines = [
        "[defaults]",
        f"kafka.bootstrap.servers = {json.dumps(bootstrap)}",
        f"catalog.name = {json.dumps(NAMESPACE)}",
        *(f"catalog.{key} = {json.dumps(value)}" for key, value in catalog.items()),
        "",
        f"[tables.{json.dumps(TABLE)}]",
        f"subscribe = {json.dumps(TOPIC)}",
        "",
        "[gateway]",
        f"port = {port}",
    ]
    path = folder / "kafkaiceberg.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def local_catalog(folder: Path) -> dict[str, str]:
    """Return the properties of an Iceberg catalog that is a file in a folder."""
    warehouse = folder / "warehouse"
    warehouse.mkdir(parents=True, exist_ok=True)
    return {"type": "sql", "uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": warehouse.as_uri()}
