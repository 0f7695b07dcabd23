"""The gateway as an Iceberg REST catalog: what it says, what it refuses, and what pyiceberg reads through it.

Format: Iceberg 1.12, `rest-catalog-open-api.yaml`.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError, UnauthorizedError

from sql_gateway.embedded import serve_catalog
from stack import KafkaBroker
from stack.objects import ObjectStore
from tests.builders import Lake, commit_until, delete_records, delete_topic, in_version_3
from tests.conftest import MakeLake
from tests.object_lakes import object_lake
from tests.sql_gateway.door import open_door
from tests.sql_gateway.iceberg.events import name_of, send

pytestmark = pytest.mark.kafka


@pytest.fixture
def client(made: Lake) -> FlaskClient:
    return open_door(made)


@pytest.fixture
def catalog(made: Lake) -> RestCatalog:
    served = serve_catalog({made.table: made.merged()})
    return RestCatalog("gateway", uri=served.uri, token=served.token)


def seqs(catalog: RestCatalog, name: str) -> list[int]:
    return sorted(catalog.load_table(name).scan().to_arrow().column("seq").to_pylist())


def error_of(answer: Any) -> dict[str, Any]:
    assert answer.mimetype == "application/json"
    error: dict[str, Any] = answer.get_json()["error"]
    assert set(error) == {"message", "type", "code"}
    assert error["code"] == answer.status_code
    return error


def test_what_can_be_asked_is_said_first(client: FlaskClient) -> None:
    told = client.get("/iceberg/v1/config").get_json()

    assert (told["defaults"], told["overrides"]) == ({}, {})
    assert {endpoint.partition(" ")[0] for endpoint in told["endpoints"]} == {"GET", "HEAD"}


def test_namespaces_are_the_union_and_its_halves(client: FlaskClient, made: Lake) -> None:
    found = client.get("/iceberg/v1/namespaces").get_json()

    assert found["namespaces"] == [["lake"], ["lake_cold"], ["lake_hot"]]
    assert client.get("/iceberg/v1/namespaces?parent=lake").get_json()["namespaces"] == []
    for name in ("lake", "lake_hot", "lake_cold"):
        assert client.get(f"/iceberg/v1/namespaces/{name}").get_json()["namespace"] == [name]
        assert client.head(f"/iceberg/v1/namespaces/{name}").status_code in (200, 204)
        tables = client.get(f"/iceberg/v1/namespaces/{name}/tables").get_json()["identifiers"]
        assert tables == [{"namespace": [name], "name": name_of(made)}]


def test_a_table_is_its_metadata_at_a_fresh_cut(client: FlaskClient, made: Lake) -> None:
    path = f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}"
    assert client.head(path).status_code == 204

    first = client.get(path).get_json()
    again = client.get(path).get_json()
    send(made, 6, 7)
    later = client.get(path).get_json()

    assert set(first) == {"metadata-location", "metadata", "config"}
    # Nothing has happened in between, so it is the same one.
    assert first["metadata-location"] == again["metadata-location"] != later["metadata-location"]
    assert later["metadata"]["table-uuid"] == str(made.load().metadata.table_uuid)
    assert later["metadata"]["snapshots"][-1]["summary"]["kafkaiceberg.rows-hot"] == "3"


def test_who_reads_as_of_a_time_is_shown_the_cut_alone(client: FlaskClient, made: Lake) -> None:
    """Of two snapshots such a client would take the one before, which has no hot rows."""
    path = f"/iceberg/v1/namespaces/{{}}/tables/{name_of(made)}"
    agent = {"User-Agent": "duckdb/v1.5.5(linux_amd64) python"}
    others = client.get(path.format("lake")).get_json()["metadata"]

    union = client.get(path.format("lake"), headers=agent).get_json()["metadata"]
    cold = client.get(path.format("lake_cold"), headers=agent).get_json()["metadata"]

    [shown] = union["snapshots"]
    assert shown["snapshot-id"] == others["current-snapshot-id"] == union["current-snapshot-id"]
    assert shown["timestamp-ms"] == union["last-updated-ms"] < others["last-updated-ms"]
    assert [ref["snapshot-id"] for ref in union["refs"].values()] == [shown["snapshot-id"]]
    assert cold == client.get(path.format("lake_cold")).get_json()["metadata"]


def test_clients_may_ask_for_the_snapshots_of_refs_only(client: FlaskClient, made: Lake) -> None:
    path = f"/iceberg/v1/namespaces/lake_cold/tables/{name_of(made)}"
    commit_until(made)
    whole = client.get(f"{path}?snapshots=all").get_json()["metadata"]

    refs = client.get(f"{path}?snapshots=refs").get_json()["metadata"]

    assert len(whole["snapshots"]) == 2
    wanted = {ref["snapshot-id"] for ref in whole["refs"].values()}
    assert {snapshot["snapshot-id"] for snapshot in refs["snapshots"]} == wanted


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("namespaces/nowhere", "NoSuchNamespaceException"),
        ("namespaces/nowhere/tables", "NoSuchNamespaceException"),
        ("namespaces/lake/tables/nothing", "NoSuchTableException"),
    ],
)
def test_what_is_not_there_is_said_in_the_protocols_words(client: FlaskClient, path: str, kind: str) -> None:
    assert error_of(client.get(f"/iceberg/v1/{path}"))["type"] == kind


@pytest.mark.parametrize("method", ["post", "delete"])
def test_writes_are_refused(client: FlaskClient, made: Lake, method: str) -> None:
    answer = getattr(client, method)(f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}")

    error = error_of(answer)
    assert (answer.status_code, error["type"]) == (405, "UnsupportedOperationException")
    assert "read-only" in error["message"]


def test_an_error_of_a_half_is_said_with_its_code(client: FlaskClient, made: Lake) -> None:
    delete_topic(made.bootstrap, made.topic)

    answer = client.get(f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}")

    # The frozen half needs no topic, but no cut of the union can be taken without one.
    assert "TOPIC_NOT_FOUND" in error_of(answer)["message"]
    assert error_of(answer)["type"] == "IllegalArgumentException"


def test_an_error_that_stays_is_no_reason_to_ask_again(client: FlaskClient, made: Lake) -> None:
    delete_records(made.bootstrap, made.topic, {0: 5})

    answer = client.get(f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}")

    assert "OFFSET_GAP" in error_of(answer)["message"]
    assert answer.status_code == 400


def test_a_gateway_with_a_token_asks_for_it(made: Lake, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("open", encoding="utf-8")
    client = open_door(made, settings={"token": f"${{file:{secret}}}"})

    for headers in ({}, {"Authorization": "Bearer shut"}):
        answer = client.get("/iceberg/v1/config", headers=headers)
        assert answer.status_code == 401
    assert client.get("/iceberg/v1/config", headers={"Authorization": "Bearer open"}).status_code == 200


def test_credentials_are_lent_only_by_those_who_say_so(made: Lake) -> None:
    secret = {"catalog.s3.access-key-id": "${env:PATH}", "catalog.s3.endpoint": "http://127.0.0.1:9"}
    path = f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}"
    with_secret = made.having(**secret)

    silent = open_door(with_secret).get(path).get_json()["config"]
    lending = open_door(with_secret, settings={"lendStorageAccess": "true"}).get(path).get_json()["config"]

    assert silent["s3.endpoint"] == "http://127.0.0.1:9"
    assert "s3.access-key-id" not in silent
    assert "s3.access-key-id" in lending


def test_pyiceberg_reads_the_union_and_its_halves(catalog: RestCatalog, made: Lake) -> None:
    assert seqs(catalog, made.table) == list(range(6))
    assert seqs(catalog, f"lake_cold.{name_of(made)}") == list(range(4))
    assert seqs(catalog, f"lake_hot.{name_of(made)}") == [4, 5]
    send(made, 6, 8)
    assert seqs(catalog, made.table) == list(range(8))
    commit_until(made)
    assert seqs(catalog, made.table) == list(range(8))
    assert seqs(catalog, f"lake_hot.{name_of(made)}") == []


def test_pyiceberg_reads_tables_and_hot_rows_in_an_object_store(
    broker: KafkaBroker, store: ObjectStore, tmp_path: Path
) -> None:
    stored = object_lake(broker.bootstrap, store, tmp_path)
    stored = stored.having(scratchLocation=f"{store.uri}/scratch-{stored.topic}")
    send(stored, 0, 6)
    commit_until(stored, {0: 4})
    served = serve_catalog({stored.table: stored.merged()})

    # The catalog lends what reaches the store.
    found = RestCatalog("gateway", uri=served.uri, token=served.token)

    assert seqs(found, stored.table) == list(range(6))
    assert seqs(found, f"lake_hot.{name_of(stored)}") == [4, 5]
    assert not list((tmp_path / "store").rglob("snapshots/*"))


def test_pyiceberg_hears_what_is_wrong(catalog: RestCatalog, made: Lake) -> None:
    with pytest.raises(NoSuchTableError):
        catalog.load_table("lake.nothing")
    with pytest.raises(Exception, match=r"(?i)not support|read-only"):
        catalog.drop_table(made.table)
    with pytest.raises(UnauthorizedError):
        RestCatalog("gateway", uri=str(catalog.properties["uri"]), token="another").list_namespaces()


def test_a_table_that_was_loaded_stays_at_its_cut(catalog: RestCatalog, made: Lake) -> None:
    loaded = catalog.load_table(made.table)
    send(made, 6, 9)
    commit_until(made)

    assert sorted(loaded.scan().to_arrow().column("seq").to_pylist()) == list(range(6))


def test_many_clients_at_once_read_whole_cuts(catalog: RestCatalog, made: Lake) -> None:
    wrong: list[list[int]] = []
    told: list[int] = []

    def read() -> None:
        for _ in range(5):
            found = seqs(catalog, made.table)
            told.append(len(found))
            if found != list(range(len(found))):
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for seq in range(6, 20):
        send(made, seq, seq + 1)
        if seq % 5 == 0:
            commit_until(made)
    for reader in readers:
        reader.join()

    assert wrong == []
    assert len(told) == 20
    assert seqs(catalog, made.table) == list(range(20))


def test_what_has_gone_is_published_anew(client: FlaskClient, made: Lake, tmp_path: Path) -> None:
    path = f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}"
    first = client.get(path).get_json()["metadata-location"]
    shutil.rmtree(tmp_path / "store" / "ephemeral")

    again = client.get(path).get_json()["metadata-location"]

    assert again != first
    assert Path(again.removeprefix("file://")).exists()


def test_the_cold_half_of_a_pinned_table_is_what_is_pinned(made: Lake) -> None:
    snapshot = made.load().current_snapshot()
    assert snapshot is not None
    commit_until(made)
    name, pinned = name_of(made), made.having(**{"snapshot-id": str(snapshot.snapshot_id)})

    told = open_door(pinned).get(f"/iceberg/v1/namespaces/lake_cold/tables/{name}").get_json()["metadata"]

    assert told["current-snapshot-id"] == told["refs"]["main"]["snapshot-id"] == snapshot.snapshot_id


def test_a_table_of_version_3_has_its_halves(lake: MakeLake, tmp_path: Path) -> None:
    third = in_version_3(lake(partitions=1).having(hotStorePath=str(tmp_path / "store")))
    client = open_door(third)

    for namespace in ("lake", "lake_hot", "lake_cold"):
        answer = client.get(f"/iceberg/v1/namespaces/{namespace}/tables/{name_of(third)}")
        assert answer.status_code == 200, answer.text
        assert answer.get_json()["metadata"]["format-version"] == 3


@pytest.mark.parametrize("path", ["namespaces/lake/views", "namespaces/lake/tables/x/credentials", "nothing"])
def test_what_this_catalog_has_not_is_said_in_the_protocols_words(client: FlaskClient, path: str) -> None:
    answer = client.get(f"/iceberg/v1/{path}")

    assert answer.status_code == 404
    error_of(answer)


def test_a_table_that_its_catalog_has_dropped_is_not_there(client: FlaskClient, made: Lake) -> None:
    made.catalog.drop_table(made.table)

    answer = client.get(f"/iceberg/v1/namespaces/lake/tables/{name_of(made)}")

    assert (answer.status_code, error_of(answer)["type"]) == (404, "NoSuchTableException")
