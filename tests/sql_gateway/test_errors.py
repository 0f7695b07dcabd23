"""Every way a request can fail ends in the one envelope, with its status and code.

The paths are the ones a client can take: a bad request, a refused statement, a
service in the way, a limit, a mistake of ours.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from sql_gateway.app import MAX_BODY_BYTES
from sql_gateway.settings import parse_settings
from tests.builders import Lake, delete_records, make_table, produce, unique
from tests.conftest import MakeLake
from tests.sql_gateway.door import assert_error, open_door

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def some(lake: MakeLake) -> Lake:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(3)])
    return made


@pytest.fixture(scope="module")
def client(some: Lake) -> FlaskClient:
    return open_door(some)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"select 1",
        b"[]",
        b'"select 1"',
        b"{}",
        b'{"sql": 1}',
        b'{"sql": "select 1", "limit": 1}',
        b'{"sql": "select 1", "cuts": ["a"]}',
        b'{"sql": "select 1", "cuts": {"a": 1}}',
        b"\xff\xfe",
    ],
)
def test_a_malformed_body_is_a_bad_request(client: FlaskClient, body: bytes) -> None:
    assert_error(client.post("/v1/sql", data=body, content_type="application/json"), 400, "BAD_REQUEST")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_is_not_said_to_be_json_is_not_looked_at(client: FlaskClient, kind: str | None) -> None:
    answer = client.post("/v1/sql", data=b'{"sql": "select 1"}', content_type=kind)

    assert_error(answer, 400, "BAD_REQUEST", says="Content-Type: application/json")


def test_a_get_without_a_statement_is_a_bad_request(client: FlaskClient) -> None:
    assert_error(client.get("/v1/sql"), 400, "BAD_REQUEST", says="/v1/sql")


def test_a_form_we_do_not_speak_is_a_bad_request(client: FlaskClient) -> None:
    answer = client.get("/v1/sql", query_string={"q": "select 1"}, headers={"Accept": "text/csv"})

    assert_error(answer, 400, "BAD_REQUEST", says="Accept")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("selec", "SQL_INVALID"),
        ("", "STATEMENT_REFUSED"),
        ("select 1; select 2", "STATEMENT_REFUSED"),
        ("drop table orders", "STATEMENT_REFUSED"),
        ("select * from read_csv('/etc/passwd')", "STATEMENT_REFUSED"),
        ("select * from nobody.knows", "SQL_INVALID"),
        ("select no_such_column from {table}", "SQL_INVALID"),
        ("select cast(producer as int) from {table}", "SQL_INVALID"),
    ],
)
def test_a_wrong_statement_is_the_users_error(client: FlaskClient, some: Lake, sql: str, code: str) -> None:
    answer = client.post("/v1/sql", json={"sql": sql.format(table=some.table)})

    assert assert_error(answer, 400, code)["retriable"] is False


def test_a_cut_token_that_is_none_is_the_users_error(client: FlaskClient, some: Lake) -> None:
    body = {"sql": f"select 1 from {some.table}", "cuts": {some.table: "kic1.nonsense"}}

    assert_error(client.post("/v1/sql", json=body), 400, "CUT_TOKEN_INVALID")


def test_a_cut_of_an_unregistered_table_is_not_found(client: FlaskClient) -> None:
    body = {"sql": "select 1", "cuts": {"lake.none": "kic1.x"}}

    assert_error(client.post("/v1/sql", json=body), 404, "NOT_FOUND", says="lake.none")


def test_an_unknown_path_is_not_found(client: FlaskClient) -> None:
    assert_error(client.get("/v2/sql"), 404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_a_wrong_method_is_said_to_be_one(client: FlaskClient, method: str) -> None:
    answer = getattr(client, method)("/v1/sql")

    assert_error(answer, 405, "BAD_REQUEST", says="Method Not Allowed")
    assert {"GET", "POST"} <= set(answer.headers["Allow"].split(", "))


def test_a_head_runs_nothing(client: FlaskClient) -> None:
    answer = client.head("/v1/sql", query_string={"q": "select error('it ran')"})

    assert answer.status_code == 405


def test_a_body_that_is_too_large_is_refused_unread(client: FlaskClient) -> None:
    answer = client.post("/v1/sql", data=b"x" * (MAX_BODY_BYTES + 1), content_type="application/json")

    assert_error(answer, 413, "BAD_REQUEST", says="Too Large")


def test_a_statement_that_is_too_long_is_refused(client: FlaskClient) -> None:
    sql = f"select 1 --{'x' * (1 << 20)}"

    assert_error(client.post("/v1/sql", json={"sql": sql}), 400, "STATEMENT_REFUSED", says="bytes")


def test_a_missing_table_is_the_users_error(some: Lake) -> None:
    gone = Lake(some.bootstrap, some.directory, f"lake.{unique('gone')}", some.topic)

    answer = open_door(gone).get("/v1/sql", query_string={"q": f"select 1 from {gone.table}"})

    assert_error(answer, 400, "TABLE_NOT_FOUND", says=gone.table)


def test_a_missing_topic_is_the_users_error(lake: MakeLake) -> None:
    made = lake(topic=False)

    answer = open_door(made).get("/v1/sql", query_string={"q": f"select 1 from {made.table}"})

    assert_error(answer, 400, "TOPIC_NOT_FOUND", says=made.topic)


def test_an_unreachable_broker_is_a_service_in_the_way(some: Lake) -> None:
    name = f"lake.{unique('far')}"
    make_table(some.catalog, name)
    far = Lake("127.0.0.1:9", some.directory, name, "orders", {"planTimeoutMs": "300"})

    answer = open_door(far).get("/v1/sql", query_string={"q": f"select count(*) from {name}"})

    assert assert_error(answer, 503, "KAFKA_UNAVAILABLE", says="127.0.0.1:9")["retriable"] is True


def test_records_lost_to_retention_are_an_error_that_names_them(lake: MakeLake) -> None:
    made = lake(partitions=1)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(3)])
    delete_records(made.bootstrap, made.topic, {0: 2})

    answer = open_door(made).get("/v1/sql", query_string={"q": f"select * from {made.table}"})

    assert_error(answer, 503, "OFFSET_GAP", says=r"0\[0,2\)")


def test_a_bad_record_is_named(lake: MakeLake) -> None:
    made = lake(partitions=1)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": 0}, b"{bad"])

    answer = open_door(made).get("/v1/sql", query_string={"q": f"select * from {made.table}"})

    assert_error(answer, 400, "RECORD_NOT_DECODABLE", says=f"{made.topic}.* partition 0 offset 1")


@pytest.mark.parametrize(
    ("settings", "sql", "code", "status"),
    [
        ({"maxRows": "2"}, "select * from {table}", "RESULT_TOO_LARGE", 400),
        ({"maxBytes": "100"}, "select repeat('x', 1000)", "RESULT_TOO_LARGE", 400),
        (
            {"timeoutMs": "200"},
            "select count(*) from range(1000000000) a, range(1000000) b",
            "QUERY_TIMEOUT",
            503,
        ),
    ],
)
def test_a_limit_is_an_error_and_never_a_shorter_answer(
    some: Lake, settings: dict[str, str], sql: str, code: str, status: int
) -> None:
    client = open_door(some, settings=settings)

    assert_error(client.post("/v1/sql", json={"sql": sql.format(table=some.table)}), status, code)


def test_a_mistake_of_ours_shows_nothing_and_is_logged(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Any:
        raise RuntimeError("what only the log may hold")

    client.application.view_functions["healthz"], kept = fail, client.application.view_functions["healthz"]
    try:
        with caplog.at_level(logging.ERROR):
            answer = client.get("/healthz")
    finally:
        client.application.view_functions["healthz"] = kept

    error = assert_error(answer, 500, "INTERNAL")
    assert "only the log" not in answer.text
    assert error["query_id"] in caplog.text
    assert "only the log" in caplog.text


def test_unregistered_options_are_refused_before_anything_listens() -> None:
    with pytest.raises(ValueError, match="did you mean timeoutMs"):
        parse_settings({"timeout": "1"})
