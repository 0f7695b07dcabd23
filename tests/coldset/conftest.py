"""What tests of catalogs and stores share: a maker of tables, by the kind of site."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldset.table.catalog import open_catalog
from stack.objects import ObjectStore
from tests.builders import unique
from tests.coldset.agreement import DISK, SparkTable, new_object_table, new_table
from tests.coldset.sites import SCHEMA, MakeSite, Site, of_store
from tests.fixtures.staged_writers import StagedSpark


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSite:
    """A maker of sites, by their kind."""

    def on(catalog: str, warehouse: str) -> dict[str, str]:
        properties = {"warehouse": tmp_path.as_uri()}
        if warehouse == "s3":
            held: ObjectStore = request.getfixturevalue("store")
            properties = {"warehouse": f"{held.uri}/{unique('w')}", **of_store(held)}
        if catalog == "rest":
            return {**properties, "type": "rest", "uri": request.getfixturevalue("rest_on_store").uri}
        uri = f"sqlite:///{tmp_path}/catalog.db"
        return {
            **properties,
            "type": "sql",
            "uri": uri if catalog == "sqlite" else request.getfixturevalue("postgres").uri,
        }

    def make_site(kind: str, **more: str) -> Site:
        site = Site({**on(*kind.split("+")), **more}, f"lake.{unique('t')}")
        catalog = open_catalog("site", site.properties)
        catalog.create_namespace_if_not_exists("lake")
        catalog.create_table(site.table, schema=SCHEMA)
        return site

    return make_site


@pytest.fixture
def spark_table(request: pytest.FixtureRequest, spark_writer: StagedSpark, tmp_path: Path) -> SparkTable:
    """A table that Spark may make at the site that a test names: in a file and on disk, or behind servers."""
    if request.param == DISK:
        return new_table(spark_writer, tmp_path)
    servers = [request.getfixturevalue(name) for name in ("rest_on_store", "store")]
    return new_object_table(spark_writer, tmp_path, *servers)
