"""The gateway's application, asked in this process: routes, limits, engine and rendering without a socket.

Rounds come and go in a second, which is less than a server takes to start; the real server in its own
process is asked by the loop test.
"""

from __future__ import annotations

import json
import threading

import pyarrow as pa
from werkzeug.test import TestResponse

from federation.options.config import Config
from sql_gateway.app import create_app
from sql_gateway.protocol import ARROW_STREAM, RECEIPT_KEY
from sql_gateway.settings import parse_settings
from tests.builders import EVENTS, Lake
from tests.oracle import ways
from tests.oracle.checker import IDENTITY, DeclaredError, Observed

# Werkzeug compiles its routes as syntax trees, of which CPython 3.11 counts the depth for all threads in one
# number, and fails if two of them do so at once (python/cpython issue 106905).
_ONE_AT_A_TIME = threading.Lock()


class Door:
    """One gateway for one table."""

    def __init__(self, lake: Lake) -> None:
        with _ONE_AT_A_TIME:
            app = create_app(Config(tables={lake.table: lake.options}), parse_settings({}))
        self._client = app.test_client()

    def ask(self, lake: Lake) -> Observed:
        sql = f"SELECT {', '.join(IDENTITY)} FROM {lake.table}"
        answer = self._client.post("/v1/sql", json={"sql": sql}, headers={"Accept": ARROW_STREAM})
        return self._observed(answer)

    def ask_json(self, lake: Lake) -> Observed:
        """The same as JSON, which has its own rendering of every value."""
        sql = f"SELECT {', '.join(IDENTITY)} FROM {lake.table}"
        answer = self._client.post("/v1/sql", json={"sql": sql})
        if answer.status_code != 200:
            raise DeclaredError(answer.get_json()["error"])
        body = answer.get_json()
        rows = [dict(zip(IDENTITY, row, strict=True)) for row in body["rows"]]
        return ways.observed(pa.Table.from_pylist(rows, EVENTS), body["receipt"]["tables"][0])

    def _observed(self, answer: TestResponse) -> Observed:
        if answer.status_code != 200:
            raise DeclaredError(answer.get_json()["error"])
        rows = pa.ipc.open_stream(answer.data).read_all()
        receipt = json.loads(rows.schema.metadata[RECEIPT_KEY])["tables"][0]
        return ways.observed(rows, receipt)
