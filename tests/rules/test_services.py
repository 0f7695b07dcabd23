"""Tests that start services say so, because `make test-fast` leaves out what says so and nothing else.

The tests of this file are not marked `service`, so whatever they start has to be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.java_gateway import launch_gateway

from stack import KafkaBroker
from stack.objects import ObjectStore
from stack.spark_writer import SparkWriter
from tests.services import FIXTURES, UnmarkedServiceError

START: dict[str, Callable[[Path], object]] = {
    "broker": KafkaBroker.start,
    "object store": ObjectStore.start,
    "Spark": lambda _: launch_gateway(),  # which a session does not, if there is one already
    "Spark writer": SparkWriter,
}


@pytest.mark.parametrize("service", START)
def test_a_test_that_is_not_marked_starts_no_service(service: str, tmp_path: Path) -> None:
    with pytest.raises(UnmarkedServiceError, match="mark it, or add the fixture"):
        START[service](tmp_path)


def test_whatever_asks_for_a_service_is_marked(request: pytest.FixtureRequest) -> None:
    asking = [item for item in request.session.items if not FIXTURES.isdisjoint(item.fixturenames)]

    assert [item.nodeid for item in asking if item.get_closest_marker("service") is None] == []
