"""Keep the tails of tables resident while nobody asks: a thread for each table that wants it.

What goes wrong is kept for `/healthz` and logged when it changes; it never ends a thread, nor a statement,
which reads by itself what is not there. The file must not know how a tail is read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from federation.options import OPTIONS
from federation.warm import warm_table
from sql_gateway.errors import envelope

_log = logging.getLogger(__name__)

_STOP_S = 10.0
_UNKNOWN = "INTERNAL"


class _StoppedError(Exception):
    """The gateway ends."""


class Warmer:
    """Looks at tables with `hotStore=warm` again and again, from `start` to `stop`."""

    def __init__(self, tables: Mapping[str, Mapping[str, str]], every_ms: int) -> None:
        self._tables = {
            n: options for n, options in tables.items() if OPTIONS.value_of(options, "hotStore") == "warm"
        }
        self._every_s = every_ms / 1000
        self._stopping = threading.Event()
        self._codes: dict[str, str | None] = {}
        self._threads: Sequence[threading.Thread] = ()

    def start(self) -> None:
        """Begin to look.

        Raises:
            RuntimeError: There are no threads left.
        """
        self._threads = [
            threading.Thread(target=self._run, args=(name,), name=f"warm {name}", daemon=True)
            for name in self._tables
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all threads, within seconds."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(_STOP_S)

    def health(self) -> dict[str, Any]:
        """Return how many tables are kept warm, how many have been looked at, and the codes of failures."""
        codes = dict(self._codes)
        return {
            "tables": len(self._tables),
            "looked_at": len(codes),
            "errors": sorted({code for code in codes.values() if code is not None}),
        }

    def _run(self, name: str) -> None:
        while not self._stopping.is_set():
            code = None
            try:
                warm_table(self._tables[name], self._require_going_on)
            except _StoppedError:
                return
            except Exception as exc:  # noqa: BLE001 - whatever it is, the next look may be better
                code = envelope(exc, "")[0]["error"]["code"]
                if code != self._codes.get(name):
                    _log.warning(
                        "table %s is not kept warm: %s",
                        name,
                        code,
                        exc_info=exc if code == _UNKNOWN else None,
                    )
            self._codes[name] = code
            self._stopping.wait(self._every_s)

    def _require_going_on(self) -> None:
        if self._stopping.is_set():
            raise _StoppedError
