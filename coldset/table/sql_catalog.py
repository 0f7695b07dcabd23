"""A catalog in a SQL database that is waited for only so long.

Drivers wait for an answer without end, and pyiceberg gives them no limit. A limit of the database
itself does not help where the database is what hangs, so the connection is cut from this side. The
file must not know what is asked of the catalog.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import socket
import threading
from typing import Any, Final

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import bindparam, event, make_url, select
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError

from coldset.errors import CatalogConfigError, CatalogUnavailableError
from coldset.table.catalog_properties import seconds_of
from coldset.table.metadata_file import read_metadata
from foundation.extras import require_extra

# The driver that the extra `postgres` brings.
_DRIVER: Final = "postgresql+psycopg2"

_CONNECT: Final = ("sql.connect-timeout-ms", 10_000)
_TRANSACTION: Final = ("sql.transaction-timeout-ms", 30_000)
_WATCH: Final = "kafkaiceberg.watch"
_USED: Final = "kafkaiceberg.used"

# libpq tells what a server refuses in words only.
_REFUSED: Final = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|does not exist|permission denied"
)


class TimedSqlCatalog(SqlCatalog):
    """Raises once a database server is silent for too long; a SQLite file has no server."""

    def __init__(self, name: str, **properties: str) -> None:
        self._transaction_s = seconds_of(properties, *_TRANSACTION)
        uri = make_url(str(properties["uri"]))
        if uri.get_backend_name() == "postgresql":
            if uri.drivername == "postgresql":
                uri = uri.set(drivername=_DRIVER)  # else the version of SQLAlchemy chooses
            if uri.drivername == _DRIVER:
                require_extra("postgres", "a catalog in PostgreSQL")
            limit_s = max(2, round(seconds_of(properties, *_CONNECT)))  # libpq takes no less than 2
            query = {"connect_timeout": str(limit_s), **uri.query}
            address = uri.set(query=query).render_as_string(hide_password=False)
            # The pool's own ping would wait without end.
            properties = {**properties, "uri": address, "pool_pre_ping": "false"}
        super().__init__(name, **properties)

    def _init_catalog(self) -> None:
        if self.engine.dialect.name != "sqlite":
            event.listen(self.engine, "checkout", self._watch)
            event.listen(self.engine, "checkin", _unwatch)
            event.listen(self.engine, "close", _unwatch)
            self._require_answer()
        super()._init_catalog()

    def _require_answer(self) -> None:
        try:
            self.engine.connect().close()
        except DBAPIError as exc:
            said = str(exc.orig).strip()
            if isinstance(exc, OperationalError) and not _REFUSED.search(said):
                raise CatalogUnavailableError(
                    f"catalog {self.name!r} did not answer: {said}; check catalog.uri, and that the "
                    "database is up"
                ) from exc
            raise CatalogConfigError(
                f"catalog {self.name!r} was refused by its database: {said}; check the user, the password "
                "and the database in catalog.uri"
            ) from exc

    def load_table(self, identifier: str | Identifier) -> Table:
        """Return a table as its row has it, by a query that is made once.

        Raises:
            NoSuchTableError: There is none of that name.
        """
        namespace = Catalog.namespace_to_string(Catalog.namespace_from(identifier))
        name = Catalog.table_name_from(identifier)
        with self.engine.connect() as connection:
            asked = {"catalog": self.name, "namespace": namespace, "name": name}
            row = connection.execute(self._row_of_a_table, asked).first()
        if row is None:
            raise NoSuchTableError(f"Table does not exist: {namespace}.{name}")
        return self._convert_orm_to_iceberg(row)

    @functools.cached_property
    def _row_of_a_table(self) -> Any:
        rows = IcebergTables
        query = select(rows.metadata_location, rows.table_namespace, rows.table_name).where(
            rows.catalog_name == bindparam("catalog"),
            rows.table_namespace == bindparam("namespace"),
            rows.table_name == bindparam("name"),
        )
        is_table = self._iceberg_type_filter()
        return query if is_table is None else query.where(is_table)

    def _load_file_io(
        self,
        properties: Properties = EMPTY_DICT,  # noqa: ARG002
        location: str | None = None,
    ) -> FileIO:
        # Whoever writes a table sets its properties, and must not say what code readers run.
        return load_file_io(self.properties, location)

    def _convert_orm_to_iceberg(self, orm_table: Any) -> Table:
        # A row names the metadata file, and a metadata file never changes.
        location = orm_table.metadata_location
        if not (location and orm_table.table_namespace and orm_table.table_name):
            return super()._convert_orm_to_iceberg(orm_table)  # raises, and says what is missing
        io = self._load_file_io({}, location)
        identifier = (*Catalog.identifier_to_tuple(orm_table.table_namespace), orm_table.table_name)
        return Table(identifier, read_metadata(io, location), location, io, self)

    def _watch(self, connection: Any, record: Any, _proxy: object) -> None:
        record.info[_WATCH] = _Watch(connection, self._transaction_s)
        if record.info.get(_USED):
            # A server that was restarted has left connections behind that only look alive.
            try:
                self.engine.dialect.do_ping(connection)
            except Exception as exc:
                raise DisconnectionError(str(exc)) from exc
        record.info[_USED] = True


class _Watch:
    """Cuts a connection that was not given back in time, and no other one."""

    def __init__(self, connection: Any, limit_s: float) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._is_over = False
        self._timer = threading.Timer(limit_s, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True

    def _cut(self) -> None:
        with self._lock, contextlib.suppress(Exception):
            if not self._is_over:
                with socket.socket(fileno=os.dup(self._connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)


def _unwatch(_connection: object, record: Any) -> None:
    watch = record.info.pop(_WATCH, None)
    if watch is not None:
        watch.end()
