"""What the gateway tells about its tables without a statement.

Listing reads nothing; a table's page and its freshness take a cut each.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from flask.testing import FlaskClient

from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake
from tests.sql_gateway.door import assert_error, open_door

pytestmark = pytest.mark.kafka

NOTES = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])


@pytest.fixture(scope="module")
def half(lake: MakeLake) -> Lake:
    made = lake(schema=NOTES)
    produce(made.bootstrap, made.topic, [{"id": n} for n in range(3)])
    commit_until(made)
    produce(made.bootstrap, made.topic, [{"id": 3}])
    return made


@pytest.fixture(scope="module")
def client(half: Lake) -> FlaskClient:
    return open_door(half)


def test_tables_are_listed(client: FlaskClient, half: Lake) -> None:
    assert client.get("/v1/tables").get_json() == {"tables": [{"name": half.table, "read": "union"}]}


def test_a_table_shows_its_columns(client: FlaskClient, half: Lake) -> None:
    body = client.get(f"/v1/tables/{half.table}").get_json()

    assert (body["name"], body["topic"], body["isolation"]) == (half.table, half.topic, "read_committed")
    assert body["columns"] == [
        {"name": "id", "type": "int64", "nullable": False},
        {"name": "note", "type": "string", "nullable": True},
    ]


def test_freshness_is_told_without_reading_records(client: FlaskClient, half: Lake) -> None:
    body = client.get(f"/v1/tables/{half.table}/freshness").get_json()

    assert body["hot_span"] == 1
    assert body["partitions"][0] == {"partition": 0, "committed": 3, "start": 3, "end": 4, "held_back": 0}
    assert "rows_hot" not in body
    assert body["cut"].startswith("kic1.")


@pytest.mark.parametrize("path", ["/v1/tables/lake.none", "/v1/tables/lake.none/freshness"])
def test_an_unknown_table_is_not_found(client: FlaskClient, path: str) -> None:
    assert_error(client.get(path), 404, "NOT_FOUND", says="lake.none")


def test_the_gateway_says_that_it_lives(client: FlaskClient) -> None:
    assert client.get("/healthz").get_json() == {"status": "ok"}
