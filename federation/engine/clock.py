"""How long one statement may still take, and who may stop it.

One clock runs from the first step of planning to the last row. Everything that
waits on a statement's behalf asks it: the engine is interrupted from a thread
of its own, and reads from Kafka and files ask between their steps. The file
does not know what a statement does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from federation.errors import QueryCancelledError, QueryTimeoutError

_WATCH_S: Final = 0.05


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
        if self.stopped_by is None:
            self.stopped_by = self._reason_to_stop()
        if self.stopped_by is not None:
            raise self.stopped_by

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Within the block, call `interrupt` again and again once the statement has to stop.

        An interrupt that comes before the engine has begun is lost, so once is not enough.

        Raises:
            Nothing of its own.
        """
        is_done = threading.Event()

        def watch() -> None:
            while not is_done.wait(_WATCH_S):
                if self.stopped_by is None:
                    self.stopped_by = self._reason_to_stop()
                if self.stopped_by is not None:
                    interrupt()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_done.set()
            thread.join()

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
