"""A REST catalog that is waited for only so long, and believed only so far.

pyiceberg sets no timeout on its requests, so a catalog that accepts a connection and says nothing
would be waited for without end. Two properties limit that, under the names they have in Iceberg's
Java client. What the server answers is taken as properties only where it names no code. The file
must not know what is asked of the catalog.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Properties

from coldset.properties import from_server, of_storage

_CONNECT: Final = ("rest.client.connection-timeout-ms", 10_000)
_ANSWER: Final = ("rest.client.socket-timeout-ms", 30_000)


class TimedRestCatalog(RestCatalog):
    """Raises once the server is silent for too long, be it asked for a table or for a commit."""

    def _create_session(self) -> Any:
        session = super()._create_session()
        timeout = (self._seconds(*_CONNECT), self._seconds(*_ANSWER))
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
        return table

    def _seconds(self, name: str, default_ms: int) -> float:
        text = str(self.properties.get(name, default_ms))
        if not text.isdecimal() or int(text) == 0:
            raise ValueError(f"catalog.{name} must be a number of milliseconds above 0")
        return int(text) / 1000
