"""Commits through a real REST catalog that fails in every way: none lands twice, none is lost unseen.

The catalog is Apache Iceberg's reference server; the proxy before it decides what becomes of a
commit. Whether a commit landed is asked of the catalog itself, without the proxy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from foundation.errors import KafkaIcebergError
from stack import KafkaBroker, StackError
from stack.catalog_proxy import CUT_AFTER, CUT_BEFORE, HANG_AFTER, HANG_BEFORE, CatalogFault, CatalogProxy
from stack.rest_catalog import RestCatalog
from tests.builders import RestLake, commit_until, make_table, make_topic, produce, unique, wait_until

pytestmark = pytest.mark.kafka

ROWS = [{"run": "r", "producer": "p", "seq": seq, "txn": None} for seq in range(5)]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    with RestCatalog.start(tmp_path_factory.mktemp("catalog")) as running:
        yield running


@pytest.fixture
def proxy(catalog: RestCatalog) -> Iterator[CatalogProxy]:
    with CatalogProxy.start(catalog.uri) as running:
        yield running


@pytest.fixture
def lake(broker: KafkaBroker, proxy: CatalogProxy, tmp_path: Path) -> RestLake:
    """Five records in a topic, and a table behind the proxy that has none of them."""
    topic = make_topic(broker.bootstrap, unique("events"), partitions=1)
    made = RestLake(broker.bootstrap, tmp_path, f"lake.{topic}", topic, uri=proxy.uri)
    make_table(made.catalog, made.table)
    produce(broker.bootstrap, topic, ROWS)
    return made


@pytest.fixture
def committed(catalog: RestCatalog, lake: RestLake) -> Callable[[], int]:
    """Counts the rows of the table, whatever the proxy does."""
    direct = RestLake(lake.bootstrap, lake.directory, lake.table, lake.topic, uri=catalog.uri)
    return lambda: direct.load().scan().count()


def test_everything_passes_by_default(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int]
) -> None:
    commit_until(lake)

    assert proxy.commits == 1
    assert committed() == 5
    assert lake.sql(f"select count(*) from {lake.table}").values() == [[5]]


def test_a_refused_commit_is_tried_again(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int]
) -> None:
    proxy.fail_commits(CatalogFault(409), CatalogFault(409))

    commit_until(lake)

    assert proxy.commits == 3
    assert committed() == 5


@pytest.mark.parametrize(
    "fault",
    [*(CatalogFault(status, is_applied=True) for status in (409, 500, 502, 503, 504)), CUT_AFTER],
    ids=lambda fault: str(fault.status or "cut"),
)
def test_a_commit_whose_answer_is_lost_lands_once(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int], fault: CatalogFault
) -> None:
    proxy.fail_commits(fault)

    snapshot_id = commit_until(lake)

    assert lake.load().metadata.current_snapshot_id == snapshot_id
    assert proxy.commits == 1
    assert committed() == 5


@pytest.mark.parametrize(
    "fault",
    [*(CatalogFault(status) for status in (500, 502, 503, 504)), CUT_BEFORE],
    ids=lambda fault: str(fault.status or "cut"),
)
def test_a_commit_that_did_not_arrive_is_not_taken_for_landed(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int], fault: CatalogFault
) -> None:
    proxy.fail_commits(fault)

    with pytest.raises(KafkaIcebergError) as caught:
        commit_until(lake)

    assert caught.value.code == "COMMIT_STATE_UNKNOWN"
    assert committed() == 0
    commit_until(lake)
    assert committed() == 5


def test_a_catalog_that_is_gone_after_the_commit_leaves_it_unknown(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int]
) -> None:
    proxy.fail_commits(CatalogFault(is_applied=True, hangs=True))

    def go() -> None:
        wait_until(lambda: committed() == 5, "the commit to be applied")
        proxy.fail_everything(CatalogFault(503))
        proxy.release()

    going = threading.Thread(target=go)
    going.start()
    with pytest.raises(KafkaIcebergError) as caught:
        commit_until(lake)
    going.join()

    assert caught.value.code == "COMMIT_STATE_UNKNOWN"
    proxy.fail_everything(None)
    assert lake.sql(f"select count(*) from {lake.table}").values() == [[5]]


def test_a_commit_that_hangs_is_waited_for_only_so_long(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int]
) -> None:
    hasty = replace(lake, timeout_ms=3000)

    proxy.fail_commits(HANG_BEFORE)
    with pytest.raises(KafkaIcebergError) as caught:
        commit_until(hasty)
    assert caught.value.code == "COMMIT_STATE_UNKNOWN"
    assert committed() == 0

    proxy.fail_commits(HANG_AFTER)
    commit_until(hasty)
    assert committed() == 5


def test_a_hanging_request_goes_on_when_it_is_released(
    lake: RestLake, proxy: CatalogProxy, committed: Callable[[], int]
) -> None:
    proxy.fail_commits(replace(HANG_AFTER, status=504))
    committing = threading.Thread(target=commit_until, args=(lake,))
    committing.start()
    wait_until(lambda: committed() == 5, "the commit to be applied")
    assert committing.is_alive()

    proxy.release()

    committing.join(60)
    assert not committing.is_alive()
    assert proxy.commits == 1


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "new"])
def test_a_catalog_that_hangs_is_declared(lake: RestLake, proxy: CatalogProxy, is_known: bool) -> None:
    hasty = replace(lake, timeout_ms=2000)
    if is_known:
        hasty.load()
    proxy.fail_everything(HANG_BEFORE)

    with pytest.raises(KafkaIcebergError, match=r"timed out|Timeout") as caught:
        hasty.open().cut()

    assert caught.value.code == "CATALOG_UNAVAILABLE"


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_catalog_that_does_not_answer_is_declared(lake: RestLake, proxy: CatalogProxy, status: int) -> None:
    proxy.fail_everything(CatalogFault(status))

    with pytest.raises(KafkaIcebergError) as caught:
        lake.open().cut()

    assert caught.value.code == "CATALOG_UNAVAILABLE"
    proxy.fail_everything(None)
    assert lake.open().cut().hot_span == 5


def test_a_proxy_needs_an_address() -> None:
    with pytest.raises(StackError, match="no address of a catalog"):
        CatalogProxy.start("catalog")
