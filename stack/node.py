"""One JVM of Apache Kafka, whatever its role: formatted, run, disturbed and ended.

The single broker and the cluster of several start their nodes here, from a settings file and the
jars of `make setup`. It must not know listeners, topics or how nodes find each other; that is in
the settings.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from stack.errors import StackError
from stack.java import LOGGING, class_path, java_executable
from stack.process import ManagedProcess
from stack.stoppable import Stoppable

START_DEADLINE_S = 60.0
STOP_GRACE_S = 20.0


class KafkaNode(Stoppable):
    """One Kafka process and its folder; it never outlives this process."""

    def __init__(self, directory: Path, settings: Mapping[str, str], *, heap_mb: int = 512) -> None:
        """Describe a node whose files are in `directory`, and write its settings there."""
        self.directory = directory.resolve()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._heap_mb = heap_mb
        self._process: ManagedProcess | None = None
        settings = {"log.dirs": str(self.records), **settings}
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        self._settings_path.write_text(text, encoding="utf-8")

    @property
    def pid(self) -> int:
        """The process id of the JVM; of the last one when the node is stopped."""
        if self._process is None:
            raise StackError(f"the Kafka node in {self.directory} was never started")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the JVM runs (a paused one runs)."""
        return self._process is not None and self._process.is_running

    @property
    def log_path(self) -> Path:
        """What the node said, all its starts one after the other."""
        return self.directory / "broker.log"

    @property
    def records(self) -> Path:
        """Where the node keeps its partitions, one folder each."""
        return self.directory / "records"

    @property
    def cluster_id(self) -> str | None:
        """The cluster that the records folder belongs to; None before it is formatted."""
        path = self.records / "meta.properties"
        if not path.exists():
            return None
        found = re.search(r"^cluster\.id=(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else None

    def format(self, cluster_id: str, *arguments: str, deadline_s: float = START_DEADLINE_S) -> None:
        """Give the records folder an identity; one that has it already is left alone.

        Raises:
            StackError: A setting is wrong; the message ends with what Kafka says.
        """
        tool = self._java(
            "kafka.tools.StorageTool", "format", "--ignore-formatted", f"--cluster-id={cluster_id}",
            "--config", str(self._settings_path), *arguments,
        )  # fmt: skip
        with tool:
            if tool.wait(deadline_s) != 0:
                raise StackError(f"Kafka's storage was not formatted\n{tool.log_tail()}")

    def adopt(self, cluster_id: str, node_id: int) -> None:
        """Make the records folder of a broker part of a cluster, which needs no tool and no JVM."""
        self.records.mkdir(exist_ok=True)
        identity = f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={random_uuid()}\n"
        (self.records / "meta.properties").write_text(identity, encoding="utf-8")

    def run(self) -> None:
        """Start the JVM, and do not wait for it."""
        self._process = self._java("kafka.Kafka", str(self._settings_path))

    def wait_for(self, is_ready: Callable[[], bool], deadline_s: float = START_DEADLINE_S) -> None:
        """Wait until a running node is as wanted; one that is not in time is killed.

        Raises:
            StackError: The node ended or was late; the message ends with the tail of its log.
        """
        assert self._process is not None
        self._process.await_start(is_ready, deadline_s)

    def stop(self) -> None:
        """Shut down in order; by force after 20 s. A stopped node stays stopped."""
        if self._process is not None:
            self._process.stop(STOP_GRACE_S)

    def kill(self) -> None:
        """End the node at once (SIGKILL), as a power cut of its process would."""
        if self._process is not None:
            self._process.kill()

    def pause(self) -> None:
        """Freeze the node: connections stay open and nothing answers (SIGSTOP)."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Let a frozen node go on (SIGCONT)."""
        if self._process is not None:
            self._process.resume()

    @property
    def _settings_path(self) -> Path:
        return self.directory / "server.properties"

    def _java(self, main_class: str, *arguments: str) -> ManagedProcess:
        return ManagedProcess.start(
            [
                java_executable(),
                f"-Xms{self._heap_mb // 2}m",
                f"-Xmx{self._heap_mb}m",
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


def random_uuid() -> str:
    """Return a new identity in Kafka's own spelling."""
    # Kafka's tools take a leading dash for an option.
    return base64.urlsafe_b64encode(b"k" + os.urandom(15)).decode().rstrip("=")
