"""What tests share: servers for a run, one Spark session for a process, and a lake for each test.

What takes seconds to start lives as long as the run or the process; topics, tables and catalogs are cheap, so
nobody shares them and no test can see another's records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pytest

from hotset.native.availability import PURE, native_available
from stack import KafkaBroker
from stack.java import SHORT_LIVED
from tests.builders import EVENTS, Lake, new_lake
from tests.oracle.world import TALLY
from tests.services import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytest_plugins = ["tests.fixtures.stage_fixtures", "tests.service_fixtures"]

# Before anything starts a JVM, and for all of them: services, Spark, and what tests run as programs.
os.environ.setdefault("JDK_JAVA_OPTIONS", SHORT_LIVED)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Watch())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import Scheduling

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from tests.scheduling import place

        items.sort(key=lambda item: place(item.nodeid))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tally"] = dict(TALLY)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    TALLY.update(getattr(node, "workeroutput", {}).get("tally", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what the oracle has judged: scenarios that silently ask nothing would pass as well."""
    if TALLY:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(TALLY.items()))
        terminalreporter.write_line(f"oracle: {TALLY.total()} answers judged: {told}")


class MakeLake(Protocol):
    """Makes a fresh catalog, table and topic; `subscribe` is a read option, not a property."""

    def __call__(
        self,
        *,
        partitions: int = 2,
        schema: pa.Schema = EVENTS,
        properties: Mapping[str, str] | None = None,
        topic: bool = True,
    ) -> Lake: ...


@pytest.fixture(scope="session", autouse=True)
def no_configuration() -> Iterator[None]:
    """No configuration file of the machine has a say in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKAICEBERG_CONFIG", raising=False)
        yield


@pytest.fixture(params=["native", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which records are taken out of Kafka, which nobody may be able to tell apart."""
    monkeypatch.setenv(PURE, "" if request.param == "native" else "1")
    found = native_available()
    if request.param == "native" and not found.is_available:
        pytest.skip(f"nothing is read natively here: {found.reason}")
    return str(request.param)


@pytest.fixture(scope="session")
def lake(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> MakeLake:
    """A maker of lakes: each call gives a catalog, a table and a topic of their own."""

    def make(
        *,
        partitions: int = 2,
        schema: pa.Schema = EVENTS,
        properties: Mapping[str, str] | None = None,
        topic: bool = True,
    ) -> Lake:
        count = partitions if topic else 0
        directory = tmp_path_factory.mktemp("lake")
        return new_lake(broker.bootstrap, directory, partitions=count, schema=schema, properties=properties)

    return make


@pytest.fixture(scope="session")
def spark(no_configuration: None) -> Iterator[SparkSession]:
    """A local Spark session; starting it takes seconds, so tests that use it are marked `spark`."""
    from pipeline.session import open_session

    with pytest.MonkeyPatch.context() as patch:
        # The workers must import what this process imports, installed or not.
        patch.setenv("PYTHONPATH", os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")]))
        session = open_session("tests")
        yield session
        session.stop()
