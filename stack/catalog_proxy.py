"""An HTTP proxy before an Iceberg REST catalog, where commits fail in all the ways they can.

A commit may be refused, lost on its way, or applied without the committer hearing of it; only the
last tells good committers from bad. It must not know what is in a commit, only which requests are
commits.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import urlsplit

from stack.errors import StackError
from stack.ports import HOST
from stack.stoppable import Stoppable

FORWARD_S: Final = 60.0
POLL_S: Final = 0.05
COMMIT: Final = re.compile(r"/v1/(?:[^/]+/)*(?:namespaces/[^/]+/tables/[^/]+|transactions/commit)/?$")
# An encoding would hide from the proxy what it adds to.
ONE_HOP: Final = {
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "transfer-encoding",
}


@dataclass(frozen=True, slots=True)
class CatalogFault:
    """What happens to one request.

    Attributes:
        status: The answer; None cuts the connection instead.
        is_applied: Whether the catalog gets the request first.
        hangs: Whether the client waits for `release` before either of them.
    """

    status: int | None = None
    is_applied: bool = False
    hangs: bool = False


CUT_BEFORE: Final = CatalogFault()
CUT_AFTER: Final = CatalogFault(is_applied=True)
HANG_BEFORE: Final = CatalogFault(hangs=True)
HANG_AFTER: Final = CatalogFault(is_applied=True, hangs=True)


class CatalogProxy(Stoppable):
    """Passes requests on to a catalog until told otherwise, and counts the commits."""

    def __init__(self, server: _Server, thread: threading.Thread) -> None:
        """Hold a running proxy; use `start`."""
        self._server = server
        self._thread = thread
        self.uri = f"http://{HOST}:{server.server_address[1]}"

    @classmethod
    def start(cls, target: str) -> Self:
        """Listen on a free port and pass everything on to the catalog at an URI.

        Raises:
            StackError: The URI has no host and port.
        """
        location = urlsplit(target)
        if location.hostname is None or location.port is None:
            raise StackError(f"{target} is no address of a catalog: http://host:port is needed")
        server = _Server(location.hostname, location.port)
        thread = threading.Thread(
            target=server.serve_forever, args=(POLL_S,), name=f"proxy to {target}", daemon=True
        )
        thread.start()
        return cls(server, thread)

    @property
    def commits(self) -> int:
        """How many commits clients have sent, whatever became of them."""
        return self._server.commits

    def fail_commits(self, *faults: CatalogFault | None) -> None:
        """Say what happens to the next commits, one by one; None lets one pass, and so do those after."""
        self._server.plan_commits(faults)

    def fail_everything(self, fault: CatalogFault | None) -> None:
        """Say what happens to every request from now on, commits included; None ends it."""
        self._server.everything = fault

    def add_to_answers(
        self, *, config: Mapping[str, Any] | None = None, table: Mapping[str, Any] | None = None
    ) -> None:
        """Put more into answers from now on, as catalogs do that lend credentials or mean ill.

        Args:
            config: Overrides in the catalog's answer about itself.
            table: Members of its answer about a table.
        """
        self._server.additions = (dict(config or {}), dict(table or {}))

    def release(self) -> None:
        """Let all requests that hang go on."""
        self._server.release()

    def stop(self) -> None:
        """Release what hangs and close the port; a second call does nothing."""
        if self._thread.is_alive():
            self.release()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Holds what the handlers share."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        super().__init__((HOST, 0), _Handler)
        self.target = (host, port)
        self.everything: CatalogFault | None = None
        self.commits = 0
        self.additions: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        self.released = threading.Event()
        self._planned: deque[CatalogFault | None] = deque()
        self._lock = threading.Lock()

    def plan_commits(self, faults: Iterable[CatalogFault | None]) -> None:
        with self._lock:
            self._planned = deque(faults)

    def release(self) -> None:
        released, self.released = self.released, threading.Event()
        released.set()

    def fault_of(self, method: str, path: str) -> CatalogFault | None:
        is_commit = method == "POST" and COMMIT.search(urlsplit(path).path) is not None
        with self._lock:
            self.commits += is_commit
            planned = self._planned.popleft() if is_commit and self._planned else None
        return self.everything or planned

    def with_additions(self, body: bytes, *, is_config: bool) -> bytes:
        config, table = self.additions
        answer = json.loads(body)
        if is_config:
            answer["overrides"] = {**(answer.get("overrides") or {}), **config}
        if "metadata-location" in answer:
            answer |= table
        return json.dumps(answer).encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away while their request hung are no news."""


class _Handler(BaseHTTPRequestHandler):
    """Carries one request."""

    server: _Server

    def do_GET(self) -> None:
        self._carry()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - names that http.server looks for

    def log_message(self, *_: object) -> None:
        """The catalog has a log."""

    def _carry(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        released = self.server.released
        fault = self.server.fault_of(self.command, self.path)
        if fault is None:
            status, headers, answer = self._forward(body)
            if status == 200 and any(self.server.additions):
                is_config = urlsplit(self.path).path == "/v1/config"
                answer = self.server.with_additions(answer, is_config=is_config)
            self._answer(status, headers, answer)
            return
        if fault.is_applied:
            self._forward(body)
        if fault.hangs:
            released.wait()
        if fault.status is None:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        kind = "CommitFailedException" if fault.status == 409 else "InternalServerError"
        error = {"message": f"planned fault {fault.status}", "type": kind, "code": fault.status}
        headers = [("Content-Type", "application/json")]
        self._answer(fault.status, headers, json.dumps({"error": error}).encode())

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(*self.server.target, timeout=FORWARD_S)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ONE_HOP}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        except (OSError, http.client.HTTPException) as exc:
            return 502, [], f"the catalog behind the proxy did not answer: {exc!r}".encode()
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ONE_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
