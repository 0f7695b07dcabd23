"""What a server of Redpanda's `translation_state` may answer, and what becomes of it.

The published shape is read in both of its spellings. Whatever else comes, or does not come, must
become an error that says so, within the time allowed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from federation.boundary.redpanda.translation_state import (
    MAX_ANSWER_BYTES,
    PATHS,
    TranslationState,
    parse_address,
    parse_states,
)
from federation.engine.run.answer import Limits
from federation.engine.run.query import run_query
from federation.errors import BoundaryUnknownError, OptionError, WriterUnavailableError
from stack.redpanda import RedpandaProxy, reply
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.boundary.redpanda.redpanda_commits import ROW, commit, seqs

kafka = pytest.mark.kafka

Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def proxy() -> Iterator[RedpandaProxy]:
    with RedpandaProxy() as running:
        yield running


def html(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, 200, b"<html><body>hello</body></html>", "text/html")


def status(code: int) -> Answer:
    return lambda handler: reply(handler, code, b"{}")


def elsewhere(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(307)
    handler.send_header("Location", "http://127.0.0.1:1/")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def huge(handler: BaseHTTPRequestHandler) -> None:
    reply(handler, 200, b" " * (MAX_ANSWER_BYTES + 1))


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"topicStates"')


def body(text: str) -> Answer:
    return lambda handler: reply(handler, 200, text.encode())


MISTAKES: list[tuple[Answer, type[BoundaryUnknownError], str]] = [
    (html, BoundaryUnknownError, "not understood"),
    (status(400), BoundaryUnknownError, "status 400"),
    (status(401), BoundaryUnknownError, "user and password"),
    (status(404), BoundaryUnknownError, "status 404"),
    (status(500), WriterUnavailableError, "status 500"),
    (elsewhere, BoundaryUnknownError, "status 307"),
    (huge, BoundaryUnknownError, "more than"),
    (cut_short, WriterUnavailableError, "did not answer"),
    (body("[]"), BoundaryUnknownError, "not understood"),
    (body("[" * 100_000), BoundaryUnknownError, "not understood"),
    (body('{"topicStates": 3}'), BoundaryUnknownError, "not understood"),
    (body("{}"), BoundaryUnknownError, "does not tell of topic"),
]


@kafka
@pytest.mark.parametrize(("answer", "error", "says"), MISTAKES)
def test_a_server_that_answers_wrong_is_an_error(
    lake: MakeLake, proxy: RedpandaProxy, answer: Answer, error: type[BoundaryUnknownError], says: str
) -> None:
    made = lake(schema=ROW).having(redpandaUrl=proxy.url)
    commit(made, 0, 1)
    proxy.answer_instead = answer

    with pytest.raises(error, match=says) as raised:
        made.open().cut()

    assert raised.value.retriable == (error is WriterUnavailableError)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Answer for a minute; what has come by then is no answer, and not said to be late."""
    with contextlib.suppress(OSError):
        for _ in range(600):
            handler.wfile.write(b" ")
            time.sleep(0.1)


def drip_body(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    drip(handler)


@kafka
@pytest.mark.parametrize("answer", [drip, drip_body])
def test_a_server_that_drips_is_left_at_the_deadline(
    lake: MakeLake, proxy: RedpandaProxy, answer: Answer
) -> None:
    made = lake(schema=ROW).having(redpandaUrl=proxy.url, planTimeoutMs="4000")
    commit(made, 0, 1)
    proxy.answer_instead = answer

    with pytest.raises(WriterUnavailableError, match="in time"):
        made.open().cut()


@kafka
def test_a_statement_that_may_not_take_long_does_not_wait_for_a_server(
    lake: MakeLake, proxy: RedpandaProxy
) -> None:
    made = lake(schema=ROW).having(redpandaUrl=proxy.url, planTimeoutMs="600000")
    commit(made, 0, 1)
    proxy.answer_instead = drip

    with pytest.raises(WriterUnavailableError, match="in time"):
        run_query(f"select * from {made.table}", {made.table: made.merged()}, Limits(timeout_ms=4000))


@kafka
def test_another_version_has_another_path(lake: MakeLake) -> None:
    with RedpandaProxy(path=PATHS[1]) as proxy:
        made = lake(schema=ROW, partitions=1).having(redpandaUrl=proxy.url)
        produce(made.bootstrap, made.topic, [{"seq": 0}, {"seq": 1}])
        proxy.commit(made.topic, commit(made, 0, 1), {0: 0})

        assert seqs(made.open()) == [0, 1]


@kafka
def test_a_user_is_named_with_a_reference_to_the_password(
    lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_PASSWORD", "s3cr3t/@:")
    with RedpandaProxy(user="reader", password="s3cr3t/@:") as proxy:
        url = f"http://reader:${{env:PROXY_PASSWORD}}@{proxy.address}"
        made = lake(schema=ROW, partitions=1).having(redpandaUrl=url)
        produce(made.bootstrap, made.topic, [{"seq": 0}, {"seq": 1}])
        proxy.commit(made.topic, commit(made, 0, 1), {0: 0})

        assert seqs(made.open()) == [0, 1]


def test_both_spellings_of_names_and_numbers_are_read() -> None:
    camel = {
        "topicStates": {
            "t": {
                "partitionStates": {"0": {"lastCatalogCommittedOffset": "41"}, "1": {}},
                "lastCommittedSnapshotId": str((1 << 64) - 5),
            }
        }
    }
    snake = {
        "topic_states": {
            "t": {
                "partition_states": {"0": {"last_catalog_committed_offset": 41}, "1": {}},
                "last_committed_snapshot_id": (1 << 64) - 5,
            }
        }
    }

    expected = {"t": TranslationState(-5, {0: 42})}
    assert parse_states(json.dumps(camel).encode()) == expected
    assert parse_states(json.dumps(snake).encode()) == expected


@pytest.mark.parametrize("offset", ['"x"', "1.5", "true", "-1", '"-2"', "[]", '"1e3"'])
def test_an_offset_that_is_none_is_not_read(offset: str) -> None:
    partitions = f'{{"0": {{"lastCatalogCommittedOffset": {offset}}}}}'
    text = f'{{"topicStates": {{"t": {{"partitionStates": {partitions}}}}}}}'

    with pytest.raises((TypeError, ValueError)):
        parse_states(text.encode())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "redpanda:8082",
        "ftp://h:1",
        "file:///etc/passwd",
        "http://",
        "http://h:99999",
        "http://h/path",
        "http://a b",
    ],
)
def test_what_is_no_address_is_an_option_error(url: str) -> None:
    with pytest.raises(OptionError, match="redpandaUrl"):
        parse_address(url)


def test_a_bare_password_in_the_address_is_refused() -> None:
    made = Lake("b:1", Path("/lake"), "lake.t", "t")

    with pytest.raises(OptionError) as raised:
        made.merged(redpandaUrl="http://user:hunter2@host:8082")

    assert "hunter2" not in str(raised.value)
