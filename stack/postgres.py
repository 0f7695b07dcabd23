"""A PostgreSQL server, because catalogs of many people are kept in one.

A catalog in a file cannot refuse a password, be gone or be silent. The server refuses to run as
root, so root starts it as nobody, in a folder that nobody may enter. It must not know what its
tables are for.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final, Self

from stack.errors import StackError
from stack.java import ROOT
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable

START_DEADLINE_S: Final = 60.0
USER: Final = "catalog"
PASSWORD: Final = "of-the-database"  # noqa: S105 - of a server of this machine only
NOBODY: Final = 65534

# Nothing here has to survive a power cut.
SETTINGS: Final = {"fsync": "off", "unix_socket_directories": "", "max_connections": "50"}


class PostgresServer(Stoppable):
    """A running server with one database, which ends when this process ends."""

    def __init__(self, process: ManagedProcess, port: int, home: Path) -> None:
        """Hold a started server; use `start`."""
        self.process = process
        self.port = port
        self._home = home

    @classmethod
    def start(cls, *, deadline_s: float = START_DEADLINE_S) -> Self:
        """Start an empty server in a folder of its own, and wait until it answers.

        Raises:
            StackError: The server's programs are missing, or it ended or was late.
        """
        home = Path(tempfile.mkdtemp(prefix="postgres-"))
        try:
            _unpack(home)
            process, port = _run(home)
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
        started = cls(process, port, home)
        try:
            process.wait_for("ready to accept connections", deadline_s)
        except BaseException:
            started.stop()
            raise
        return started

    @property
    def uri(self) -> str:
        """The address with user and password, as pyiceberg takes it."""
        return f"postgresql+psycopg2://{USER}:{PASSWORD}@{HOST}:{self.port}/postgres"

    def restart(self, *, deadline_s: float = START_DEADLINE_S) -> None:
        """Stop the server and start it with the same port and tables.

        Raises:
            StackError: As in `start`.
        """
        self._end()
        self.process = _serve(self._home, self.port)
        self.process.wait_for("ready to accept connections", deadline_s)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self.process.resume()
        self._end()
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self) -> None:
        self.process.send_signal(signal.SIGINT)  # without waiting for clients to go
        self.process.stop(5)


def _unpack(home: Path) -> None:
    jars = sorted((ROOT / "build" / "jars" / "postgres").glob("*.jar"))
    if not jars:
        raise StackError(f"there is no jar in {ROOT / 'build' / 'jars' / 'postgres'}; run `make setup`")
    with zipfile.ZipFile(jars[0]) as jar:
        name = next(name for name in jar.namelist() if name.endswith(".txz"))
        with jar.open(name) as packed, tarfile.open(fileobj=packed, mode="r|xz") as tar:
            tar.extractall(home / "programs", filter="data")
    (home / "password").write_text(PASSWORD, encoding="utf-8")
    if os.geteuid() == 0:
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _run(home: Path) -> tuple[ManagedProcess, int]:
    made = subprocess.run(
        [
            *_as_user(), home / "programs" / "bin" / "initdb", "-D", home / "data",
            "-U", USER, "--pwfile", home / "password", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale=C", "--no-sync",
        ],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if made.returncode:
        raise StackError(f"initdb ended with code {made.returncode}: {made.stderr[-1000:]}")
    port = free_port()
    return _serve(home, port), port


def _serve(home: Path, port: int) -> ManagedProcess:
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    program = home / "programs" / "bin" / "postgres"
    return ManagedProcess.start(
        [*_as_user(), program, "-D", home / "data", "-h", HOST, "-p", str(port), *settings],
        home / "postgres.log",
        cwd=home,
    )


def _as_user() -> list[str]:
    is_root = os.geteuid() == 0
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if is_root else []
