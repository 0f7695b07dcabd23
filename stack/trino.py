"""Trino: one server with the Iceberg plugin, as its users run it, and a client as small as theirs.

It is an engine of others, for tests of what the gateway's REST catalog tells such engines. It knows nothing
of this project, and needs a Java that nothing else here needs.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from stack.errors import StackError
from stack.java import ROOT, newer_java
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable
from stack.waiting import is_answered

JAVA: Final = 24
HOME: Final = ROOT / "build" / "jars" / "trino"
START_DEADLINE_S: Final = 180.0
REQUEST_S: Final = 120.0
_HEADERS: Final = {
    "X-Trino-User": "somebody",
    # Without it times are rounded to milliseconds.
    "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
}


class TrinoError(StackError):
    """What Trino says of a statement that failed: a name, a message, and what that came from."""

    def __init__(self, name: str, failure: Mapping[str, Any]) -> None:
        """Hold the words of Trino, of which the command line shows the first, or with `--debug` all."""
        super().__init__(failure.get("message"))
        self.name = name
        self.causes: list[str] = []
        while cause := failure.get("cause"):
            self.causes.append(cause.get("message", ""))
            failure = cause


@dataclass(frozen=True, slots=True)
class TrinoAnswer:
    """What Trino answers to a statement.

    Attributes:
        columns: The names of the columns.
        rows: Values as its protocol has them in JSON.
        read_rows: How many rows it has read of tables to know that.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    read_rows: int


class TrinoServer(Stoppable):
    """A running server without catalogs, which ends when this process ends."""

    def __init__(self, process: ManagedProcess, uri: str) -> None:
        """Hold a started server; use `start`."""
        self.process = process
        self.uri = uri

    @classmethod
    def start(cls, directory: Path, *, deadline_s: float = START_DEADLINE_S) -> Self:
        """Start a server and wait until it takes statements.

        Args:
            directory: Holds its settings, its log and what it keeps.
            deadline_s: How long it may take to answer.

        Raises:
            StackError: Java or the programs are missing, or the server ended or was late.
        """
        java, directory = newer_java(JAVA), directory.resolve()
        if not (HOME / "lib").is_dir():
            raise StackError(f"there is no Trino in {HOME}; `make test-trino` fetches it")
        (directory / "plugin").mkdir(parents=True)
        (directory / "plugin" / "iceberg").symlink_to(HOME / "plugin" / "iceberg")
        uri = f"http://{HOST}:{free_port()}"
        settings = {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "node.environment": "test",
            "http-server.http.port": uri.rpartition(":")[2],
            "discovery.uri": uri,
            "plugin.dir": str(directory / "plugin"),
            "catalog.management": "dynamic",
        }
        path = directory / "config.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        process = ManagedProcess.start(
            [
                java, "-Xmx1g", "--add-modules=jdk.incubator.vector", f"-Dconfig={path}",
                "-cp", f"{HOME}/lib/*", "io.trino.server.TrinoServer",
            ],
            directory / "trino.log",
            cwd=directory,
        )  # fmt: skip
        started = cls(process, uri)
        process.await_start(started.is_ready, deadline_s)
        return started

    def is_ready(self) -> bool:
        """Whether the server takes statements."""
        if not is_answered(f"{self.uri}/v1/info"):
            return False
        return _ask(f"{self.uri}/v1/info")["starting"] is False

    def add_catalog(self, name: str, settings: Mapping[str, str]) -> None:
        """Add a catalog of Iceberg tables, whose files are on this machine.

        Raises:
            TrinoError: It is not as Trino wants it.
        """
        given = {"fs.hadoop.enabled": "true", **settings}
        listed = ", ".join(f"\"{key}\" = '{value}'" for key, value in given.items())
        self.sql(f"CREATE CATALOG {name} USING iceberg WITH ({listed})")

    def sql(self, statement: str) -> TrinoAnswer:
        """Run a statement and return all it answers.

        Raises:
            TrinoError: The statement failed.
            StackError: The server does not answer.
        """
        told = _ask(f"{self.uri}/v1/statement", statement)
        columns: tuple[str, ...] = ()
        rows: list[tuple[Any, ...]] = []
        while True:
            if error := told.get("error"):
                raise TrinoError(error["errorName"], error["failureInfo"])
            columns = tuple(column["name"] for column in told.get("columns", ())) or columns
            rows.extend(tuple(row) for row in told.get("data", ()))
            if "nextUri" not in told:
                return TrinoAnswer(columns, tuple(rows), told["stats"]["processedRows"])
            told = _ask(told["nextUri"])

    def stop(self) -> None:
        """Stop the server."""
        self.process.stop(10)


def _ask(url: str, statement: str | None = None) -> dict[str, Any]:
    body = None if statement is None else statement.encode()
    request = urllib.request.Request(url, data=body, headers=_HEADERS)  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_S) as answer:  # noqa: S310
            told: dict[str, Any] = json.loads(answer.read())
    except (OSError, urllib.error.URLError) as exc:
        raise StackError(f"Trino did not take {request.method or 'a request'} {url}: {exc}") from exc
    return told
