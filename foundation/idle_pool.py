"""Things that cost time to open, kept open for whoever wants the same next, and closed after a while.

Each is used by one at a time. No more than a few are kept, and none that was open in a parent process. This
file must not know what is kept.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdlePool(Generic[K, V]):
    """Open things that nobody uses, the one that was last used last."""

    def __init__(self, most: int, good_s: float, close: Callable[[V], None]) -> None:
        """Keep at most so many, each for so many seconds; `close` closes one."""
        self._most = most
        self._good_s = good_s
        self._close = close
        # What a parent process kept may have been in the middle of anything, so it is not even closed.
        self._inherited: list[tuple[K, V, float]] = []
        self._idle: list[tuple[K, V, float]] = []
        self.begin()

    def begin(self) -> None:
        """Have none: what a parent process kept is not for its child."""
        self._inherited += self._idle
        self._idle = []
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def take(self, key: K) -> V | None:
        """Return one that was kept under this key, which is the caller's from then on; or None."""
        with self._lock:
            for at in reversed(range(len(self._idle))):
                if self._idle[at][0] == key:
                    _, found, idle_s = self._idle.pop(at)
                    break
            else:
                return None
        if time.monotonic() - idle_s < self._good_s:
            return found
        self._close(found)
        return None

    def put(self, key: K, thing: V) -> None:
        """Keep one that nobody uses any more."""
        with self._lock:
            self._idle.append((key, thing, time.monotonic()))
            surplus = [each for _, each, _ in self._idle[: -self._most]]
            del self._idle[: -self._most]
            self._wait()
        for each in surplus:
            self._close(each)

    def end(self) -> None:
        """Close all."""
        with self._lock:
            timer = self._timer
        self._close_since(float("inf"))
        if timer is not None:
            timer.join()

    def _close_old(self) -> None:
        self._close_since(time.monotonic() - self._good_s)

    def _close_since(self, since_s: float) -> None:
        with self._lock:
            old = [each for _, each, idle_s in self._idle if idle_s <= since_s]
            self._idle = [entry for entry in self._idle if entry[2] > since_s]
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._wait()
        for each in old:
            self._close(each)

    def _wait(self) -> None:
        if self._idle and self._timer is None:
            timer = threading.Timer(self._good_s, self._close_old)
            timer.daemon = True
            # It may be too late for a new thread; then they are closed at the end.
            with contextlib.suppress(RuntimeError):
                timer.start()
                self._timer = timer
