"""One server of a kind for a whole run, however many processes run its tests.

Servers take seconds to start and serve many. The process that hands out tests starts each when the first
test asks for it; those that run tests ask over a socket, and are told where it is. A server ends with the
run, and if that is killed, with the process that started it. What is lent has no process here, so that nobody
can stop or freeze it: a test that wants to do so starts a server of its own. It must not know any test.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Final

from coldset.table.catalog import open_catalog
from stack import KafkaBroker, StackError
from stack.objects import ObjectStore
from stack.postgres import PostgresServer
from stack.process import ManagedProcess
from stack.registry import SchemaRegistryServer
from stack.rest_catalog import RestCatalog
from stack.stoppable import Stoppable

Address = tuple[str, int, str]
# What is lent: what it is, and what it knows of itself.
Lent = tuple[type[Stoppable], dict[str, Any]]


class Lender:
    """Starts servers, each once, and tells whoever asks where they are."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        """Keep what servers write in folders that `new_folder` makes."""
        self.new_folder = new_folder
        self._servers = ExitStack()
        self._started: dict[str, Stoppable] = {}
        self._locks = {name: threading.Lock() for name in _START}
        self._listener: Listener | None = None

    def open_to_others(self) -> Address:
        """Return where other processes may ask, and the word by which they are known."""
        word = secrets.token_hex(16)
        self._listener = Listener(("127.0.0.1", 0), authkey=word.encode())
        threading.Thread(target=self._serve, args=(self._listener,), name="lender", daemon=True).start()
        host, port = self._listener.address
        return str(host), int(port), word

    def server(self, name: str) -> Stoppable:
        """Return a server, which is started if nobody has asked for it before."""
        with self._locks[name]:
            if name not in self._started:
                self._started[name] = self._servers.enter_context(_START[name](self))
            return self._started[name]

    def lend(self, name: str) -> Lent:
        server = self.server(name)
        known = {key: value for key, value in vars(server).items() if not isinstance(value, ManagedProcess)}
        return type(server), known

    def close(self) -> None:
        """Stop all servers, the last one first."""
        if self._listener is not None:
            self._listener.close()
        self._servers.close()

    def _serve(self, listener: Listener) -> None:
        while True:
            try:
                asking = listener.accept()
            except OSError:
                return  # it is closed
            threading.Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: Connection) -> None:
        with asking:
            try:
                asking.send(self.lend(asking.recv()))
            except StackError as exc:
                asking.send(str(exc))


def borrow(address: Address, name: str) -> Stoppable:
    """Return a server of the process that lends them.

    Raises:
        StackError: It did not start.
    """
    host, port, word = address
    with Client((host, port), authkey=word.encode()) as lender:
        lender.send(name)
        answer: Lent | str = lender.recv()
    if isinstance(answer, str):
        raise StackError(answer)
    return lent(answer)


def lent(what: Lent) -> Stoppable:
    """Return a server that knows all but how to end it."""
    kind, known = what
    server = object.__new__(kind)
    vars(server).update(known)
    return server


@contextmanager
def _postgres(_: Lender) -> Iterator[PostgresServer]:
    with PostgresServer.start() as running:
        # Two processes that make the tables of catalogs at once are in each other's way.
        open_catalog("lent", {"type": "sql", "uri": running.uri, "warehouse": "file:///nowhere"})
        yield running


@contextmanager
def _rest_on_store(lender: Lender) -> Iterator[RestCatalog]:
    store = lender.server("store")
    assert isinstance(store, ObjectStore)
    with RestCatalog.start(lender.new_folder("rest"), store=store) as running:
        yield running


_START: Final[dict[str, Callable[[Lender], Any]]] = {
    "broker": lambda lender: KafkaBroker.start(lender.new_folder("broker")),
    "registry": lambda lender: SchemaRegistryServer.start(lender.new_folder("registry")),
    "store": lambda lender: ObjectStore.start(lender.new_folder("objects")),
    "postgres": _postgres,
    "rest_on_store": _rest_on_store,
}
