"""Nobody chooses what code runs here but the machine's own configuration.

Properties of a catalog reach pyiceberg from the options of a read, from a REST server's answers and
from tables, and some of them name classes to import. The classes named here are real ones that
leave a mark when they are called.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from coldset.errors import CatalogConfigError
from coldset.table.catalog import open_catalog, pin
from coldset.table.catalog_properties import check_properties
from federation.options.config import Config
from federation.table import open_table
from stack.catalog_proxy import CatalogProxy
from stack.rest_catalog import RestCatalog
from tests.builders import make_table, unique
from tests.fixtures import own_code

OWN = "tests.fixtures.own_code"
ROWS = pa.schema([pa.field("id", pa.int64())])


@pytest.fixture(autouse=True)
def called() -> Iterator[list[str]]:
    """What of the code was called in a test."""
    own_code.called.clear()
    yield own_code.called
    own_code.called.clear()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("auth", "custom"),
        ("auth.impl", f"{OWN}.OwnAuth"),
        ("auth.manager", "x"),
        ("auth.type", f"{OWN}.OwnAuth"),
        ("auth.type", "custom"),
        ("botocore_session", "x"),
        ("client.profile-name", "admin"),
        ("gcp.bigquery.location", "here"),
        ("gcs.session-kwargs", "{}"),
        ("hdfs.kerberos_ticket", "/a/file"),
        ("py-catalog-impl", f"{OWN}.OwnFileIO"),
        ("py-io-impl", f"{OWN}.OwnFileIO"),
        ("s3.profile-name", "admin"),
        ("s3.retry-strategy-impl", f"{OWN}.own_retries"),
        ("s3.signer", "S3V4RestSigner"),
        ("s3.signer.uri", "http://elsewhere"),
        ("type", "own"),
        ("uri", "mssql+pyodbc://h/db?driver=/a/library.so"),
        ("uri", "postgresql+own://h/db"),
        ("uri", "postgresql://h/db#?plugin=own"),
        ("uri", "sqlite:////a/file?plugin=own"),
        ("write.py-location-provider.impl", f"{OWN}.OwnFileIO"),
    ],
)
def test_a_read_cannot_set_a_property_that_could_run_code(name: str, value: str) -> None:
    options = {"subscribe": "t", "kafka.bootstrap.servers": "b:9", f"catalog.{name}": value}

    with pytest.raises(CatalogConfigError, match=rf"catalog\.{name} cannot|catalog\.{name} is not|scheme"):
        open_table("a.b", options, config=Config())


def test_a_read_may_set_what_reaches_catalogs_and_stores() -> None:
    check_properties(
        {
            "type": "REST",
            "uri": "https://catalog",
            "warehouse": "s3://bucket/place",
            "credential": "user:word",
            "header.X-Iceberg-Access-Delegation": "vended-credentials",
            "rest.client.socket-timeout-ms": "1000",
            "s3.access-key-id": "a",
            "s3.endpoint": "http://store",
            "s3.request-timeout": "3",
            "ssl.cabundle": "/a/file.pem",
        }
    )
    for uri in ("sqlite:////a/file", "postgresql+psycopg2://u:w@h:1/db?sslmode=require", "thrift://h:1"):
        check_properties({"uri": uri})


def test_a_property_that_is_misspelt_is_told_its_neighbour() -> None:
    with pytest.raises(CatalogConfigError, match=r"did you mean catalog\.s3\.endpoint"):
        check_properties({"s3.end-point": "http://store"})


def test_the_configuration_file_may_name_code(tmp_path: Path, called: list[str]) -> None:
    reach = {"catalog.type": "sql", "catalog.uri": f"sqlite:///{tmp_path}/catalog.db"}
    catalog = open_catalog("default", {name.removeprefix("catalog."): value for name, value in reach.items()})
    catalog.create_namespace("a")
    catalog.create_table("a.b", schema=ROWS, location=tmp_path.as_uri()).append(
        pa.table({"id": [1, 2]}, ROWS)
    )
    config = Config(defaults={**reach, "read": "cold", "catalog.py-io-impl": f"{OWN}.OwnFileIO"})

    found = open_table("a.b", config=config).scan().to_arrow()

    assert found.column("id").to_pylist() == [1, 2]
    assert "OwnFileIO" in called


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    with RestCatalog.start(tmp_path_factory.mktemp("catalog")) as running:
        yield running


@pytest.mark.service
def test_the_answers_of_a_catalog_cannot_name_code(catalog: RestCatalog, called: list[str]) -> None:
    name = f"lake.{unique('t')}"
    make_table(open_catalog("fair", {"type": "rest", "uri": catalog.uri}), name, ROWS)
    code = {"py-io-impl": f"{OWN}.OwnFileIO", "s3.retry-strategy-impl": f"{OWN}.own_retries"}
    auth = {"type": "custom", "impl": f"{OWN}.OwnAuth", "custom": {"command": "any"}}
    with CatalogProxy.start(catalog.uri) as proxy:
        proxy.add_to_answers(
            config={**code, "auth": auth, "header.X-Told": "yes"},
            table={
                "config": {**code, "s3.endpoint": "http://told"},
                "storage-credentials": [{"prefix": "file:", "config": {**code, "s3.region": "told"}}],
            },
        )
        opened = open_catalog("foul", {"type": "rest", "uri": proxy.uri})
        pinned = pin(opened, name)

    assert called == []
    assert not {"auth", *code} & set(opened.properties)
    assert opened.properties["header.X-Told"] == "yes"
    told = pinned.table.io.properties
    assert (told["s3.endpoint"], told["s3.region"]) == ("http://told", "told")
    assert not set(code) & set(told)


@pytest.mark.service
def test_tables_cannot_say_how_files_are_reached(catalog: RestCatalog, called: list[str]) -> None:
    ill = {"py-io-impl": f"{OWN}.OwnFileIO", "s3.endpoint": "http://elsewhere"}
    opened = open_catalog("fair", {"type": "rest", "uri": catalog.uri, "s3.endpoint": "http://store"})
    name = f"lake.{unique('t')}"
    make_table(opened, name, ROWS, ill)

    pinned = pin(opened, name)

    assert called == []
    assert pinned.properties["s3.endpoint"] == "http://elsewhere"
    assert pinned.table.io.properties["s3.endpoint"] == "http://store"
