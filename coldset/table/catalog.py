"""Open catalogs and pin tables: the one place where a table's state is loaded.

A table is loaded once per statement and everything else works on that loaded
state, so no later commit can slip in. Errors of pyiceberg's catalogs are
translated here. The file must not know about Kafka.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa
from pyiceberg.catalog import _ENV_CONFIG, Catalog, CatalogType, infer_catalog_type, load_catalog
from pyiceberg.exceptions import (
    NoSuchIcebergTableError,
    NoSuchNamespaceError,
    NoSuchTableError,
    ServerError,
    ServiceUnavailableError,
)
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import EMPTY_DICT, RecursiveDict
from pyiceberg.utils.config import merge_config

from coldset.errors import (
    CatalogConfigError,
    CatalogUnavailableError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)
from coldset.table.arrow_form import arrow_schema
from coldset.table.catalog_properties import nested, with_storage_defaults
from foundation.errors import KafkaIcebergError

# Names Python code that pyiceberg would import to write a file.
_LOCATION_CODE: Final = "write.py-location-provider.impl"

# pyiceberg's words for a type that its metadata's reader does not know, in any schema a table ever had.
_UNKNOWN_TYPE: Final = re.compile(r"Unsupported field type: '([^']+)'|Could not parse (.+?) into a \w+Type")


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """One loaded state of an Iceberg table, with the snapshot to read.

    Invariant: nothing here changes when the table does. `snapshot` is None for
    a table without snapshots; `schema` is the one the answer will have.
    """

    identifier: str
    table: Table
    snapshot: Snapshot | None
    schema: Schema

    @property
    def uuid(self) -> str:
        """The table's UUID."""
        return str(self.table.metadata.table_uuid)

    @property
    def snapshot_id(self) -> int | None:
        """Id of the pinned snapshot, or None if the table has none."""
        return self.snapshot.snapshot_id if self.snapshot else None

    @property
    def schema_id(self) -> int:
        """Id of the schema the answer will have."""
        return self.schema.schema_id

    @property
    def spec_id(self) -> int:
        """Id of the partition spec that new files are written under."""
        return self.table.metadata.default_spec_id

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return self.table.metadata.properties

    @property
    def layout(self) -> TableMetadata:
        """The table's metadata without its history: schemas, specs and properties; picklable."""
        history: dict[str, object] = {"snapshots": [], "snapshot_log": [], "metadata_log": [], "refs": {}}
        return self.table.metadata.model_copy(update=history)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the answer, in Arrow.

        Raises:
            UnsupportedTableError: A column's type is not supported.
        """
        return arrow_schema(self.schema)


def open_catalog(name: str, properties: Mapping[str, str]) -> Catalog:
    """Return the catalog of that name; shared by equal properties within a process.

    Args:
        name: Catalog name, as pyiceberg knows it; its own configuration files
            and environment variables apply below `properties`.
        properties: pyiceberg catalog properties, secrets resolved. They may name code
            to run; `check_properties` is for those of which that must not be so.

    Raises:
        CatalogConfigError: The catalog refuses the properties, or they make no catalog.
        CatalogUnavailableError: The catalog did not answer.
        ExtraMissingError: The catalog is in PostgreSQL, and its driver is not installed.
    """
    return _open(os.getpid(), name, tuple(sorted(properties.items())))


# By process id: connections do not survive a fork.
@functools.lru_cache(maxsize=64)
def _open(_pid: int, name: str, items: tuple[tuple[str, str], ...]) -> Catalog:
    try:
        return _load(name, dict(items))
    except KafkaIcebergError:
        raise
    except (OSError, ServerError, ServiceUnavailableError) as exc:
        raise CatalogUnavailableError(
            f"catalog {name!r} did not answer: {type(exc).__name__}: {exc}; "
            "check catalog.uri, and that the catalog is up"
        ) from exc
    except Exception as exc:
        raise CatalogConfigError(
            f"catalog {name!r} could not be opened: {type(exc).__name__}: {exc}; "
            "set catalog.type, catalog.uri and catalog.warehouse, or configure pyiceberg"
        ) from exc


def merged_properties(name: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties over those of pyiceberg's own configuration, with defaults and a type.

    Args:
        name: Catalog name.
        properties: From options, secrets resolved.

    Returns:
        The properties; `type` is in lower case, and empty if a class of the user's makes the catalog.

    Raises:
        ValueError: They do not tell what kind of catalog it is.
    """
    own = _ENV_CONFIG.get_catalog_config(name) or {}
    merged = with_storage_defaults(merge_config(own, cast(RecursiveDict, properties)))
    kind = str(merged.get("type") or "").lower()
    if not kind and "py-catalog-impl" not in merged:
        kind = str(getattr(infer_catalog_type(name, merged), "value", ""))
    return {**merged, "type": kind}


def _load(name: str, properties: dict[str, str]) -> Catalog:
    merged = merged_properties(name, properties)
    if merged["type"] == CatalogType.REST.value:
        from coldset.table.rest_catalog import TimedRestCatalog

        return TimedRestCatalog(name, **nested(merged))
    if merged["type"] == CatalogType.SQL.value:
        from coldset.table.sql_catalog import TimedSqlCatalog

        return TimedSqlCatalog(name, **merged)
    if not merged["type"]:
        del merged["type"]  # a class of the user's makes the catalog
    return _believing_no_table(load_catalog(name, **merged))


def _believing_no_table(catalog: Catalog) -> Catalog:
    # A table's properties come from whoever may write to the catalog, and pyiceberg lets them
    # name the Python class that opens files.
    load_file_io = catalog._load_file_io  # noqa: SLF001 - there is no public seam

    def load_safely(
        properties: Mapping[str, str] = EMPTY_DICT,  # noqa: ARG001
        location: str | None = None,
    ) -> FileIO:
        return load_file_io({}, location)

    catalog._load_file_io = load_safely  # type: ignore[method-assign]  # noqa: SLF001
    return catalog


def load_table(catalog: Catalog, identifier: str) -> Table:
    """Load the table's current state from the catalog.

    Raises:
        TableNotFoundError: The catalog has no such table.
        UnsupportedTableError: The table names Python code of its own for writing, or a schema of it has a
            type that is not known here.
        CatalogUnavailableError: The catalog did not answer.
    """
    try:
        table = catalog.load_table(identifier)
    except (NoSuchTableError, NoSuchIcebergTableError, NoSuchNamespaceError) as exc:
        raise TableNotFoundError(
            f"catalog {catalog.name!r} has no table {identifier!r}; create it, or correct the name",
            table=identifier,
        ) from exc
    except Exception as exc:
        if unknown := _UNKNOWN_TYPE.search(str(exc)):
            raise UnsupportedTableError(
                f"a schema of table {identifier!r} has type {unknown[1] or unknown[2]}, which is not "
                "supported; read a table without such a column",
                table=identifier,
            ) from exc
        raise CatalogUnavailableError(
            f"table {identifier!r} could not be loaded from catalog {catalog.name!r}: "
            f"{type(exc).__name__}: {exc}",
            table=identifier,
        ) from exc
    if _LOCATION_CODE in table.metadata.properties:
        raise UnsupportedTableError(
            f"table {identifier!r} has property {_LOCATION_CODE}, which names Python code to run; remove it",
            table=identifier,
        )
    return table


def pin(
    catalog: Catalog,
    identifier: str,
    *,
    snapshot_id: int | None = None,
    ref: str | None = None,
    as_of_ms: int | None = None,
) -> PinnedTable:
    """Load a table once and pin the snapshot to read.

    Args:
        catalog: Where the table is registered.
        identifier: Namespace and name, joined by a dot.
        snapshot_id: The snapshot to read.
        ref: The branch or tag to read; the main branch if nothing is given.
        as_of_ms: The time (epoch ms, UTC) at which the snapshot to read was that of the main branch.

    Raises:
        TableNotFoundError: The catalog has no such table.
        SnapshotNotFoundError: The table has no such snapshot or ref.
        CatalogUnavailableError: The catalog did not answer.
    """
    table = load_table(catalog, identifier)
    metadata = table.metadata
    if as_of_ms is not None:
        snapshot_id = _id_as_of(table, as_of_ms)
    if snapshot_id is None and ref is None:
        return PinnedTable(identifier, table, table.current_snapshot(), table.schema())
    snapshot = (
        metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else metadata.snapshot_by_name(ref)
    )
    if snapshot is None:
        asked = f"snapshot {snapshot_id}" if snapshot_id is not None else f"branch or tag {ref!r}"
        raise SnapshotNotFoundError(
            f"table {identifier!r} has no {asked}; it may have been expired",
            table=identifier,
            snapshot_id=snapshot_id,
        )
    # As Iceberg's own readers have it: a branch goes on under the table's schema, all else stays as it was.
    head = metadata.refs.get(ref) if snapshot_id is None and ref is not None else None
    is_branch = head is not None and head.snapshot_ref_type == SnapshotRefType.BRANCH
    schema = table.schema() if is_branch else _schema_of(table, snapshot)
    return PinnedTable(identifier, table, snapshot, schema)


def _id_as_of(table: Table, as_of_ms: int) -> int:
    # The log and not the snapshots' own times: what was rolled back was there all the same.
    found = [each.snapshot_id for each in table.metadata.snapshot_log if each.timestamp_ms <= as_of_ms]
    if not found:
        raise SnapshotNotFoundError(
            f"table {table.name()!r} has no snapshot of as early as {as_of_ms} ms; it may have been expired",
            as_of_ms=as_of_ms,
        )
    return found[-1]


def _schema_of(table: Table, snapshot: Snapshot) -> Schema:
    if snapshot.schema_id is None:
        return table.schema()
    return table.schemas().get(snapshot.schema_id, table.schema())
