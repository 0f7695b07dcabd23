"""Questions to a cluster whose answers are waited for, and how the Python client answers them.

It must not know what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Generic, Protocol, TypeVar

from confluent_kafka.admin import AdminClient

K = TypeVar("K")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """A question, and its answer once it is there."""

    def wait(self, wait_s: float) -> bool:
        """Wait for the answer; return whether it is there."""

    def result(self) -> T_co:
        """Return the answer, or raise what kept it from coming."""


class PendingFutures(Generic[K, T]):
    """Answers of the admin client."""

    def __init__(self, admin: AdminClient, futures: Mapping[K, Future[T]]) -> None:
        self._admin = admin
        self._futures = futures

    def wait(self, wait_s: float) -> bool:
        """Wait for the answers; return whether all are there."""
        if not wait(self._futures.values(), wait_s).not_done:
            return True
        self._admin.poll(0)
        return False

    def result(self) -> dict[K, T]:
        """Return the answers, or raise what kept one from coming."""
        return {key: future.result(timeout=0) for key, future in self._futures.items()}
