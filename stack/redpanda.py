"""The one endpoint of Redpanda's HTTP proxy that tells what its Iceberg Topics have committed.

No Redpanda runs where this project is built, so this is a small server that speaks the published
shape of `translation_state` and is told by tests what was committed. It shows that the shape is
understood; it cannot show that a real Redpanda behaves as published. It writes no tables.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stack.ports import HOST
from stack.stoppable import Stoppable

PATH = "/v1/redpanda/datalake/translation_state"


class RedpandaProxy(Stoppable):
    """A server on a free port; ends with this process at the latest.

    `answer_instead`, if set, is called to answer in the server's place, for a server that misbehaves.
    """

    def __init__(self, *, path: str = PATH, user: str | None = None, password: str = "") -> None:
        self.path = path
        self.user = user
        self.password = password
        self.asked = 0
        self.answer_instead: Callable[[BaseHTTPRequestHandler], None] | None = None
        self._states: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{HOST}:{self._server.server_port}"

    @property
    def url(self) -> str:
        """What option `redpandaUrl` takes, without a user."""
        return f"http://{self.address}"

    def commit(self, topic: str, snapshot_id: int, last_offset: Mapping[int, int | None]) -> None:
        """Say from now on that a snapshot holds a topic up to these offsets, which are inclusive.

        Args:
            topic: The topic.
            snapshot_id: Of the topic's table.
            last_offset: Per partition; None for one of which nothing is committed.
        """
        # The JSON form of protobuf: names in camel case, 64-bit numbers as text, unset ones left out.
        partitions = {
            str(p): {} if last is None else {"lastCatalogCommittedOffset": str(last)}
            for p, last in last_offset.items()
        }
        self._states[topic] = {
            "partitionStates": partitions,
            "translationStatus": "TRANSLATION_STATUS_ENABLED",
            "lastCommittedSnapshotId": str(snapshot_id % (1 << 64)),
            "namespaceName": ["redpanda"],
            "tableName": topic,
            "dlqTableName": f"{topic}~dlq",
        }

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        self.asked += 1
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        if self.answer_instead is not None:
            self.answer_instead(handler)
        elif handler.path != self.path:
            reply(handler, 404, b'{"error_code":404,"message":"Not found"}')
        elif not self._is_known(handler):
            reply(handler, 401, b'{"error_code":40101,"message":"Unauthorized"}')
        elif not (topics := json.loads(body)["topics_filter"]):
            reply(handler, 400, b"")
        else:
            states = {topic: self._states[topic] for topic in topics if topic in self._states}
            reply(handler, 200, json.dumps({"topicStates": states}).encode())

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def _is_known(self, handler: BaseHTTPRequestHandler) -> bool:
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return self.user is None or handler.headers.get("Authorization") == f"Basic {pair}"


def reply(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, content_type: str = "application/json"
) -> None:
    """Send one whole answer."""
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _handler(proxy: RedpandaProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            proxy.answer(self)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Keep quiet: a test's output is not a place for an access log."""

    return Handler
