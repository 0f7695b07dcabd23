"""The gateway's application, asked in this process: routes, limits, engine and rendering without a socket.

Rounds come and go in a second, which is less than a server takes to start; the real server in its own
process is asked by the loop test.
"""

from __future__ import annotations

import json

import pyarrow as pa

from federation.config import Config
from sql_gateway import create_app, parse_settings
from sql_gateway.protocol import ARROW_STREAM, RECEIPT_KEY
from tests.builders import Lake
from tests.oracle import ways
from tests.oracle.checker import IDENTITY, DeclaredError, Observed


class Door:
    """One gateway for one table."""

    def __init__(self, lake: Lake) -> None:
        self._client = create_app(Config(tables={lake.table: lake.options}), parse_settings({})).test_client()

    def ask(self, lake: Lake) -> Observed:
        sql = f"SELECT {', '.join(IDENTITY)} FROM {lake.table}"
        answer = self._client.post("/v1/sql", json={"sql": sql}, headers={"Accept": ARROW_STREAM})
        if answer.status_code != 200:
            raise DeclaredError(answer.get_json()["error"])
        rows = pa.ipc.open_stream(answer.data).read_all()
        receipt = json.loads(rows.schema.metadata[RECEIPT_KEY])["tables"][0]
        return ways.observed(rows, receipt)
