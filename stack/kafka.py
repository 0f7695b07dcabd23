"""A real Kafka broker on this machine, because a simulated one hides what the hot half depends on.

librdkafka's mock cluster does not filter aborted transactions, does not compact and does not
retain, so every claim about Kafka is tested against Apache Kafka itself: one node, KRaft, loopback
only. This module must not know topics, records or tables; it starts, disturbs and ends a broker.
"""

from __future__ import annotations

import base64
import os
import random
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from stack.errors import StackError
from stack.java import LOGGING, class_path, java_executable
from stack.process import ManagedProcess

HOST = "127.0.0.1"
START_DEADLINE_S = 60.0
STOP_GRACE_S = 20.0

# Below the range that systems hand out for outgoing connections: while a broker is down, nobody
# else is given its port by chance, so `restart` finds it free.
PORTS = range(20_000, 30_000)

# One node has one replica. Periods are short so that what takes a production broker minutes
# (retention, compaction, deletion, transaction timeouts) can be waited for in a test. A restart
# after a kill waits for the session timeout: until then the controller believes in the old broker.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
}


class KafkaBroker:
    """One Kafka node that answers while this object is open, and never outlives this process."""

    def __init__(self, *, directory: Path, port: int) -> None:
        """Describe a broker whose files are in `directory`; use `start`."""
        self.directory = directory
        self.bootstrap = f"{HOST}:{port}"
        self._port = port
        self._process: ManagedProcess | None = None

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        deadline_s: float = START_DEADLINE_S,
    ) -> Self:
        """Start a broker and wait until it answers.

        Args:
            directory: Holds its settings, log and records. An empty folder makes a new broker; the
                folder of an earlier one brings back that broker's records.
            port: Where clients connect; a free port by default.
            properties: Broker settings that replace or extend `SETTINGS`.
            deadline_s: How long the broker may take to answer.

        Returns:
            The broker, ready for clients at `bootstrap`.

        Raises:
            StackError: Java or the jars are missing, or the broker ended or was late; the message
                then ends with the tail of its log.
        """
        directory = directory.resolve()
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port() if port is None else port
        broker = cls(directory=directory, port=port)
        controller_port = free_port(taken=port)
        broker._write_settings(controller_port, properties or {})
        broker._format(deadline_s)
        broker._run(deadline_s)
        return broker

    @property
    def pid(self) -> int:
        """The process id of the broker's JVM; of the last one when the broker is stopped."""
        if self._process is None:
            raise StackError(f"broker {self.bootstrap} was never started")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the JVM runs (a paused one runs)."""
        return self._process is not None and self._process.is_running

    @property
    def log_path(self) -> Path:
        """What the broker said, all its starts one after the other."""
        return self.directory / "broker.log"

    def stop(self) -> None:
        """Shut down in order; by force after 20 s. A stopped broker stays stopped."""
        if self._process is not None:
            self._process.stop(STOP_GRACE_S)

    def kill(self) -> None:
        """End the broker at once (SIGKILL), as a power cut of its process would."""
        if self._process is not None:
            self._process.kill()

    def restart(self, *, deadline_s: float = START_DEADLINE_S) -> None:
        """Stop the broker if it runs, and start it with the same ports and records.

        Args:
            deadline_s: How long the broker may take to answer again.

        Raises:
            StackError: As in `start`.
        """
        self.stop()
        self._run(deadline_s)

    def pause(self) -> None:
        """Freeze the broker: connections stay open and nothing answers (SIGSTOP)."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Let a frozen broker go on (SIGCONT)."""
        if self._process is not None:
            self._process.resume()

    def _write_settings(self, controller_port: int, properties: Mapping[str, str]) -> None:
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"{HOST}:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "CLIENT",
            "listeners": f"CLIENT://{self.bootstrap},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": f"CLIENT://{self.bootstrap},CONTROLLER://{HOST}:{controller_port}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "records"),
            **SETTINGS,
            **properties,
        }
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.directory / "server.properties").write_text(text, encoding="utf-8")

    def _java(self, main_class: str, *arguments: str) -> ManagedProcess:
        return ManagedProcess.start(
            [
                java_executable(),
                "-Xms256m",
                "-Xmx512m",
                "-XX:+ExitOnOutOfMemoryError",
                f"-Dlog4j2.configurationFile={LOGGING}",
                "-cp",
                class_path("kafka"),
                main_class,
                *arguments,
            ],
            self.log_path,
            cwd=self.directory,
        )

    def _format(self, deadline_s: float) -> None:
        """Give the records folder an identity; one that has it already is left alone."""
        cluster_id = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        tool = self._java(
            "kafka.tools.StorageTool", "format", "--ignore-formatted", "--standalone",
            f"--cluster-id={cluster_id}", "--config", str(self.directory / "server.properties"),
        )  # fmt: skip
        with tool:
            if tool.wait(deadline_s) != 0:
                raise StackError(f"Kafka's storage was not formatted\n{tool.log_tail()}")

    def _run(self, deadline_s: float) -> None:
        self._process = self._java("kafka.Kafka", str(self.directory / "server.properties"))
        try:
            self._process.wait_for(self._answers, deadline_s)
        except BaseException:
            self._process.kill()
            raise

    def _cluster_id(self) -> str | None:
        text = (self.directory / "records" / "meta.properties").read_text(encoding="utf-8")
        found = re.search(r"^cluster\.id=(.+)$", text, re.MULTILINE)
        return found[1] if found else None

    def _answers(self) -> bool:
        """Whether the broker has joined its own cluster and tells clients so."""
        with socket.socket() as probe:
            if probe.connect_ex((HOST, self._port)) != 0:
                return False
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            cluster = client.list_topics(timeout=2.0)
        except KafkaException:
            return False
        # Where the port was taken, somebody else's broker answers while ours ends.
        return bool(cluster.brokers) and cluster.cluster_id == self._cluster_id()

    def __enter__(self) -> Self:
        """Return the broker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the broker."""
        self.stop()


def free_port(*, taken: int | None = None) -> int:
    """Find a port nobody listens on; somebody else may still be quicker, which `start` reports."""
    for _ in range(200):
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if port != taken:
            return port
    raise StackError(f"no free port between {PORTS.start} and {PORTS.stop}")
