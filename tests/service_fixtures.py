"""The fixtures of services: real servers that tests may fill and must leave running, one of a kind for a run.

Who lends them is in `lent_services`. What is called frail is of one process, and a test may hurt it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from stack import KafkaBroker
from stack.objects import ObjectStore
from stack.postgres import PostgresServer
from stack.registry import SchemaRegistryServer
from stack.rest_catalog import RestCatalog
from tests.lent_services import Address, Lender, borrow, lent

Lend = Callable[[str], Any]

_LENDER: Final = pytest.StashKey[Lender]()
_ADDRESS: Final = pytest.StashKey[Address]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):

        def new_folder(name: str) -> Path:
            # It is there once all plugins are configured.
            folder: Path = config._tmp_path_factory.mktemp(name)
            return folder

        config.stash[_LENDER] = Lender(new_folder)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    stash = node.config.stash
    if _ADDRESS not in stash:
        stash[_ADDRESS] = stash[_LENDER].open_to_others()
    node.workerinput["lender"] = stash[_ADDRESS]


def pytest_unconfigure(config: pytest.Config) -> None:
    if _LENDER in config.stash:
        config.stash[_LENDER].close()


@pytest.fixture(scope="session")
def lend(request: pytest.FixtureRequest) -> Lend:
    """Where servers are had from: this process, or the one that hands out tests."""
    config = request.config
    if hasattr(config, "workerinput"):
        return lambda name: borrow(config.workerinput["lender"], name)
    return lambda name: lent(config.stash[_LENDER].lend(name))


@pytest.fixture(scope="session")
def broker(lend: Lend) -> KafkaBroker:
    found: KafkaBroker = lend("broker")
    return found


@pytest.fixture(scope="session")
def registry(lend: Lend) -> SchemaRegistryServer:
    """A schema registry, whose subjects are named by topic."""
    found: SchemaRegistryServer = lend("registry")
    return found


@pytest.fixture(scope="session")
def store(lend: Lend) -> ObjectStore:
    found: ObjectStore = lend("store")
    return found


@pytest.fixture(scope="session")
def postgres(lend: Lend) -> PostgresServer:
    found: PostgresServer = lend("postgres")
    return found


@pytest.fixture(scope="session")
def rest_on_store(lend: Lend) -> RestCatalog:
    """A REST catalog whose warehouse is in the object store."""
    found: RestCatalog = lend("rest_on_store")
    return found


@pytest.fixture(scope="session")
def frail_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker of this process alone, which a test may freeze or stop, and leaves running."""
    with KafkaBroker.start(tmp_path_factory.mktemp("frail_broker")) as running:
        yield running
