"""The misbehaving network does what it is told, and only that: else no fault test proves anything.

Most tests talk to an echo server through it; the last one lets a Kafka client do so.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from stack import KafkaBroker, StackError, TcpProxy
from stack.kafka import Listener
from stack.ports import HOST, free_port
from tests.builders import admin, make_topic, produce, wait_until

PAYLOAD = bytes(range(256)) * 4096


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """A reset client is what these tests are about."""


@pytest.fixture(scope="module")
def echo() -> Iterator[int]:
    with Server((HOST, 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(echo: int) -> Iterator[TcpProxy]:
    with TcpProxy.start(HOST, echo) as running:
        yield running


@pytest.fixture
def client(proxy: TcpProxy) -> Iterator[socket.socket]:
    with dial(proxy) as connection:
        assert exchange(connection, b"hello") == b"hello"
        yield connection


def test_everything_comes_back_unchanged(proxy: TcpProxy, client: socket.socket) -> None:
    sender = threading.Thread(target=client.sendall, args=(PAYLOAD,))
    sender.start()

    assert receive(client, len(PAYLOAD)) == PAYLOAD

    sender.join()
    # They are counted when they have been sent, and by then they may have been received.
    forwarded = len(PAYLOAD) + len(b"hello")
    wait_until(lambda: proxy.forwarded_bytes >= forwarded, "all bytes to be counted")
    assert proxy.forwarded_bytes == forwarded
    assert proxy.accepted == 1


def test_the_end_of_a_stream_is_passed_on(client: socket.socket) -> None:
    client.sendall(b"last words")
    client.shutdown(socket.SHUT_WR)

    assert receive(client, 100) == b"last words"


def test_a_delay_is_waited_for_each_way(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.delay(150)

    began_s = time.monotonic()
    assert exchange(client, b"slow") == b"slow"

    assert time.monotonic() - began_s >= 0.3


def test_a_delay_ends_with_the_fault(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.delay(3_600_000)
    client.sendall(b"late")
    assert_silent(client)

    proxy.pass_through()

    assert receive(client, 4) == b"late"


def test_a_reset_ends_open_and_new_connections(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.reset()

    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionResetError), dial(proxy) as second:
        second.recv(1)

    proxy.pass_through()
    with dial(proxy) as third:
        assert exchange(third, b"again") == b"again"


def test_a_black_hole_takes_and_never_answers(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.black_hole()

    client.sendall(b"into the void")
    assert_silent(client)
    with dial(proxy) as second:
        second.sendall(b"so is this")
        assert_silent(second)

        proxy.pass_through()  # What has lost bytes cannot be healed, only ended.
        for lost in (client, second):
            with pytest.raises(ConnectionResetError):
                lost.recv(1)


def test_a_half_open_connection_delivers_its_answers_afterwards(
    proxy: TcpProxy, client: socket.socket
) -> None:
    proxy.half_open()
    client.sendall(b"held back")
    assert_silent(client)

    proxy.pass_through()

    assert receive(client, 9) == b"held back"


def test_a_drip_keeps_to_its_rate(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.drip(100)
    client.sendall(b"x" * 10_000)

    began_s = time.monotonic()
    assert receive(client, 40) == b"x" * 40
    assert time.monotonic() - began_s >= 0.3

    proxy.pass_through()
    assert receive(client, 9_960) == b"x" * 9_960


def test_a_cut_comes_after_exactly_so_many_bytes(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.cut_after(7)

    client.sendall(b"0123456789")
    assert receive(client, 100) == b"0123456"
    with dial(proxy) as second:
        second.sendall(b"abcdefghij")
        assert receive(second, 100) == b"abcdefg"


def test_a_client_is_reset_while_nobody_listens_behind() -> None:
    with (
        TcpProxy.start(HOST, free_port()) as proxy,
        pytest.raises(ConnectionResetError),
        dial(proxy) as client,
    ):
        client.recv(1)


def test_a_stopped_proxy_listens_no_more(proxy: TcpProxy, client: socket.socket) -> None:
    proxy.stop()
    proxy.stop()

    with pytest.raises(ConnectionRefusedError):
        dial(proxy)
    with pytest.raises(StackError, match="is stopped"):
        proxy.reset()
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_a_taken_port_is_an_error(proxy: TcpProxy) -> None:
    with pytest.raises(StackError, match=f"no proxy on port {proxy.port}"):
        TcpProxy.start(HOST, 9, port=proxy.port)


@pytest.mark.kafka
def test_a_kafka_client_stays_behind_the_proxy(tmp_path: Path) -> None:
    behind = free_port()
    with (
        TcpProxy.start(HOST, behind) as proxy,
        KafkaBroker.start(
            tmp_path, listeners=[Listener("PROXIED", behind, advertised_port=proxy.port)]
        ) as broker,
    ):
        make_topic(proxy.address, "far", partitions=1)
        assert produce(proxy.address, "far", [{"n": n} for n in range(100)])[-1] == (0, 99)

        proxy.black_hole()
        with pytest.raises(KafkaException):
            admin(proxy.address).list_topics(timeout=1)
        assert admin(broker.bootstrap).list_topics(timeout=60).topics["far"]

        proxy.pass_through()
        assert produce(proxy.address, "far", [{"n": 100}]) == [(0, 100)]


def dial(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=60)


def exchange(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return receive(connection, len(data))


def receive(connection: socket.socket, size: int) -> bytes:
    """Read until `size` bytes have come or the stream has ended."""
    data = b""
    while len(data) < size and (piece := connection.recv(65536)):
        data += piece
    return data


def assert_silent(connection: socket.socket) -> None:
    connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        connection.recv(1)
    connection.settimeout(60)
