"""A REST catalog that is waited for only so long.

pyiceberg sets no timeout on its requests, so a catalog that accepts a connection and says nothing
would be waited for without end. Two properties limit that, under the names they have in Iceberg's
Java client. The file must not know what is asked of the catalog.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from pyiceberg.catalog.rest import RestCatalog

_CONNECT: Final = ("rest.client.connection-timeout-ms", 10_000)
_ANSWER: Final = ("rest.client.socket-timeout-ms", 30_000)


class TimedRestCatalog(RestCatalog):
    """Raises once the server is silent for too long, be it asked for a table or for a commit."""

    def _create_session(self) -> Any:
        session = super()._create_session()
        timeout = (self._seconds(*_CONNECT), self._seconds(*_ANSWER))
        session.request = functools.partial(session.request, timeout=timeout)  # type: ignore[method-assign]
        return session

    def _seconds(self, name: str, default_ms: int) -> float:
        text = str(self.properties.get(name, default_ms))
        if not text.isdecimal() or int(text) == 0:
            raise ValueError(f"catalog.{name} must be a number of milliseconds above 0")
        return int(text) / 1000
