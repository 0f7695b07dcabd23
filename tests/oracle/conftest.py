"""What the oracle's scenarios share: worlds.

A world is one table with everything that happens to it; nobody shares one. What was judged in all of them
is told at the end of a run by `tests/conftest.py`.
"""

from __future__ import annotations

from typing import Protocol

import pytest

from tests.conftest import MakeLake
from tests.oracle.world import World


class MakeWorld(Protocol):
    def __call__(self, *, partitions: int = 2) -> World: ...


@pytest.fixture
def world(lake: MakeLake) -> MakeWorld:
    """A maker of worlds."""
    return lambda *, partitions=2: World(lake(partitions=partitions))
