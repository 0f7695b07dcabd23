"""Questions to a cluster whose answers are waited for, and how the Python client answers them.

It must not know what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, Final, Generic, Protocol, TypeVar

from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

K = TypeVar("K")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Kinds of offsets, as the protocol numbers them; any other number is a time in epoch milliseconds.
LATEST: Final = -1
EARLIEST: Final = -2


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


def offset_spec(kind: int) -> Any:
    """Return what the Python client calls a kind of offset."""
    if kind == LATEST:
        return OffsetSpec.latest()  # type: ignore[no-untyped-call]
    if kind == EARLIEST:
        return OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    return OffsetSpec.for_timestamp(kind)
