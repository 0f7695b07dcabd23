"""Who is let in: by token if one is set, and by host name on the loopback.

A page on the web can send a browser's requests to this machine, but it cannot
choose the host they carry.
"""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from federation.errors import OptionError
from federation.options.config import Config
from sql_gateway.app import create_app
from sql_gateway.settings import parse_settings
from tests.sql_gateway.door import assert_error, open_door

TOKEN = "let-me-in"


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setenv("GATEWAY_TOKEN", TOKEN)
    return open_door(settings={"token": "${env:GATEWAY_TOKEN}"})


@pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer wrong", f"Bearer {TOKEN} ", f"Basic {TOKEN}"])
def test_without_the_token_nobody_is_let_in(guarded: FlaskClient, sent: str | None) -> None:
    headers = {} if sent is None else {"Authorization": sent}

    for path in ("/v1/sql?q=select+1", "/v1/tables", "/v1/nothing"):
        answer = guarded.get(path, headers=headers)

        assert_error(answer, 401, "UNAUTHORIZED")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_with_the_token_one_is_let_in(guarded: FlaskClient) -> None:
    answer = guarded.get("/v1/sql?q=select+1", headers={"Authorization": f"Bearer {TOKEN}"})

    assert answer.get_json()["rows"] == [[1]]


def test_health_needs_no_token(guarded: FlaskClient) -> None:
    assert guarded.get("/healthz").status_code == 200


def test_a_token_that_is_not_ascii_is_only_wrong(guarded: FlaskClient) -> None:
    answer = guarded.get("/v1/tables", headers={"Authorization": "Bearer \xe9"})

    assert_error(answer, 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_on_the_loopback_other_names_are_refused(host: str) -> None:
    answer = open_door().get("/v1/tables", headers={"Host": host})

    assert_error(answer, 403, "FORBIDDEN_HOST")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "127.0.0.2", "[::1]:8765"])
def test_on_the_loopback_its_own_names_are_answered(host: str) -> None:
    assert open_door().get("/v1/tables", headers={"Host": host}).status_code == 200


def test_a_gateway_for_others_answers_to_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", TOKEN)
    client = open_door(settings={"host": "0.0.0.0", "token": "${env:GATEWAY_TOKEN}"})

    answer = client.get("/v1/tables", headers={"Host": "sql.corp", "Authorization": f"Bearer {TOKEN}"})

    assert answer.status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "sql.corp"])
def test_a_gateway_for_others_must_have_a_token(host: str) -> None:
    with pytest.raises(OptionError, match="token"):
        parse_settings({"host": host})


def test_kafka_and_catalog_properties_never_come_from_a_request() -> None:
    client = create_app(Config(), parse_settings({})).test_client()

    answer = client.post(
        "/v1/sql", json={"sql": "select 1", "options": {"kafka.bootstrap.servers": "evil.example:9092"}}
    )

    assert_error(answer, 400, "BAD_REQUEST", says="unknown keys: options")


@pytest.mark.parametrize("path", ["/v1/sql?q=select+1", "/v1/tables", "/healthz"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8766"},
        {"Origin": "null"},
    ],
    ids=str,
)
def test_pages_of_other_origins_are_refused(path: str, headers: dict[str, str]) -> None:
    answer = open_door().get(path, headers={"Host": "localhost:8765", **headers})

    assert_error(answer, 403, "FORBIDDEN_ORIGIN")


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8765"}],
    ids=str,
)
def test_users_and_own_pages_are_answered_and_nobody_else_may_show_it(headers: dict[str, str]) -> None:
    answer = open_door().get("/v1/sql?q=select+1", headers={"Host": "localhost:8765", **headers})

    assert answer.get_json()["rows"] == [[1]]
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
