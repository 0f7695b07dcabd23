"""One time budget for all blocking calls of an operation.

A timeout per call lets ten calls take ten timeouts; a deadline that is passed
down cannot. It uses the monotonic clock only, and must not know what it times.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock after which an operation must give up."""

    at_s: float
    budget_ms: int

    @classmethod
    def after_ms(cls, budget_ms: int) -> Deadline:
        """Return the deadline `budget_ms` milliseconds from now."""
        return cls(time.monotonic() + budget_ms / 1000, budget_ms)

    @property
    def remaining_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at_s - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """True once nothing is left."""
        return time.monotonic() >= self.at_s
