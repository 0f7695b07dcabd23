"""One way to make a gateway in this process, and one assertion for all of its errors.

Errors have one envelope, so there is one place that knows what it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from federation.options.config import Config
from sql_gateway.app import create_app
from sql_gateway.settings import parse_settings
from tests.builders import Lake

STATUS_OF_KIND = {"user": 400, "external": 503, "internal": 500}


def open_door(
    *lakes: Lake, settings: Mapping[str, str] | None = None, plain: Mapping[str, Lake] | None = None
) -> FlaskClient:
    """Return a client of a gateway for these lakes; `plain` ones are read without their topic."""
    tables = {lake.table: lake.options for lake in lakes}
    for name, lake in (plain or {}).items():
        tables[name] = {**lake.options, "read": "cold"}
    return create_app(Config(tables=tables), parse_settings(settings or {})).test_client()


def query(client: FlaskClient, sql: str, **cuts: str) -> dict[str, Any]:
    """Run a statement that must succeed and return the body of its answer."""
    answer = client.post("/v1/sql", json={"sql": sql, "cuts": cuts})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.get_json()
    return body


def assert_error(answer: TestResponse, status: int, code: str, *, says: str = "") -> dict[str, Any]:
    """Check that an answer is the error envelope, whole and consistent, and return the error."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    body = answer.get_json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "kind", "message", "retriable", "query_id"}
    assert error["code"] == code
    assert re.search(says, error["message"]), error["message"]
    assert re.fullmatch(r"[0-9a-f]{32}", error["query_id"])
    assert answer.headers["X-Query-Id"] == error["query_id"]
    assert isinstance(error["retriable"], bool)
    # A status of HTTP's own may say more than the kind does, but never who has to act.
    assert status == STATUS_OF_KIND[error["kind"]] or (error["kind"] == "user" and 400 < status < 500)
    return error
