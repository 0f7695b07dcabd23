"""One HTTP request to a server that is not trusted: bounded in time and in size.

A socket's own timeout starts again with every byte, so a server that drips would
never be late; here the connection is ended when the deadline passes. Redirects
are not followed. This file must not know what is asked, or of whom.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from foundation.deadline import Deadline


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of which server.

    Attributes:
        scheme: `http` or `https`.
        host: Name or address.
        port: Where it listens.
        method: `GET` or `POST`.
        path: With the query, if there is one.
        headers: May hold credentials.
        body: What is sent.
        context: Whom to trust, for https.
    """

    scheme: str
    host: str
    port: int
    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)
    context: ssl.SSLContext | None = field(default=None, repr=False)


def exchange(request: Request, deadline: Deadline, max_bytes: int) -> tuple[int, bytes]:
    """Return status and body of the answer.

    Raises:
        TimeoutError: The deadline passed; what came may be a part only.
        OverflowError: The answer has more than `max_bytes` bytes.
        ssl.SSLCertVerificationError: The server's certificate is not trusted.
        OSError: There was no connection, or it broke.
        http.client.HTTPException: The answer is no HTTP, or ended early.
        UnicodeError: The host's name cannot be one.
    """
    connection = _connection(request, deadline)
    try:
        connection.connect()
        with _ended_by(connection.sock, deadline):
            connection.request(request.method, request.path, request.body, dict(request.headers))
            response = connection.getresponse()
            answer = response.read(max_bytes + 1)
            if response.length and len(answer) <= max_bytes:
                raise http.client.IncompleteRead(answer, response.length)
    finally:
        connection.close()
    if deadline.has_passed:
        # The connection was ended under the reader.
        raise TimeoutError("the deadline passed")
    if len(answer) > max_bytes:
        raise OverflowError(f"more than {max_bytes} bytes")
    return response.status, answer


def _connection(request: Request, deadline: Deadline) -> http.client.HTTPConnection:
    timeout_s = max(0.001, deadline.remaining_s)
    if request.scheme == "https":
        context = request.context or ssl.create_default_context()
        return http.client.HTTPSConnection(request.host, request.port, timeout=timeout_s, context=context)
    return http.client.HTTPConnection(request.host, request.port, timeout=timeout_s)


@contextlib.contextmanager
def _ended_by(sock: socket.socket, deadline: Deadline) -> Iterator[None]:
    def end() -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(deadline.remaining_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
