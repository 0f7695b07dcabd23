"""One real registry for the run; subjects are named after topics, so no test meets another's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stack.registry import SchemaRegistryServer


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistryServer]:
    """A registry that tests may add to and must leave running."""
    with SchemaRegistryServer.start(tmp_path_factory.mktemp("registry")) as running:
        yield running
