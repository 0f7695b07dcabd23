"""Catalogs and stores that are gone, silent or unwilling: an error that says which, and soon.

The servers are real, with a proxy before them that breaks the network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from coldset.errors import CatalogConfigError, CatalogUnavailableError, ColdReadError, ColdsetError
from coldset.plan.file_plan import plan_cold
from coldset.read.read_files import read_cold
from coldset.table import metadata_file as kept_metadata
from stack import TcpProxy
from stack.objects import ObjectStore
from stack.postgres import PASSWORD, PostgresServer
from tests.builders import HANG_S
from tests.coldset.sites import MakeSite, Site, of_store

pytestmark = pytest.mark.service


def in_time(
    read: Callable[[], object], error: type[ColdsetError], heal: Callable[[], None] | None = None
) -> str:
    """What an error says that has to come before the network is healed."""
    healing = threading.Timer(HANG_S, heal or (lambda: None))
    healing.start()
    try:
        with pytest.raises(error) as caught:
            read()
    finally:
        healing.cancel()
    return str(caught.value)


def data_file(site: Site) -> str:
    [task] = plan_cold(site.pin(), split_bytes=1 << 20)
    return task.files[0].path


@pytest.fixture
def proxy(store: ObjectStore) -> Iterator[TcpProxy]:
    with TcpProxy.start("127.0.0.1", store.port) as running:
        yield running


@pytest.mark.parametrize("fault", ["reset", "black_hole", "half_open"])
def test_a_store_that_is_not_reached_is_an_error_that_names_the_file(
    make: MakeSite, store: ObjectStore, proxy: TcpProxy, fault: str
) -> None:
    site = make("sqlite+s3")
    site.append(1)
    limits = {"s3_connect-timeout": "1", "s3_request-timeout": "1"}
    behind = site.having(**of_store(store, f"http://{proxy.address}"), **limits)
    assert behind.read() == [1]
    getattr(proxy, fault)()

    said = in_time(behind.read, ColdReadError, proxy.pass_through)

    assert data_file(site) in said
    proxy.pass_through()
    assert behind.read() == [1]


def test_a_store_that_refuses_is_an_error_that_names_the_file(make: MakeSite) -> None:
    site = make("sqlite+s3")
    site.append(1)
    site.read()

    wrong = {**site.properties, "s3.secret-access-key": "wrong", "s3.region": "us-east-1"}
    said = in_time(lambda: read_with(site, wrong), ColdReadError)

    assert data_file(site) in said
    assert "ACCESS_DENIED" in said or "SIGNATURE" in said


def test_an_object_that_is_gone_is_an_error_that_names_it(make: MakeSite, store: ObjectStore) -> None:
    site = make("rest+s3")
    site.append(1)
    path = data_file(site)
    (store.folder / path.removeprefix(f"{store.uri}/")).unlink()

    assert path in in_time(site.read, ColdReadError)


def test_metadata_that_is_not_reached_is_a_catalog_that_does_not_answer(
    make: MakeSite, store: ObjectStore, proxy: TcpProxy
) -> None:
    site = make("postgres+s3")
    limits = {"s3_connect-timeout": "1", "s3_request-timeout": "1"}
    behind = site.having(**of_store(store, f"http://{proxy.address}"), **limits)
    behind.pin()
    site.append(1)
    kept_metadata._kept.clear()
    proxy.black_hole()

    assert site.table in in_time(behind.pin, CatalogUnavailableError, proxy.pass_through)


def test_a_database_that_hangs_is_cut_off(make: MakeSite, postgres: PostgresServer) -> None:
    site = make("postgres+disk")
    with TcpProxy.start("127.0.0.1", postgres.port) as between:
        limits = {"sql_transaction-timeout-ms": "1000", "sql_connect-timeout-ms": "2000"}
        uri = postgres.uri.replace(str(postgres.port), str(between.port))
        hasty = site.having(uri=uri, **limits)
        hasty.pin()
        between.black_hole()

        assert site.table in in_time(hasty.pin, CatalogUnavailableError, between.pass_through)
        unconnected = hasty.having(echo="false")
        in_time(unconnected.pin, CatalogUnavailableError, between.pass_through)

        between.pass_through()
        assert hasty.pin().uuid == site.pin().uuid


def test_a_database_that_is_gone_and_one_that_refuses_are_told_apart(
    make: MakeSite, postgres: PostgresServer
) -> None:
    site = make("postgres+disk")
    uri = site.properties["uri"]

    gone = in_time(site.having(uri=uri.replace(str(postgres.port), "9")).pin, CatalogUnavailableError)
    refused = in_time(site.having(uri=uri.replace(PASSWORD, "a-wrong-one")).pin, CatalogConfigError)
    unknown = in_time(site.having(uri=uri.replace("/postgres", "/none")).pin, CatalogConfigError)

    assert "refused" in gone
    assert "password authentication failed" in refused
    assert "none" in unknown
    assert PASSWORD not in gone + refused + unknown
    assert "a-wrong-one" not in refused


def test_a_server_that_restarts_is_found_again(make: MakeSite) -> None:
    with PostgresServer.start() as own:
        site = make("postgres+disk", uri=own.uri)
        before = site.pin()
        own.restart()

        assert site.pin().uuid == before.uuid


def read_with(site: Site, storage: dict[str, str]) -> None:
    for task in plan_cold(site.pin(), split_bytes=1 << 20):
        list(read_cold(task, ("id",), storage))
