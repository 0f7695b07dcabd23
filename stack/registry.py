"""A real schema registry: Apicurio Registry, with its schemas in memory.

It speaks the interface of Confluent's registry, so Confluent's serializers register
with it. It is empty whenever it starts. It must not know formats or records.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Final, Self

from stack.errors import StackError
from stack.java import ROOT, java_executable
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable
from stack.waiting import is_answered

START_DEADLINE_S: Final = 120.0
_FOLDER: Final = ROOT / "build" / "jars" / "registry"


class SchemaRegistryServer(Stoppable):
    """A running registry, which ends when this process ends."""

    def __init__(self, process: ManagedProcess, port: int) -> None:
        """Hold a started server; use `start`."""
        self.process = process
        self.url = f"http://{HOST}:{port}/apis/ccompat/v7"

    @classmethod
    def start(cls, directory: Path, *, deadline_s: float = START_DEADLINE_S) -> Self:
        """Start an empty registry and wait until it answers.

        Args:
            directory: Holds its log.
            deadline_s: How long it may take to answer.

        Raises:
            StackError: Java or the archive is missing, or the server ended or was late.
        """
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        process = ManagedProcess.start(
            [java_executable(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", _program()],
            directory / "registry.log",
            {"QUARKUS_HTTP_PORT": str(port), "QUARKUS_HTTP_HOST": HOST},
            cwd=directory,
        )
        started = cls(process, port)
        process.await_start(started.answers, deadline_s)
        return started

    def answers(self) -> bool:
        """Whether the registry lists its subjects."""
        return is_answered(f"{self.url}/subjects")

    def stop(self) -> None:
        """Stop the registry, and with it all it knew."""
        self.process.stop(5)


def _program() -> Path:
    archives = sorted(_FOLDER.glob("*.tar.gz"))
    if not archives:
        raise StackError(f"there is no archive in {_FOLDER}; run `make setup`")
    unpacked = archives[0].with_suffix("").with_suffix("")
    if not unpacked.exists():
        # Renamed when whole: another process may start a registry at the same time, or this one be killed.
        whole = Path(tempfile.mkdtemp(dir=_FOLDER, prefix="unpacking-"))
        with tarfile.open(archives[0]) as archive:
            archive.extractall(whole, filter="data")
        try:
            whole.rename(unpacked)
        except OSError:
            shutil.rmtree(whole)
    found = sorted(unpacked.glob("*-runner.jar"))
    if not found:
        raise StackError(f"{unpacked} holds no registry; remove {_FOLDER} and run `make setup`")
    return found[0]
