"""What tests of foreign writers share: a worker of Connect, and lakes whose names a recording knows.

Starting a writer takes as long as most tests of it, so there is one of a kind, if any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from stack import KafkaBroker
from stack.connect import ConnectWorker
from tests.builders import EVENTS, new_lake
from tests.conftest import MakeLake
from tests.fixtures.stage_fixtures import LIVE
from tests.fixtures.staged_writers import StagedWorker
from tests.fixtures.stages import Live, StagedLake


@pytest.fixture(scope="package")
def connect_program(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectWorker]:
    """A Connect worker without sinks; a test that kills it starts it again."""
    with ConnectWorker.start(tmp_path_factory.mktemp("connect"), bootstrap=broker.bootstrap) as running:
        yield running


@pytest.fixture
def worker(stage: Live, request: pytest.FixtureRequest) -> StagedWorker:
    is_live = request.node.callspec.params["stage"] == LIVE
    return StagedWorker(stage, request.getfixturevalue("connect_program") if is_live else None)


@pytest.fixture
def lake(broker: KafkaBroker, stage: Live, tmp_path: Path) -> MakeLake:
    """A maker of lakes, as elsewhere; here a recording says how they are named."""

    def make(
        *,
        partitions: int = 2,
        schema: pa.Schema = EVENTS,
        properties: Mapping[str, str] | None = None,
        topic: bool = True,
    ) -> StagedLake:
        name = stage.name("events")
        folder = tmp_path / name
        folder.mkdir()
        count = partitions if topic else 0
        new = new_lake(
            broker.bootstrap,
            folder,
            partitions=count,
            schema=schema,
            properties=properties,
            name=name,
            retention_ms="-1",  # a recording may be old
        )
        made = StagedLake(new.bootstrap, new.directory, new.table, new.topic, stage=stage)
        stage.knows(made)
        return made

    return make
