"""Tasks that need not be done at once, done one after the other by a thread of the process.

A task may begin a little later than it came, since whoever gave it is still at work and needs the processor;
not if somebody is in a hurry. The thread stays a while for the next task, for starting one costs more than
handing over does, and ends when none comes. Few tasks may wait: whoever is refused does the work himself.
All that were taken are done before the process ends, unless it is killed. It must not know what is done.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

_MOST: Final = 4
_STAYS_S: Final = 1.0
_AFTER_S: Final = 0.02

Task = Callable[[], object]


class Beside:
    """Tasks that were taken, the first one being done."""

    def __init__(self, name: str, after_s: float) -> None:
        """`after_s` is how long a task waits for whoever gave it."""
        self._name = name
        self._after_s = after_s
        self.begin()
        os.register_at_fork(after_in_child=self.begin)
        atexit.register(self.end)

    def begin(self) -> None:
        """Have no task and no thread: those of a parent process are its own."""
        self._lock = threading.Condition()
        self._tasks: deque[tuple[float, Task]] = deque()
        self._thread: threading.Thread | None = None
        self._is_ending = False
        self._is_hurried = False

    def take(self, task: Task) -> bool:
        """Return whether a task will be done; if not, there are too many, or it is too late for them.

        What the task raises is told of as any error that ends a thread is.
        """
        with self._lock:
            if self._is_ending or len(self._tasks) >= _MOST:
                return False
            if self._thread is None:
                # Not waited for by the interpreter but by `end`, which also lets it end.
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # there are no threads left
                    return False
                self._thread = thread
            self._tasks.append((time.monotonic() + self._after_s, task))
            self._lock.notify_all()
        return True

    def hurry(self) -> None:
        """Let the tasks that were taken begin now: somebody waits for them."""
        with self._lock:
            if self._tasks:
                self._is_hurried = True
                self._lock.notify_all()

    def settle(self, within_s: float) -> bool:
        """Wait until all tasks are done; return whether that came about."""
        self.hurry()
        with self._lock:
            return self._lock.wait_for(lambda: not self._tasks, within_s)

    def end(self) -> None:
        """Take no more tasks, and wait for those that were taken."""
        with self._lock:
            self._is_ending = True
            self._lock.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._tasks or self._is_ending, _STAYS_S)
                if not self._tasks:
                    self._thread = None
                    return
                begin_s, task = self._tasks[0]
                wait_s = begin_s - time.monotonic()
                self._lock.wait_for(lambda: self._is_hurried or self._is_ending, max(0.0, wait_s))
            try:
                task()
            except Exception:  # noqa: BLE001 - told of, and the next task is another's
                told = (*sys.exc_info(), threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(told))
            # A task may be all that holds what it was given.
            del task
            with self._lock:
                self._tasks.popleft()
                self._is_hurried = self._is_hurried and bool(self._tasks)
                self._lock.notify_all()


# The last one ends first, and what it stores may be noted with the other.
CHORES: Final = Beside("hot-store-chores", 0.0)
WRITES: Final = Beside("hot-store-writes", _AFTER_S)
