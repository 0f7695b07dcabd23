"""One running program: started, watched through its log, signalled, and surely ended.

The demo, the tests and the services of this package all need programs that cannot be left behind,
however the caller ends. It must not know which program it runs: no Kafka, no Spark, no HTTP.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from stack.errors import StackError
from stack.stoppable import Stoppable

GUARD = Path(__file__).with_name("guard.py")
POLL_S = 0.02


class ManagedProcess(Stoppable):
    """A program that ends when its owner ends, even if the owner is killed.

    Signals are delivered by the guard that is its parent (see `stack.guard`), never by number from
    afar, so they cannot hit a stranger that was given the same process id.
    """

    def __init__(
        self,
        *,
        guard: subprocess.Popen[bytes],
        channel: socket.socket,
        pid: int,
        log_path: Path,
        log_start_bytes: int,
    ) -> None:
        """Hold a started program; use `start`."""
        self.pid = pid
        self.log_path = log_path
        self._guard = guard
        self._channel = channel
        self._log_start_bytes = log_start_bytes
        self._lock = threading.Lock()

    @classmethod
    def start(
        cls,
        argv: Sequence[str | Path],
        log_path: Path,
        env: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
    ) -> Self:
        """Start a program whose output is appended to a file.

        Args:
            argv: The program and its arguments.
            log_path: Where standard output and standard error go; its folder is created.
            env: Variables added to those of this process.
            cwd: The folder to start in; this process's own by default.

        Returns:
            The running program, with its process id known.

        Raises:
            StackError: There is no such program, or it may not be run.
        """
        log_path.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno()), str(os.getpid())]
        with log_path.open("ab") as log, theirs:
            log_start_bytes = log.tell()
            guard = subprocess.Popen(
                [*command, *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                pass_fds=[theirs.fileno()],
                # Ctrl-C belongs to the owner, who then stops its programs in the right order.
                start_new_session=True,
            )
        try:
            word, _, rest = _read_line(ours).partition(" ")
        except BaseException:
            # Nobody will hold this program, so it must be gone when the caller hears of it.
            ours.close()
            guard.wait()
            raise
        if word != "pid":
            ours.close()
            guard.wait()
            raise StackError(f"{argv[0]} did not start: {rest or 'its guard ended'}")
        return cls(
            guard=guard,
            channel=ours,
            pid=int(rest),
            log_path=log_path,
            log_start_bytes=log_start_bytes,
        )

    @property
    def returncode(self) -> int | None:
        """How the program ended: its exit code, minus the signal that ended it, or None."""
        return self._guard.poll()

    @property
    def is_running(self) -> bool:
        """Whether the program has not ended yet (a paused program runs)."""
        return self.returncode is None

    def wait(self, timeout_s: float) -> int:
        """Wait for the program's own end.

        Args:
            timeout_s: How long to wait.

        Returns:
            The return code, as in `returncode`.

        Raises:
            StackError: The program still runs; it is left running.
        """
        try:
            return self._guard.wait(timeout_s)
        except subprocess.TimeoutExpired as exc:
            raise StackError(
                f"process {self.pid} still runs after {timeout_s:g} s\n{self.log_tail()}"
            ) from exc

    def wait_for(self, condition: str | re.Pattern[str] | Callable[[], bool], deadline_s: float) -> None:
        """Wait until the program is as wanted.

        Args:
            condition: A regular expression to be found in what this program has logged, or a
                function that answers whether to stop waiting.
            deadline_s: How long to wait.

        Raises:
            StackError: The program ended first, or was late; the message ends with its log's tail.
        """
        is_met = condition if callable(condition) else self._logged(condition)
        until = time.monotonic() + deadline_s
        while True:
            ended = not self.is_running  # Before the look, so that last words are not missed.
            if is_met():
                return
            if ended:
                raise StackError(
                    f"process {self.pid} ended with code {self.returncode} while being waited for"
                    f"\n{self.log_tail()}"
                )
            if time.monotonic() > until:
                raise StackError(
                    f"process {self.pid} was not ready within {deadline_s:g} s\n{self.log_tail()}"
                )
            time.sleep(POLL_S)

    def await_start(self, condition: str | re.Pattern[str] | Callable[[], bool], deadline_s: float) -> None:
        """Wait until the program is as wanted; it is killed if that does not come about.

        Args:
            condition: As for `wait_for`.
            deadline_s: How long to wait.

        Raises:
            StackError: The program ended first, or was late.
        """
        try:
            self.wait_for(condition, deadline_s)
        except BaseException:
            self.kill()
            raise

    def log_text(self) -> str:
        """Return what this program has logged since it was started."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start_bytes)
            return log.read().decode("utf-8", "replace")

    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of the log, under a heading that names the file."""
        tail = self.log_text().splitlines()[-lines:]
        return "\n".join([f"--- last lines of {self.log_path} ---", *tail])

    def send_signal(self, signum: int) -> bool:
        """Deliver a signal: to the program, or to its whole group for KILL, STOP and CONT.

        Returns:
            Whether the program was there to receive it.
        """
        with self._lock:
            try:
                self._channel.sendall(bytes([signum]))
                return _read_line(self._channel) == "ok"
            except OSError:
                return False

    def stop(self, grace_s: float = 20.0) -> int:
        """End the program in order, and by force if it takes longer than `grace_s`.

        Returns:
            The return code, as in `returncode`.
        """
        self.resume()
        self.send_signal(signal.SIGTERM)
        try:
            return self._guard.wait(grace_s)
        except subprocess.TimeoutExpired:
            return self.kill()
        finally:
            self._close_if_ended()

    def kill(self) -> int:
        """End the program and all it started at once (SIGKILL).

        Returns:
            The return code, as in `returncode`.
        """
        self.send_signal(signal.SIGKILL)
        returncode = self._guard.wait()
        self._close_if_ended()
        return returncode

    def pause(self) -> None:
        """Freeze the program and all it started (SIGSTOP)."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen program go on (SIGCONT)."""
        self.send_signal(signal.SIGCONT)

    def _logged(self, expression: str | re.Pattern[str]) -> Callable[[], bool]:
        pattern = re.compile(expression, 0 if isinstance(expression, re.Pattern) else re.MULTILINE)
        return lambda: pattern.search(self.log_text()) is not None

    def _close_if_ended(self) -> None:
        if not self.is_running:
            self._channel.close()


def _read_line(channel: socket.socket) -> str:
    """Read one answer of the guard; empty when the guard has ended."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = channel.recv(1)
        if not byte:
            break
        line += byte
    return line.decode().strip()
