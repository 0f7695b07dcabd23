"""Kafka Connect with Apache Iceberg sinks, one standalone worker, as its users run it.

This is a foreign writer for tests of boundaries: it knows nothing of this
project. One worker runs any number of sinks, each with a control topic of its
own; they are added, changed and removed over Connect's REST interface.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from stack.errors import StackError
from stack.java import LOGGING, class_path, java_executable
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable

START_DEADLINE_S = 120.0
REQUEST_S = 30.0


class ConnectWorker(Stoppable):
    """One Connect worker; ends with this process at the latest."""

    def __init__(self, directory: Path, bootstrap: str) -> None:
        """Describe a worker whose files are in `directory`; use `start`."""
        self.directory = directory
        self.url = f"http://{HOST}:{free_port()}"
        self._bootstrap = bootstrap
        self._process: ManagedProcess | None = None

    @classmethod
    def start(cls, directory: Path, *, bootstrap: str) -> Self:
        """Start a worker without sinks, and wait until it answers.

        Args:
            directory: Holds settings, log and offsets; of this worker alone.
            bootstrap: Kafka's address.

        Raises:
            StackError: The worker did not start in time.
        """
        directory.mkdir(parents=True, exist_ok=True)
        worker = cls(directory, bootstrap)
        worker.run()
        return worker

    def run(self) -> None:
        """Start the worker's program, the first time or after `stop` or `kill`.

        A standalone worker forgets its sinks when it ends, and Kafka remembers how far they were.

        Raises:
            StackError: The worker did not start in time.
        """
        settings = {
            "bootstrap.servers": self._bootstrap,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": str(self.directory / "offsets"),
            "offset.flush.interval.ms": "1000",
            "listeners": self.url,
            "plugin.discovery": "service_load",
            "connector.client.config.override.policy": "All",
        }
        path = self.directory / "worker.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")
        self._process = ManagedProcess.start(
            [
                java_executable(), "-Xmx768m", f"-Dlog4j2.configurationFile={LOGGING}",
                "-cp", class_path("connect"),
                "org.apache.kafka.connect.cli.ConnectStandalone", str(path),
            ],
            self.directory / "connect.log",
        )  # fmt: skip
        self._process.wait_for(self._answers, START_DEADLINE_S)

    def put_sink(self, name: str, settings: Mapping[str, str]) -> None:
        """Add a sink, or give it other settings, and wait until all its tasks run.

        Args:
            name: Of the sink; its consumer group is `connect-` and this.
            settings: From `sink_settings`.

        Raises:
            StackError: The worker refused, or a task failed or did not start in time.
        """
        assert self._process is not None
        self._ask("PUT", f"/connectors/{name}/config", dict(settings))
        tasks = int(settings["tasks.max"])
        self._process.wait_for(lambda: self.is_running(name, tasks), START_DEADLINE_S)

    def remove_sink(self, name: str) -> None:
        """Remove a sink; what it has committed stays, and so does its consumer group.

        Raises:
            StackError: The worker refused or did not answer.
        """
        self._ask("DELETE", f"/connectors/{name}")

    def is_running(self, name: str, tasks: int) -> bool:
        """Return True if a sink has that many tasks, and all of them run.

        Raises:
            StackError: A task has failed.
        """
        try:
            status: dict[str, Any] = self._ask("GET", f"/connectors/{name}/status")
        except StackError:
            return False
        states = [task["state"] for task in status["tasks"]]
        if "FAILED" in states:
            raise StackError(f"a task of {name} failed\n{json.dumps(status)[:2000]}")
        return len(states) == tasks and set(states) == {"RUNNING"}

    def stop(self) -> None:
        """Stop the worker in order; by force after 20 s."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """End the worker at once (SIGKILL)."""
        if self._process is not None:
            self._process.kill()

    def _answers(self) -> bool:
        try:
            return bool(self._ask("GET", "/connectors") == [])
        except StackError:
            return False

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - our own worker
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_S) as answer:  # noqa: S310
                text = answer.read()
        except (OSError, urllib.error.URLError) as exc:
            raise StackError(f"Connect did not take {method} {path}: {exc}") from exc
        return json.loads(text) if text else None


def sink_settings(
    *,
    topics: Sequence[str],
    tables: Sequence[str],
    catalog_file: Path,
    control_topic: str,
    tasks: int = 2,
    isolation: str = "read_committed",
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the settings of an Iceberg sink that reads topics from their beginning.

    Args:
        topics: What it reads.
        tables: Namespace and name of each table it fills; they must exist.
        catalog_file: SQLite file of the catalog, which the sink knows as `lake`.
        control_topic: An existing topic for the sink's own events.
        tasks: Tasks of the sink.
        isolation: Isolation of its consumers; the sink's own default is `read_uncommitted`.
        more: Further settings.
    """
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": str(tasks),
        "topics": ",".join(topics),
        "iceberg.tables": ",".join(tables),
        "iceberg.catalog": "lake",
        "iceberg.catalog.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "iceberg.catalog.uri": f"jdbc:sqlite:{catalog_file}?busy_timeout=10000",
        "iceberg.catalog.warehouse": catalog_file.parent.as_uri(),
        "iceberg.catalog.jdbc.schema-version": "V1",
        "iceberg.catalog.jdbc.init-catalog-tables": "false",
        "iceberg.control.topic": control_topic,
        "iceberg.control.commit.interval-ms": "1000",
        "iceberg.control.commit.timeout-ms": "1500",
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.isolation.level": isolation,
        # What takes minutes by default is waited for in tests: a new partition, a dead task's place.
        "consumer.override.metadata.max.age.ms": "1000",
        "consumer.override.session.timeout.ms": "6000",
        "iceberg.kafka.session.timeout.ms": "6000",
        "iceberg.kafka.transaction.timeout.ms": "10000",
        **(more or {}),
    }
