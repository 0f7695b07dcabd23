"""The foreign writers that tests share: starting one takes as long as most tests of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack import KafkaBroker
from stack.connect import ConnectWorker


@pytest.fixture(scope="package")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectWorker]:
    """A Connect worker without sinks; a test that kills it starts it again."""
    with ConnectWorker.start(tmp_path_factory.mktemp("connect"), bootstrap=broker.bootstrap) as running:
        yield running
