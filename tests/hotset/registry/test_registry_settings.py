"""What a registry is told of us, what may be set, and that no secret of it is ever shown.

The registries are small ones of the tests; nothing answers at `NOBODY`.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from hotset.errors import HotsetError, RegistryAccessError, RegistryConfigError
from hotset.registry.registry_client import SchemaRegistry, registry_for
from hotset.registry.registry_settings import parse_registry
from tests.hotset.small_registry import SmallRegistry, reply, small_registry

CANARY = "canary-4711-secret"
NOBODY = "http://127.0.0.1:9"  # discard: nothing answers there


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        running.knows("/schemas/ids/1", '"string"')
        yield running


def client(url: str, **properties: str) -> SchemaRegistry:
    return SchemaRegistry(parse_registry({"url": url, **properties}))


@pytest.mark.parametrize(
    ("properties", "sent"),
    [
        ({}, None),
        ({"basic.auth.user.info": f"reader:{CANARY}:x"}, "Basic cmVhZGVyOmNhbmFyeS00NzExLXNlY3JldDp4"),
        ({"bearer.auth.token": CANARY}, f"Bearer {CANARY}"),
    ],
)
def test_credentials_are_sent(server: SmallRegistry, properties: dict[str, str], sent: str | None) -> None:
    client(server.url, **properties).by_id(1)

    assert server.authorizations == [sent]


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_an_error_and_not_shown(server: SmallRegistry, status: int) -> None:
    def refuse(handler: BaseHTTPRequestHandler) -> bool:
        reply(handler, status, b'{"error_code": 40101}')
        return True

    server.before = refuse
    registry = client(server.url, **{"basic.auth.user.info": f"reader:{CANARY}"})

    with pytest.raises(RegistryAccessError) as caught:
        registry.by_id(1)

    assert CANARY not in everything(caught.value)


@pytest.mark.parametrize("url", [NOBODY, "http://no such host", f"http://reader:{CANARY}@127.0.0.1:9"])
def test_no_error_and_no_text_shows_a_secret(url: str) -> None:
    with pytest.raises(HotsetError) as caught:
        client(url, **{"bearer.auth.token": CANARY, "request.timeout.ms": "2000"}).by_id(1)

    assert CANARY not in everything(caught.value)
    registry = client(NOBODY, **{"basic.auth.user.info": f"reader:{CANARY}"})
    assert CANARY not in repr(registry) + repr(registry._settings) + str(registry._settings)
    with pytest.raises(TypeError):
        pickle.dumps(registry)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, "schema.registry.url"),
        ({"url": "localhost:8081"}, "not of the form"),
        ({"url": "http://a:8081,"}, "not of the form"),
        ({"url": "http://a:port"}, "not of the form"),
        ({"url": "http://a/\r\nX: y"}, "not of the form"),
        ({"url": "http://a", "basic.auth.user.info": "alone"}, "user:password"),
        ({"url": "http://a", "bearer.auth.token": "a\r\nX: y"}, "no token has"),
        ({"url": "http://a", "bearer.auth.token": "t", "basic.auth.user.info": "u:p"}, "exclude each other"),
        ({"url": "http://a", "request.timeout.ms": "0"}, "between 1 and"),
        ({"url": "http://a", "ssl.ca.locaton": "x"}, "did you mean schema.registry.ssl.ca.location"),
        ({"url": "https://a", "ssl.ca.location": "/not/there"}, "ssl.ca.location names a file"),
        ({"url": "https://a", "ssl.key.location": "/k"}, "needs schema.registry.ssl.certificate.location"),
    ],
)
def test_settings_that_cannot_be_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(RegistryConfigError, match=message):
        registry_for(properties)


def test_a_process_has_one_client_of_a_registry(server: SmallRegistry) -> None:
    properties = {"url": server.url, "basic.auth.user.info": "a:b"}

    assert registry_for(properties) is registry_for(dict(properties))
    assert registry_for(properties) is not registry_for({**properties, "basic.auth.user.info": "a:c"})


def everything(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + repr(getattr(error, "details", ""))
