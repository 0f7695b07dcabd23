"""What the oracle's scenarios share: worlds, and the tally of all verdicts at the end of a run.

A run that passes has no wrong answers, but how many answers it judged is worth knowing too: a scenario
that silently asks nothing would pass as well.
"""

from __future__ import annotations

from typing import Protocol

import pytest

from tests.conftest import MakeLake
from tests.oracle.world import TALLY, World


class MakeWorld(Protocol):
    def __call__(self, *, partitions: int = 2) -> World: ...


@pytest.fixture
def world(lake: MakeLake) -> MakeWorld:
    """A maker of worlds."""
    return lambda *, partitions=2: World(lake(partitions=partitions))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TALLY:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(TALLY.items()))
        terminalreporter.write_line(f"oracle: {TALLY.total()} answers judged: {told}")
