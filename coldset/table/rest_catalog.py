"""A REST catalog that is waited for only so long, and believed only so far.

pyiceberg sets no timeout on its requests, so a catalog that accepts a connection and says nothing
would be waited for without end. Two properties limit that, under the names they have in Iceberg's
Java client. What the server answers is taken as properties only where it names no code. The file
must not know what is asked of the catalog.
"""

from __future__ import annotations

import functools
import time
from typing import Any, Final

from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Properties

from coldset.table.catalog_properties import from_server, of_storage, seconds_of
from foundation.lru import LruCache

_CONNECT: Final = ("rest.client.connection-timeout-ms", 10_000)
_ANSWER: Final = ("rest.client.socket-timeout-ms", 30_000)

# How long what a server said of a table's storage is gone by, and how long before they end
# credentials are asked for anew: a file is to be read with them yet.
_KEPT_S: Final = 300.0
_SPARE_S: Final = 60.0
_ENDS: Final = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at")


class TimedRestCatalog(RestCatalog):
    """Raises once the server is silent for too long, be it asked for a table or for a commit."""

    def __init__(self, name: str, **properties: Any) -> None:
        self._lent = LruCache[tuple[str, ...], tuple[float, dict[str, str]]](256)
        super().__init__(name, **properties)

    def _create_session(self) -> Any:
        session = super()._create_session()
        timeout = (seconds_of(self.properties, *_CONNECT), seconds_of(self.properties, *_ANSWER))
        session.request = functools.partial(session.request, timeout=timeout)  # type: ignore[method-assign]
        return session

    def _fetch_config(self) -> None:
        # The answer may name a class for `auth`, with its arguments, for the next session.
        own = dict(self.properties)
        super()._fetch_config()
        merged = from_server(self.properties)
        self.properties = {**{name: value for name, value in own.items() if name not in merged}, **merged}

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        return super()._load_file_io(of_storage(properties), location)

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: TableResponse) -> Table:
        # Whoever writes a table sets its properties, and must not say where readers' requests go.
        of_table = table_response.metadata.model_copy(update={"properties": {}})
        bare = table_response.model_copy(update={"metadata": of_table})
        table = super()._response_to_table(identifier_tuple, bare)
        table.metadata = table_response.metadata
        reach = {name: value for name, value in table.io.properties.items() if isinstance(value, str)}
        self._lent.put(identifier_tuple, (time.monotonic(), reach))
        return table

    def lent(self, identifier: str, *, for_long: bool) -> dict[str, str] | None:
        """Return how a table's files are reached, by the server's last answer about it.

        Args:
            identifier: The table.
            for_long: If so, None for an answer that is old or about to end.
        """
        found = self._lent.get(self.identifier_to_tuple(identifier))
        if found is None or not for_long:
            return None if found is None else dict(found[1])
        soon_ms = (time.time() + _SPARE_S) * 1000
        ends = [found[1].get(name, "") for name in _ENDS]
        is_over = any(end.isdecimal() and int(end) < soon_ms for end in ends)
        return None if is_over or time.monotonic() - found[0] > _KEPT_S else dict(found[1])
