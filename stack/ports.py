"""Where local services listen: this machine only, on ports that nobody else is given by chance.

Services are told their port before they start, because others must know it first (a broker tells
its clients where to go). It must not know which service asks.
"""

from __future__ import annotations

import random
import socket
from typing import Final

from stack.errors import StackError

HOST: Final = "127.0.0.1"

# Below the range that systems hand out for outgoing connections: while a service is down, nobody
# else is given its port by chance, so a restart finds it free.
PORTS: Final = range(20_000, 30_000)


def free_port(*, taken: int | None = None) -> int:
    """Find a port nobody listens on; somebody else may still be quicker, which `start` reports."""
    for _ in range(200):
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if port != taken:
            return port
    raise StackError(f"no free port between {PORTS.start} and {PORTS.stop}")
