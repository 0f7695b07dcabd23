"""Statements over HTTP: rows in the form asked for, and the receipt with them.

A real topic and a real table are behind the gateway; only the socket is left out.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from flask.testing import FlaskClient

from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake
from tests.sql_gateway.door import open_door, query
from tests.transactions import transaction

pytestmark = pytest.mark.kafka

ARROW = "application/vnd.apache.arrow.stream"


def events(first: int, end: int) -> list[dict[str, Any]]:
    return [{"producer": "p", "seq": n} for n in range(first, end)]


@pytest.fixture(scope="module")
def half(lake: MakeLake) -> Lake:
    """Three records in the table and two beyond it."""
    made = lake()
    produce(made.bootstrap, made.topic, events(0, 3))
    commit_until(made)
    produce(made.bootstrap, made.topic, events(3, 5))
    return made


@pytest.fixture(scope="module")
def client(half: Lake) -> FlaskClient:
    return open_door(half)


def test_rows_are_arrays_under_named_columns(client: FlaskClient, half: Lake) -> None:
    body = query(client, f"select seq, producer p from {half.table} order by seq")

    assert [column["name"] for column in body["columns"]] == ["seq", "p"]
    assert [column["type"] for column in body["columns"]] == ["int64", "string"]
    assert body["rows"] == [[n, "p"] for n in range(5)]
    assert body["row_count"] == 5


def test_get_and_post_answer_alike(client: FlaskClient, half: Lake) -> None:
    sql = f"select count(*), sum(seq) from {half.table}"

    got = client.get("/v1/sql", query_string={"q": sql}).get_json()
    posted = query(client, sql)

    assert got["rows"] == posted["rows"]
    assert got["rows"] == [[5, 10]] or got["rows"] == [[5, "10"]]
    assert set(got) == set(posted)


def test_every_answer_has_its_receipt(client: FlaskClient, half: Lake) -> None:
    body = query(client, f"select * from {half.table}")

    [receipt] = body["receipt"]["tables"]
    assert receipt["table"] == half.table
    assert receipt["topic"] == half.topic
    assert receipt["snapshot_id"] == half.load().current_snapshot().snapshot_id
    assert (receipt["rows_cold"], receipt["rows_hot"]) == (3, 2)
    assert receipt["partitions"] == [
        {"partition": 0, "committed": 3, "start": 3, "end": 5, "held_back": 0},
        {"partition": 1, "committed": 0, "start": 0, "end": 0, "held_back": 0},
    ]
    assert receipt["newest_record_ms"] <= receipt["as_of_ms"]
    assert set(body["receipt"]["stages_ms"]) == {"plan", "execute"}


def test_arrow_answers_carry_the_same_receipt(client: FlaskClient, half: Lake) -> None:
    sql = f"select seq from {half.table} order by seq"

    answer = client.post("/v1/sql", json={"sql": sql}, headers={"Accept": ARROW})

    assert answer.mimetype == ARROW
    rows = pa.ipc.open_stream(answer.data).read_all()
    receipt = json.loads(rows.schema.metadata[b"kafkaiceberg.receipt"])
    assert rows.column("seq").to_pylist() == [0, 1, 2, 3, 4]
    assert receipt["query_id"] == answer.headers["X-Query-Id"]
    as_json = query(client, sql)["receipt"]
    assert set(receipt) == {*as_json, "query_id"}
    assert receipt["tables"][0]["cut"] == as_json["tables"][0]["cut"]


def test_an_empty_arrow_answer_has_its_schema(client: FlaskClient, half: Lake) -> None:
    sql = f"select seq from {half.table} where seq < 0"

    answer = client.get("/v1/sql", query_string={"q": sql}, headers={"Accept": ARROW})

    rows = pa.ipc.open_stream(answer.data).read_all()
    assert (rows.num_rows, rows.schema.names) == (0, ["seq"])


@pytest.mark.parametrize("accept", ["*/*", "application/json", f"{ARROW};q=0.5, application/json"])
def test_json_is_what_comes_unless_arrow_is_preferred(client: FlaskClient, accept: str) -> None:
    answer = client.get("/v1/sql", query_string={"q": "select 1"}, headers={"Accept": accept})

    assert answer.mimetype == "application/json"


def test_a_cut_token_brings_the_same_rows_back(lake: MakeLake) -> None:
    made = lake()
    client = open_door(made)
    produce(made.bootstrap, made.topic, events(0, 3))
    before = query(client, f"select seq from {made.table}")
    token = before["receipt"]["tables"][0]["cut"]
    produce(made.bootstrap, made.topic, events(3, 5))
    commit_until(made)

    again = query(client, f"select seq from {made.table}", **{made.table: token})

    assert again["rows"] == before["rows"]
    assert again["receipt"]["tables"][0]["cut"] == token
    assert len(query(client, f"select seq from {made.table}")["rows"]) == 5


def test_the_newest_record_is_in_the_next_answer(lake: MakeLake) -> None:
    made = lake()
    client = open_door(made)

    for n in range(3):
        produce(made.bootstrap, made.topic, events(n, n + 1), partition=n % 2)

        assert query(client, f"select count(*) from {made.table}")["rows"] == [[n + 1]]


def test_a_statement_without_tables_has_an_empty_receipt(client: FlaskClient) -> None:
    body = query(client, "select 1 as one")

    assert body["rows"] == [[1]]
    assert body["receipt"]["tables"] == []


def test_explain_answers_with_a_plan_and_reads_nothing(client: FlaskClient, half: Lake) -> None:
    body = query(client, f"explain select * from {half.table}")

    assert [column["name"] for column in body["columns"]] == ["plan"]
    assert (body["receipt"]["tables"][0]["rows_hot"], body["receipt"]["tables"][0]["rows_cold"]) == (0, 0)


def test_a_receipt_shows_what_an_open_transaction_holds_back(lake: MakeLake) -> None:
    made = lake()
    held = [json.dumps(events(0, 1)[0]).encode()]

    with transaction(made.bootstrap, made.topic, held, partition=1, commits=False):
        body = query(open_door(made), f"select count(*) from {made.table}")

    assert body["rows"] == [[0]]
    assert [p["held_back"] for p in body["receipt"]["tables"][0]["partitions"]] == [0, 1]
