"""Where local services listen: this machine only, on ports that nobody else is given by chance.

Services are told their port before they start, because others must know it first (a broker tells
its clients where to go). It must not know which service asks.
"""

from __future__ import annotations

import itertools
import random
import socket
import threading
from collections.abc import Iterator
from typing import Final

from stack.errors import StackError

HOST: Final = "127.0.0.1"

# Below the range that systems hand out for outgoing connections: while a service is down, nobody
# else is given its port by chance, so a restart finds it free.
PORTS: Final = range(20_000, 30_000)
# A process has so many of them to itself while it lives, and gives them in turn: a port that is told, and not
# listened on yet or no more, is not told to another service.
_SHARE: Final = 200

_lock: Final = threading.Lock()


def free_port(*, taken: int | None = None) -> int:
    """Find a port nobody listens on, and that was not given lately; `start` reports who was quicker."""
    for port in itertools.islice(_turn, _SHARE):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if port != taken:
            return port
    raise StackError(f"no free port between {PORTS.start} and {PORTS.stop}")


def _in_turn() -> Iterator[int]:
    """Yield the ports of this process's share again and again."""
    shares = [PORTS[first : first + _SHARE] for first in range(0, len(PORTS), _SHARE)]
    for share in random.sample(shares, len(shares)):
        # A name of no file, which is free again when the process ends, however it ends.
        holder = socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0kafkaiceberg-ports-{share.start}")
        except OSError:
            holder.close()
            continue
        with holder:
            yield from itertools.cycle(share)
    # So many processes have theirs that some have to be shared.
    while True:
        yield random.choice(PORTS)


class _Turn:
    """One turn for all threads of the process, begun when the first port is asked for."""

    def __init__(self) -> None:
        self._ports = _in_turn()

    def __iter__(self) -> _Turn:
        return self

    def __next__(self) -> int:
        with _lock:
            return next(self._ports)


_turn: Final = _Turn()
