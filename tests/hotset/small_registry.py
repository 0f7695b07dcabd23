"""A registry of a few lines that a test can make late, wrong or silent; real ones are neither on request.

What it says when it behaves is what real ones say; `tests/registry/` asks one of those.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"


class SmallRegistry:
    """Answers by path. `before` runs first, and may answer itself by returning True."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []
        self.answers: dict[str, tuple[int, Any]] = {}
        self.before: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False
        self._scheme = "http" if context is None else "https"
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self))
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://{HOST}:{self._server.server_port}"

    def knows(self, path: str, text: str, kind: str | None = None, **references: tuple[str, int]) -> None:
        """Answer with a schema; references are name to subject and version."""
        told: dict[str, Any] = {"schema": text}
        if kind is not None:
            told["schemaType"] = kind
        if references:
            told["references"] = [
                {"name": name, "subject": subject, "version": version}
                for name, (subject, version) in references.items()
            ]
        self.answers[path] = (200, told)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        self.authorizations.append(handler.headers.get("Authorization"))
        if self.before(handler):
            return
        unknown = (404, {"error_code": 40403, "message": "Schema not found"})
        status, told = self.answers.get(handler.path, unknown)
        reply(handler, status, told if isinstance(told, bytes) else json.dumps(told).encode())

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _handler(registry: SmallRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.answer(self)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Keep quiet."""

    return Handler


@contextmanager
def small_registry(context: ssl.SSLContext | None = None) -> Iterator[SmallRegistry]:
    registry = SmallRegistry(context)
    try:
        yield registry
    finally:
        registry.stop()
