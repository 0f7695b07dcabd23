"""What tests of the store share: lakes whose hot records are kept, and a store to which little is much.

Nobody shares a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hotset.store.background_tasks import WRITES
from tests.builders import Lake
from tests.conftest import MakeLake

LIMIT = 1 << 28


@pytest.fixture
def kept(lake: MakeLake, tmp_path: Path) -> Callable[..., Lake]:
    """A maker of lakes whose hot records are kept in a store of their own."""

    def make(**options: str) -> Lake:
        place = {
            "hotStore": "on_demand",
            "hotStorePath": str(tmp_path / "store"),
            "hotStoreBytes": str(LIMIT),
        }
        return lake().having(**{**place, **options})

    return make


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tails and chunks of a few rows."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", 6)
    monkeypatch.setattr("hotset.store.resident_log.LARGE_ROWS", 20)
    monkeypatch.setattr("hotset.store.coverage.LARGE_ROWS", 40)
    monkeypatch.setattr("hotset.store.coverage.JOINED", 3)
    yield
    assert WRITES.settle(60.0)
