"""What is kept within a bound is what was asked for last, and a fork takes no lock along.

Threads and forks are real.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

from foundation.lru import LruCache


def test_the_least_recently_used_is_forgotten_first() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")

    cache.put("c", 3)

    assert [cache.get(name) for name in "abc"] == [1, None, 3]


def test_the_newest_stays_whatever_it_weighs() -> None:
    cache: LruCache[str, int] = LruCache(10, lambda weight: weight)
    cache.put("a", 6)

    cache.put("b", 60)
    assert [cache.get(name) for name in "ab"] == [None, 60]

    cache.put("b", 3)
    cache.put("a", 7)
    assert [cache.get(name) for name in "ab"] == [7, 3]


def test_who_comes_at_once_is_given_the_same() -> None:
    cache: LruCache[str, list[int]] = LruCache(2)
    together = threading.Barrier(16)

    def ask(number: int) -> list[int]:
        together.wait()
        return cache.keep("a", [number])

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, range(16)))

    assert all(each is found[0] for each in found)
    assert cache.keep("a", [99]) is found[0] is cache.get("a")


def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    with cache._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if cache.get("a") == 1 else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
