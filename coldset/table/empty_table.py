"""A table that is in no catalog: a schema, and no snapshot.

A topic may be read before anybody has made a table for it. What reads tables
needs not know: this is one like any other that has never had a commit. It can
be read only; nothing here touches a catalog or a file.
"""

from __future__ import annotations

import uuid
from typing import Final

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, _pyarrow_to_schema_without_ids
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from coldset.errors import UnsupportedTableError
from coldset.table.catalog import PinnedTable

_NAMES: Final = uuid.UUID("5f0f6f5e-3a1e-5b0e-9b53-6d1c3c0f0b7a")


def pin_absent(identifier: str, schema: pa.Schema) -> PinnedTable:
    """Return a table of this schema without any snapshot.

    Its UUID depends on name and schema alone, so the same description is the same table.

    Args:
        identifier: The name it goes by.
        schema: Its columns.

    Raises:
        UnsupportedTableError: No Iceberg table can have such a schema.
    """
    try:
        metadata = new_table_metadata(
            schema=_pyarrow_to_schema_without_ids(schema),
            partition_spec=UNPARTITIONED_PARTITION_SPEC,
            sort_order=UNSORTED_SORT_ORDER,
            location="",
            properties={},
            table_uuid=uuid.uuid5(_NAMES, f"{identifier}\n{schema.to_string()}"),
        )
    except (TypeError, ValueError) as exc:
        raise UnsupportedTableError(f"no Iceberg table can have the schema: {exc}", table=identifier) from exc
    name = tuple(identifier.split("."))
    table = Table(name, metadata, metadata_location="", io=PyArrowFileIO(), catalog=NoopCatalog("absent"))
    return PinnedTable(identifier, table, None, table.schema())
