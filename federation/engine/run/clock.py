"""How long one statement may still take, and who may stop it.

One clock runs from the first step of planning to the last row. Everything that
waits on a statement's behalf asks it: the engine is interrupted from a thread
of its own, and reads from Kafka and files ask between their steps. The file
does not know what a statement does.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from federation.errors import QueryCancelledError, QueryTimeoutError

_WATCH_S: Final = 0.05
# The thread that looks waits so long for another statement.
_IDLE_S: Final = 5.0


class StatementClock:
    """One statement's time. Once it has a reason to stop, it keeps that reason."""

    def __init__(self, timeout_ms: int, is_abandoned: Callable[[], bool]) -> None:
        self._timeout_ms = timeout_ms
        self._ends_s = time.monotonic() + timeout_ms / 1000
        self._is_abandoned = is_abandoned
        self.stopped_by: Exception | None = None

    @property
    def remaining_ms(self) -> int:
        """Milliseconds left, never below zero."""
        return max(0, int((self._ends_s - time.monotonic()) * 1000))

    def require_going_on(self) -> None:
        """Raise if the statement has to stop.

        Raises:
            QueryTimeoutError: Its time is over.
            QueryCancelledError: Nobody waits for the answer any more.
        """
        if self.has_to_stop() and self.stopped_by is not None:
            raise self.stopped_by

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Within the block, call `interrupt` again and again once the statement has to stop.

        An interrupt that comes before the engine has begun is lost, so once is not enough.
        """
        with _watch.on(self, interrupt):
            yield

    def has_to_stop(self) -> bool:
        """Return whether the statement has to stop; the reason is kept."""
        if self.stopped_by is None:
            self.stopped_by = self._reason_to_stop()
        return self.stopped_by is not None

    def _reason_to_stop(self) -> Exception | None:
        if time.monotonic() >= self._ends_s:
            return QueryTimeoutError(
                f"the statement ran longer than {self._timeout_ms} ms and was stopped; "
                "read less, or have the limit raised",
                timeout_ms=self._timeout_ms,
            )
        if self._is_abandoned():
            return QueryCancelledError("the statement was stopped: its client has gone")
        return None


class _Watch:
    """Looks after all statements of this process, in one thread, which is there while there are some.

    Invariant: once a statement's block is left, nothing is interrupted for it any more.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Look after nobody: no thread survives a fork, and who held a lock then gives it back no more."""
        self._changed = threading.Condition()
        self._running: dict[StatementClock, Callable[[], None]] = {}
        self._is_looking = False
        self._is_over = False
        self._thread: threading.Thread | None = None

    @contextmanager
    def on(self, clock: StatementClock, interrupt: Callable[[], None]) -> Iterator[None]:
        with self._changed:
            if not self._is_looking and not self._is_over:
                self._thread = threading.Thread(target=self._look, name="statements", daemon=True)
                self._thread.start()
                self._is_looking = True
            self._running[clock] = interrupt
        try:
            yield
        finally:
            with self._changed:
                del self._running[clock]

    def _look(self) -> None:
        idle_s = 0.0
        with self._changed:
            while (self._running or idle_s < _IDLE_S) and not self._is_over:
                self._changed.wait(_WATCH_S)
                idle_s = 0.0 if self._running else idle_s + _WATCH_S
                self._interrupt_late()
            self._is_looking = False

    def end(self) -> None:
        """Look no more: a thread that a process ends under keeps the engine from ending in order."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _interrupt_late(self) -> None:
        for clock, interrupt in self._running.items():
            if clock.has_to_stop():
                interrupt()


_watch: Final = _Watch()
os.register_at_fork(after_in_child=_watch.begin)
atexit.register(_watch.end)
