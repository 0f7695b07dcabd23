"""A schema is fetched once, in time, by whom may; and what cannot be had is an error of its own kind.

The registries here misbehave on request; what a real one says is asked in `tests/registry/`.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from hotset.errors import RegistryProtocolError, RegistryUnavailableError, SchemaNotFoundError
from hotset.registry.registered_schema import RegisteredSchema
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.hotset.small_registry import SmallRegistry, small_registry

CANARY = "canary-4711-secret"
NOBODY = "http://127.0.0.1:9"  # discard: nothing answers there
FIRST = "/schemas/ids/1"
Misbehave = Callable[[BaseHTTPRequestHandler], bool]


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        running.knows(FIRST, '"string"')
        yield running


def client(*urls: str, timeout_ms: int = 10_000, **properties: str) -> SchemaRegistry:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    settings = {"url": ",".join(urls), "request.timeout.ms": str(timeout_ms), **given}
    return SchemaRegistry(parse_registry(settings))


def test_a_schema_is_fetched_once(server: SmallRegistry) -> None:
    registry = client(server.url)

    assert registry.by_id(1) == RegisteredSchema("AVRO", '"string"')
    assert registry.by_id(1) is registry.by_id(1)
    assert server.asked == [FIRST]


def test_callers_at_the_same_time_ask_once(server: SmallRegistry) -> None:
    registry = client(server.url)
    everybody_waits = threading.Event()
    server.before = lambda _: not everybody_waits.wait(30)
    found: list[RegisteredSchema] = []
    callers = [threading.Thread(target=lambda: found.append(registry.by_id(1))) for _ in range(8)]

    for caller in callers:
        caller.start()
    while not server.asked:
        time.sleep(0.01)
    everybody_waits.set()
    for caller in callers:
        caller.join(30)

    assert len(found) == 8
    assert server.asked == [FIRST]


def test_references_are_resolved_to_their_ends_and_each_once(server: SmallRegistry) -> None:
    server.knows("/schemas/ids/7", "order", "PROTOBUF", **{"a.proto": ("a", 1), "b.proto": ("b x/y", 2)})
    server.knows("/subjects/a/versions/1?deleted=true", "A", "PROTOBUF", **{"c.proto": ("c", 3)})
    server.knows("/subjects/b%20x%2Fy/versions/2?deleted=true", "B", "PROTOBUF", **{"c.proto": ("c", 3)})
    server.knows("/subjects/c/versions/3?deleted=true", "C", "PROTOBUF")

    found = client(server.url).by_id(7)

    c = ("c.proto", RegisteredSchema("PROTOBUF", "C"))
    assert found == RegisteredSchema(
        "PROTOBUF",
        "order",
        (
            ("a.proto", RegisteredSchema("PROTOBUF", "A", (c,))),
            ("b.proto", RegisteredSchema("PROTOBUF", "B", (c,))),
        ),
    )
    assert len(server.asked) == 4


def test_a_schema_is_found_by_its_identity(server: SmallRegistry) -> None:
    guid = uuid.uuid4()
    server.knows(f"/schemas/guids/{guid}", "{}", "JSON")

    assert client(server.url).by_guid(guid) == RegisteredSchema("JSON", "{}")


def test_the_latest_schema_is_kept_a_while(server: SmallRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/subjects/orders-value/versions/latest"
    registry = client(server.url)
    server.knows(path, "1")
    assert registry.latest("orders-value").text == "1"
    server.knows(path, "2")
    assert registry.latest("orders-value").text == "1"

    monkeypatch.setattr("hotset.registry.registry_client._LATEST_S", 0.0)
    other = client(server.url)

    assert other.latest("orders-value").text == "2"
    server.knows(path, "3")
    assert other.latest("orders-value").text == "3"


def test_with_the_registry_down_kept_schemas_go_on_working(server: SmallRegistry) -> None:
    registry = client(server.url)
    kept = registry.by_id(1)
    server.stop()

    assert registry.by_id(1) is kept
    with pytest.raises(RegistryUnavailableError, match=f"schema id 2 .*{server.url}") as caught:
        registry.by_id(2)
    assert caught.value.retriable


def test_an_unknown_id_is_asked_for_again(server: SmallRegistry) -> None:
    registry = client(server.url)

    with pytest.raises(SchemaNotFoundError, match="does not know schema id 5"):
        registry.by_id(5)
    server.knows("/schemas/ids/5", '"int"')

    assert registry.by_id(5).text == '"int"'


def test_any_of_several_servers_may_answer(server: SmallRegistry) -> None:
    with small_registry() as broken:
        broken.answers[FIRST] = (500, {"error_code": 50001, "message": "store"})

        assert client(NOBODY, broken.url, server.url).by_id(1).text == '"string"'
        with pytest.raises(RegistryUnavailableError, match="failed with status 500"):
            client(broken.url).by_id(1)


def test_a_silent_server_leaves_time_to_the_next(server: SmallRegistry) -> None:
    with small_registry() as silent:
        silent.before = lambda _: not time.sleep(30)

        assert client(silent.url, server.url, timeout_ms=4000).by_id(1).text == '"string"'


def silent(handler: BaseHTTPRequestHandler) -> bool:
    time.sleep(20)
    return True


def dripping(handler: BaseHTTPRequestHandler) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with contextlib.suppress(OSError):
        for _ in range(400):
            handler.wfile.write(b" ")
            time.sleep(0.05)
    return True


@pytest.mark.parametrize("misbehave", [silent, dripping])
def test_a_server_without_end_is_given_up(server: SmallRegistry, misbehave: Misbehave) -> None:
    came_to_an_end = threading.Event()

    def before(handler: BaseHTTPRequestHandler) -> bool:
        misbehave(handler)
        came_to_an_end.set()
        return True

    server.before = before

    with pytest.raises(RegistryUnavailableError):
        client(server.url, timeout_ms=300).by_id(1)

    assert misbehave is dripping or not came_to_an_end.is_set()


def test_after_a_late_answer_the_next_caller_asks_again(server: SmallRegistry) -> None:
    registry = client(server.url, timeout_ms=3000)
    server.before = silent
    with pytest.raises(RegistryUnavailableError):
        registry.by_id(1)

    server.before = lambda _: False

    assert registry.by_id(1).text == '"string"'


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"[" * 100_000),
        (200, {"schemaType": "AVRO"}),
        (200, {"schema": 7}),
        (200, {"schema": "x", "schemaType": "THRIFT"}),
        (200, {"schema": "x", "references": [7]}),
        (200, {"schema": "x", "references": [{"name": "a", "subject": "b"}]}),
        (302, {}),
        (404, b"not here"),
        (404, {"message": "no such path"}),
        (422, {"error_code": 42201}),
    ],
    ids=str,
)
def test_an_answer_of_no_registry_is_an_error(server: SmallRegistry, answer: tuple[int, object]) -> None:
    server.answers[FIRST] = answer

    with pytest.raises(RegistryProtocolError):
        client(server.url).by_id(1)


def test_an_answer_without_bound_is_an_error(server: SmallRegistry) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(32):
            handler.wfile.write(b" " * (1 << 20))
        return True

    server.before = endless

    with pytest.raises(RegistryProtocolError, match="more than 16777216 bytes"):
        client(server.url).by_id(1)


def test_references_in_a_circle_are_an_error(server: SmallRegistry) -> None:
    server.knows(FIRST, "a", "PROTOBUF", a=("a", 1))
    server.knows("/subjects/a/versions/1?deleted=true", "a", "PROTOBUF", a=("a", 1))

    with pytest.raises(RegistryProtocolError, match="deeper than 64"):
        client(server.url).by_id(1)
