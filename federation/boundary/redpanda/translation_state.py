"""Ask a Redpanda cluster what it has committed of a topic to its Iceberg table.

The HTTP proxy answers with a snapshot id and the last offset per partition, in
the JSON form of a protobuf message: names in either spelling, whole numbers
perhaps as text. The server is not trusted: the answer is bounded in time and
size, redirects are not followed, and what is not understood is an error. This
file does not know of tables and snapshots; `redpanda_resolver` decides what it means.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from federation.errors import BoundaryUnknownError, OptionError, WriterUnavailableError
from federation.options import resolve
from foundation.deadline import Deadline
from foundation.http_request import Request, exchange

# Redpanda's tests use the first path, the description of the change that brought it the second.
PATHS: Final = ("/v1/redpanda/datalake/translation_state", "/v1/datalake/translation_state")
MAX_ANSWER_BYTES: Final = 4 << 20

_URL: Final = re.compile(r"(https?)://(?:([^:@/]+):(\$\{[^}]+\})@)?([^/@?#\s]+)/?")
_PORT: Final = 8082
_INTEGER: Final = re.compile(r"-?\d{1,20}")


@dataclass(frozen=True, slots=True)
class TranslationState:
    """What Redpanda has committed of one topic.

    Attributes:
        snapshot_id: The last snapshot it committed to the topic's table; None if there is none.
        next_offset: Partition to first offset that is not committed; absent if nothing is.
    """

    snapshot_id: int | None
    next_offset: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """Where a cluster's HTTP proxy listens; the password is a reference."""

    scheme: str
    host: str
    port: int
    user: str | None
    password: str | None = field(repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_address(url: str) -> ProxyAddress:
    """Read the address of an HTTP proxy.

    Raises:
        OptionError: It is none. The message does not repeat it.
    """
    try:
        match = _URL.fullmatch(url)
        if match is None:
            raise ValueError("not an address")
        scheme, user, password, place = match.groups()
        parts = urlsplit(f"//{place}")
        if not parts.hostname:
            raise ValueError("no host")
        return ProxyAddress(scheme, parts.hostname, parts.port or _PORT, user, password)
    except ValueError as exc:
        raise OptionError(
            "option 'redpandaUrl' is not of the form http://host:port, https://host:port or "
            "https://user:${env:NAME}@host:port",
            option="redpandaUrl",
        ) from exc


def ask_translation_state(address: ProxyAddress, topic: str, deadline: Deadline) -> TranslationState | None:
    """Return what is committed of a topic; None if the cluster translates no such topic.

    Raises:
        WriterUnavailableError: It did not answer in time, or failed.
        BoundaryUnknownError: It refused, has no such endpoint, or its answer is not understood.
        OptionError: The password's reference names nothing.
    """
    body = json.dumps({"topics_filter": [topic]}).encode()
    status, answer = 404, b""
    for path in PATHS:
        status, answer = _post(address, path, body, deadline)
        if status != 404:
            break
    if status != 200:
        raise _refused(address, status)
    try:
        return parse_states(answer).get(topic)
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise BoundaryUnknownError(
            f"the answer of Redpanda's HTTP proxy at {address} is not understood ({exc}); "
            "is redpandaUrl the address of the HTTP proxy?"
        ) from exc


def parse_states(answer: bytes) -> dict[str, TranslationState]:
    """Read the states of an answer, by topic.

    Raises:
        ValueError, TypeError, AttributeError, RecursionError: It is not of the published form.
    """
    topics = _member(json.loads(answer), "topic_states") or {}
    return {topic: _state(found) for topic, found in topics.items()}


def _state(found: Any) -> TranslationState:
    told = _member(found, "last_committed_snapshot_id")
    partitions = _member(found, "partition_states") or {}
    next_offset = {}
    for partition, state in partitions.items():
        last = _member(state, "last_catalog_committed_offset")
        if last is not None:
            next_offset[_natural(partition)] = _natural(last) + 1
    return TranslationState(None if told is None else _signed(_integer(told)), next_offset)


def _member(document: Any, name: str) -> Any:
    # A message may be written with the names of its definition, or with these in camel case.
    first, *rest = name.split("_")
    camel = first + "".join(word.capitalize() for word in rest)
    if not isinstance(document, dict):
        raise TypeError(f"{name} is looked for in a {type(document).__name__}")
    found = document.get(camel)
    return document.get(name) if found is None else found


def _integer(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r:.40} is no whole number")
    return value


def _natural(value: Any) -> int:
    number = _integer(value)
    if number < 0:
        raise ValueError(f"{number} is below zero")
    return number


def _signed(number: int) -> int:
    # The id travels as an unsigned number, and Iceberg's are signed.
    return number - (1 << 64) if number >= 1 << 63 else number


def _post(address: ProxyAddress, path: str, body: bytes, deadline: Deadline) -> tuple[int, bytes]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if address.user is not None and address.password is not None:
        password = resolve({"redpandaUrl": address.password})["redpandaUrl"]
        pair = base64.b64encode(f"{address.user}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {pair}"
    request = Request(
        scheme=address.scheme,
        host=address.host,
        port=address.port,
        method="POST",
        path=path,
        headers=headers,
        body=body,
    )
    try:
        return exchange(request, deadline, MAX_ANSWER_BYTES)
    except ssl.SSLCertVerificationError as exc:
        raise BoundaryUnknownError(
            f"the certificate of Redpanda's HTTP proxy at {address} is not trusted ({exc.verify_message}); "
            "name the file of its authority in the environment variable SSL_CERT_FILE"
        ) from exc
    except UnicodeError as exc:
        raise BoundaryUnknownError(
            f"{address.host!r} cannot be the name of the host of Redpanda's HTTP proxy; correct redpandaUrl"
        ) from exc
    except (OSError, http.client.HTTPException) as exc:
        why = "in time" if deadline.has_passed else f"({type(exc).__name__}: {exc})"
        raise WriterUnavailableError(
            f"Redpanda's HTTP proxy at {address} did not answer {why}; see whether it runs, and redpandaUrl"
        ) from exc
    except OverflowError as exc:
        raise BoundaryUnknownError(
            f"Redpanda's HTTP proxy at {address} answered with more than {MAX_ANSWER_BYTES} bytes; "
            "is redpandaUrl the address of the HTTP proxy?"
        ) from exc


def _refused(address: ProxyAddress, status: int) -> BoundaryUnknownError:
    if status >= 500:
        return WriterUnavailableError(
            f"Redpanda's HTTP proxy at {address} failed with status {status}; ask again"
        )
    advice = {
        400: "its Iceberg integration is disabled",
        401: "put user and password into redpandaUrl",
        403: "let the user of redpandaUrl describe the topic",
        404: "that version does not tell what it has committed; name the table's Kafka columns",
    }.get(status, "is redpandaUrl the address of the HTTP proxy?")
    return BoundaryUnknownError(f"Redpanda's HTTP proxy at {address} answered with status {status}: {advice}")
