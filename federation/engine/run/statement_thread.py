"""Run a statement in a thread of its own, so that who waits for it can stop waiting.

A storage that hangs holds whoever opens a file on it, and nothing can interrupt that: not the
engine, not a clock. The thread then stays behind until the storage answers, while its statement
ends in an error, in time. Only so many threads may be left behind. What is run is decided elsewhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from federation.engine.run.clock import StatementClock
from federation.errors import EngineError, QueryCancelledError, QueryTimeoutError

T = TypeVar("T")

_MOST_LEFT: Final = 32
_LOOK_S: Final = 0.1
# What is interrupted ends by itself unless it hangs.
_GRACE_S: Final = 5.0

_left: Final[list[threading.Thread]] = []
_lock: Final = threading.Lock()


def run_aside(work: Callable[[], T], clock: StatementClock) -> T:
    """Return what `work` returns, or raise what it raises, while the clock lets the statement go on.

    Raises:
        QueryTimeoutError, QueryCancelledError: The statement had to stop, and `work` did not end.
        EngineError: Too many statements hang already.
    """
    if left_behind() >= _MOST_LEFT:
        raise EngineError(
            f"{_MOST_LEFT} statements still wait for files that do not answer, and no more may; "
            "mend the storage, or restart this process"
        )
    running = _Running(work)
    try:
        stopped_s: float | None = None
        while not running.is_done.wait(_LOOK_S):
            try:
                clock.require_going_on()
            except (QueryTimeoutError, QueryCancelledError):
                stopped_s = time.monotonic() if stopped_s is None else stopped_s
                if time.monotonic() - stopped_s > _GRACE_S:
                    raise
    except BaseException as exc:
        if not isinstance(exc, QueryTimeoutError | QueryCancelledError):
            # Whoever waits has been interrupted, so nobody waits any more.
            clock.stopped_by = QueryCancelledError("the statement was stopped: nobody waits for it")
        with _lock:
            _left.append(running.thread)
        raise
    return running.result()


def left_behind() -> int:
    """Return how many statements have ended in an error and still run."""
    with _lock:
        _left[:] = [thread for thread in _left if thread.is_alive()]
        return len(_left)


class _Running(Generic[T]):
    """Work that has been begun in a thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.is_done = threading.Event()
        self._work = work
        self._found: list[T] = []
        self._raised: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="statement", daemon=True)
        self.thread.start()

    def result(self) -> T:
        if self._raised is not None:
            raise self._raised
        return self._found[0]

    def _run(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised again, where somebody waits
            self._raised = exc
        finally:
            self.is_done.set()
