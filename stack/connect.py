"""Kafka Connect with the Apache Iceberg sink, one standalone worker, as its users run it.

This is a foreign writer for tests of boundaries: it knows nothing of this
project. It fills one table from one topic, through a control topic of its own.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from stack.errors import StackError
from stack.java import LOGGING, class_path, java_executable
from stack.ports import HOST, free_port
from stack.process import ManagedProcess

START_DEADLINE_S = 90.0


class ConnectSink:
    """One Connect worker with one Iceberg sink; ends with this process at the latest."""

    def __init__(self, process: ManagedProcess, url: str, name: str) -> None:
        self.process = process
        self.url = url
        self.name = name

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        bootstrap: str,
        topic: str,
        control_topic: str,
        catalog_file: Path,
        table: str,
        tasks: int = 2,
        commit_interval_ms: int = 2000,
    ) -> Self:
        """Start the worker and its sink, and wait until the sink runs.

        Args:
            directory: Holds settings, log and offsets; of this sink alone.
            bootstrap: Kafka's address.
            topic: What it reads, from the beginning, committed records only.
            control_topic: An existing topic for the sink's own events.
            catalog_file: SQLite file of the catalog, which the sink knows as `lake`.
            table: Namespace and name; must exist.
            tasks: Tasks of the sink.
            commit_interval_ms: Milliseconds between commits.

        Raises:
            StackError: The worker or the sink did not start in time.
        """
        directory.mkdir(parents=True, exist_ok=True)
        url = f"http://{HOST}:{free_port()}"
        name = f"sink-{topic}"
        worker = {
            "bootstrap.servers": bootstrap,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": str(directory / "offsets"),
            "offset.flush.interval.ms": "1000",
            "listeners": url,
            "plugin.discovery": "service_load",
            "connector.client.config.override.policy": "All",
        }
        sink = {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": str(tasks),
            "topics": topic,
            "iceberg.tables": table,
            "iceberg.catalog": "lake",
            "iceberg.catalog.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "iceberg.catalog.uri": f"jdbc:sqlite:{catalog_file}?busy_timeout=10000",
            "iceberg.catalog.warehouse": catalog_file.parent.as_uri(),
            "iceberg.catalog.jdbc.schema-version": "V1",
            "iceberg.catalog.jdbc.init-catalog-tables": "false",
            "iceberg.control.topic": control_topic,
            "iceberg.control.commit.interval-ms": str(commit_interval_ms),
            "iceberg.control.commit.timeout-ms": "2000",
            "consumer.override.auto.offset.reset": "earliest",
            "consumer.override.isolation.level": "read_committed",
        }
        settings = directory / "worker.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in worker.items()), "utf-8")
        connector = directory / "sink.json"
        connector.write_text(json.dumps({"name": name, "config": sink}), "utf-8")
        process = ManagedProcess.start(
            [
                java_executable(), "-Xmx512m", f"-Dlog4j2.configurationFile={LOGGING}",
                "-cp", class_path("connect"),
                "org.apache.kafka.connect.cli.ConnectStandalone", str(settings), str(connector),
            ],
            directory / "connect.log",
        )  # fmt: skip
        started = cls(process, url, name)
        process.wait_for(started.is_running, START_DEADLINE_S)
        return started

    def is_running(self) -> bool:
        """Return True once every task of the sink runs.

        Raises:
            StackError: A task has failed.
        """
        try:
            with urllib.request.urlopen(  # noqa: S310 - our own worker
                f"{self.url}/connectors/{self.name}/status", timeout=5
            ) as answer:
                status: dict[str, Any] = json.load(answer)
        except (OSError, urllib.error.URLError):
            return False
        states = [task["state"] for task in status["tasks"]]
        if "FAILED" in states:
            raise StackError(f"a task of {self.name} failed\n{json.dumps(status)[:2000]}")
        return bool(states) and set(states) == {"RUNNING"}

    def stop(self) -> None:
        """Stop the worker in order; by force after 20 s."""
        self.process.stop()

    def kill(self) -> None:
        """End the worker at once (SIGKILL)."""
        self.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
