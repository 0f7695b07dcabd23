"""Time as a test lets it pass, for claims about limits: nobody sleeps, and no machine is too slow.

It stands in for the module `time` in the files that a test names, so that only they see the jumps.
"""

from __future__ import annotations

import time

import pytest


class Clock:
    """The monotonic clock, ahead by what was jumped."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead_s

    def jump(self, seconds: float) -> None:
        self._ahead_s += seconds


def clock_of(monkeypatch: pytest.MonkeyPatch, *modules: str) -> Clock:
    """Give modules that know no more of the time than the monotonic clock a clock of the test's own."""
    clock = Clock()
    for module in modules:
        monkeypatch.setattr(f"{module}.time", clock)
    return clock
