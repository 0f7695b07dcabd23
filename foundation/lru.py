"""Keep what was found of things that never change, within a bound.

Snapshots, metadata files, data files and logs of one topic id are immutable, so
what was learned of one stays true; only memory has to be bounded. The least
recently used is forgotten first, and forgetting costs time, never an answer.
This file must not know what is kept.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A bounded store of findings, for any number of threads.

    The newest finding stays whatever it weighs: it is what is asked for next.
    """

    def __init__(self, limit: int, weigh: Callable[[V], int] = lambda _found: 1) -> None:
        """Keep at most what weighs `limit` together; each finding weighs 1 unless `weigh` says else."""
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.begin()
        _all.add(self)

    def begin(self) -> None:
        """Be free to use: a thread that had the lock when a process was forked gives it back no more."""
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return what was found, or None if nothing was or it is forgotten."""
        with self._lock:
            if key not in self._found:
                return None
            self._found.move_to_end(key)
            return self._found[key][0]

    def put(self, key: K, found: V) -> None:
        """Keep what was found, in place of what was kept under this key."""
        weight = self._weigh(found)
        with self._lock:
            self._put(key, found, weight)

    def keep(self, key: K, found: V) -> V:
        """Return what is kept under this key, one thing for all who ask; if nothing is, keep this."""
        weight = self._weigh(found)
        with self._lock:
            if key not in self._found:
                self._put(key, found, weight)
            self._found.move_to_end(key)
            return self._found[key][0]

    def forget(self, key: K) -> None:
        """Forget what was found under this key, if anything was."""
        with self._lock:
            found = self._found.pop(key, None)
            self._weight -= 0 if found is None else found[1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()
            self._weight = 0

    def _put(self, key: K, found: V, weight: int) -> None:
        self._weight += weight - self._found.pop(key, (found, 0))[1]
        self._found[key] = (found, weight)
        while self._weight > self._limit and len(self._found) > 1:
            self._weight -= self._found.popitem(last=False)[1][1]


_all: Final[WeakSet[LruCache[Any, Any]]] = WeakSet()


def _begin_all() -> None:
    for each in _all:
        each.begin()


os.register_at_fork(after_in_child=_begin_all)
