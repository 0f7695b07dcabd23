"""One behaviour over all catalogs and warehouses: what holds for SQLite on disk holds for the others.

The servers are real: PostgreSQL, Apache Iceberg's REST catalog, and an S3-compatible store that checks
signatures. Each is started once for a run.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import time

import pytest

from coldset.errors import TableNotFoundError
from coldset.table.catalog import PinnedTable, open_catalog, pin
from coldset.table.storage import storage_of
from coldset.write.data_writer import write_files
from coldset.write.fenced_commit import commit_append
from federation.engine.run.query import run_query
from federation.options.config import Config
from federation.plan import plan_cold_splits
from federation.table import open_table
from stack.catalog_proxy import CatalogProxy
from stack.objects import ObjectStore
from stack.rest_catalog import RestCatalog
from tests.coldset.sites import MakeSite, Site, of_store, rows, with_references

pytestmark = pytest.mark.service

KINDS = ["sqlite+disk", "sqlite+s3", "postgres+disk", "postgres+s3", "rest+s3"]


@pytest.fixture(params=KINDS)
def site(request: pytest.FixtureRequest, make: MakeSite) -> Site:
    return make(request.param)


def test_what_is_appended_is_read(site: Site) -> None:
    assert site.read() == []

    site.append(1, 2)
    before = site.pin()
    site.append(3)

    assert site.read() == [1, 2, 3]
    assert before.snapshot_id != site.pin().snapshot_id
    assert (
        pin(open_catalog("site", site.properties), site.table, snapshot_id=before.snapshot_id).uuid
        == before.uuid
    )


def test_a_table_that_is_not_there_is_said_to_be_missing(site: Site) -> None:
    with pytest.raises(TableNotFoundError, match="none"):
        pin(open_catalog("site", site.properties), "lake.none")
    with pytest.raises(TableNotFoundError, match="none"):
        pin(open_catalog("site", site.properties), "none.none")


def test_a_commit_lands_on_what_its_fence_saw(site: Site) -> None:
    site.append(1)
    storage = storage_of("site", site.properties, site.table)
    files = list(write_files(site.pin().layout, rows(2, 3), storage))
    seen: list[int | None] = []

    def fence(pinned: PinnedTable) -> None:
        seen.append(pinned.snapshot_id)
        if len(seen) == 1:
            site.append(9)  # another one is quicker

    catalog = open_catalog("site", site.properties)
    landed = commit_append(
        catalog, site.table, files, {"k": "v"}, commit_id="c", pin_tag="boundary", fence=fence
    )

    assert len(seen) == 2
    assert seen[0] != seen[1]
    assert site.pin().snapshot_id == landed
    assert site.read() == [1, 2, 3, 9]


def test_every_way_in_reads_the_same(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.append(1, 2, 3)
    options = with_references(site, monkeypatch)

    by_library = open_table(site.table, options, config=Config()).scan().to_arrow()
    by_sql = run_query(f"SELECT sum(id) FROM {site.table}", {site.table: {**options, "path": site.table}})

    assert sorted(by_library["id"].to_pylist()) == [1, 2, 3]
    assert by_sql.rows.column(0).to_pylist() == [6]


def test_credentials_that_a_catalog_lends_reach_readers_and_nothing_else(
    make: MakeSite, store: ObjectStore, rest_on_store: RestCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    site = make("rest+s3")
    site.append(1, 2)
    lent = {**of_store(store), "s3.session-token": "lent-for-an-hour"}
    with CatalogProxy.start(rest_on_store.uri) as proxy, caplog.at_level(logging.DEBUG):
        proxy.add_to_answers(table={"config": lent})
        options = {"catalog.type": "rest", "catalog.uri": proxy.uri, "read": "cold"}

        scan = open_table(site.table, options, config=Config()).scan()
        found = scan.to_arrow()
        [split] = plan_cold_splits(scan.taken, ["id"])
        shipped = pickle.dumps(split)
        elsewhere = subprocess.run(
            [sys.executable, "-c", READ_ELSEWHERE], input=shipped, capture_output=True, check=True
        )

    assert found["id"].to_pylist() == [1, 2]
    assert elsewhere.stdout.split() == [b"1", b"2"]
    seen = f"{shipped!r} {scan.receipt!r} {scan.taken!r} {caplog.text}"
    for secret in (store.secret_access_key, "lent-for-an-hour"):
        assert secret not in seen


READ_ELSEWHERE = """
import pickle, sys
from federation.read import read_split
for batch in read_split(pickle.load(sys.stdin.buffer)):
    print(*batch["id"].to_pylist(), sep="\\n")
"""


def test_credentials_are_asked_for_again_before_they_end(
    make: MakeSite, store: ObjectStore, rest_on_store: RestCatalog
) -> None:
    site = make("rest+s3")
    with CatalogProxy.start(rest_on_store.uri) as proxy:
        ends_ms = int(time.time() * 1000) + 1000
        proxy.add_to_answers(
            table={"config": {"s3.session-token-expires-at-ms": str(ends_ms), "s3.region": "a"}}
        )
        of_proxy = {"type": "rest", "uri": proxy.uri}
        assert storage_of("site", of_proxy, site.table)["s3.region"] == "a"

        proxy.add_to_answers(table={"config": {**of_store(store), "s3.region": "b"}})
        assert storage_of("site", of_proxy, site.table)["s3.region"] == "b"

        proxy.add_to_answers(table={"config": {"s3.region": "c"}})
        assert storage_of("site", of_proxy, site.table)["s3.region"] == "b"
