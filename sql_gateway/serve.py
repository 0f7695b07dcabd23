"""Serve the gateway with waitress until the process is told to stop.

Waitress lets a running statement see that its client has gone, which the
gateway uses to stop it. This file is the only one that listens.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from waitress.server import create_server

from federation.options import Config
from federation.warm import leave_stores
from sql_gateway.app import create_app, gateway_tables
from sql_gateway.settings import GatewaySettings
from sql_gateway.warm import Warmer

_ENDING_S: Final = 10.0


def serve(config: Config, settings: GatewaySettings, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        config: Tables and their options.
        settings: Where to listen, and limits.
        announce: Told the address once connections are accepted.

    Raises:
        OSError: The address is taken or not ours.
        OptionError: A table's options are malformed.
        HotStoreError: The place of the hot store cannot be used.
    """
    tables = gateway_tables(config)
    warmer = Warmer(tables, settings.warm_every_ms)
    server = create_server(
        create_app(config, settings, warmer),
        host=settings.host,
        port=settings.port,
        threads=settings.threads,
        channel_request_lookahead=1,
        ident="kafkaiceberg",
    )

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    warmer.start()
    announce(f"http://{settings.host}:{settings.port}")
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        warmer.stop()
        server.close()
        _await_threads()
        # Shared memory is the machine's: what only this process has used must not stay occupied.
        leave_stores(tables.values())


def _await_threads() -> None:
    """Wait until the threads of statements have ended.

    Waitress knows only that they will. One that the end of the interpreter meets in the engine's own code
    ends the process with a signal.
    """
    until_s = time.monotonic() + _ENDING_S
    for thread in threading.enumerate():
        if thread.name.startswith("waitress-"):
            thread.join(max(0.0, until_s - time.monotonic()))
