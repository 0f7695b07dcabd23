"""What tests of the Iceberg REST catalog share: a table to be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import Lake, commit_until
from tests.conftest import MakeLake
from tests.sql_gateway.iceberg.events import send


@pytest.fixture
def made(lake: MakeLake, tmp_path: Path) -> Lake:
    """Four records that are cold and two that are hot."""
    found = lake(partitions=1).having(hotStorePath=str(tmp_path / "store"))
    send(found, 0, 6)
    commit_until(found, {0: 4})
    return found
