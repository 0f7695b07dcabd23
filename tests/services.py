"""Which tests start services, and that no other test does.

A mark that has to be remembered is soon forgotten where it matters, so `service` is given by what a test
asks for, and a test without it that starts a program of a service fails. It must not know what is tested.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

# Fixtures that start a service, and older marks that say the same of a whole file.
SERVERS: Final = {"broker", "cluster", "frail_broker", "postgres", "registry", "rest_on_store", "store"}
FIXTURES: Final = SERVERS | {"spark"}
MARKS: Final = ("kafka", "registry", "spark")
PROGRAMS: Final = {"initdb", "java", "postgres", "spark-submit"}
MODULES: Final = ("benchmarks.", "stack.")


def starts_services(item: pytest.Item) -> bool:
    """Whether a test asks for a service, or for a foreign writer that is no recording."""
    asked: Iterable[str] = getattr(item, "fixturenames", ())
    call = getattr(item, "callspec", None)
    return not FIXTURES.isdisjoint(asked) or (call is not None and call.params.get("stage") == "live")


class UnmarkedServiceError(AssertionError):
    """A test starts a service and does not say so."""


class Watch:
    """Knows which test runs, and refuses it the programs of services unless it is marked `service`."""

    def __init__(self) -> None:
        self._running: pytest.Item | None = None
        sys.addaudithook(self._hear)

    @staticmethod
    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if starts_services(item) or any(item.get_closest_marker(mark) for mark in MARKS):
                item.add_marker(pytest.mark.service)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._running = None if item.get_closest_marker("service") else item
        try:
            return (yield)
        finally:
            self._running = None

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "subprocess.Popen" or self._running is None:
            return
        words = [os.fsdecode(word) for word in arguments[1]]
        if found := [word for word in words if Path(word).name in PROGRAMS or word.startswith(MODULES)]:
            raise UnmarkedServiceError(
                f"{self._running.nodeid} starts {found[0]} and is not marked `service`: mark it, or add the"
                " fixture that starts it to FIXTURES in tests/services.py"
            )
