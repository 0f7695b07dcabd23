"""Iceberg tables in a catalog of the test's own, and the reading of them.

Nothing here knows Kafka; tables are filled by pyiceberg itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from coldset.plan.file_plan import plan_cold
from coldset.prune.predicate import Predicate
from coldset.read.read_files import read_cold
from coldset.table.catalog import PinnedTable, open_catalog, pin

TABLE = "lake.orders"

# A single file is always one task, so the size may be anything.
SPLIT_BYTES = 1 << 27


def make_catalog(directory: Path) -> Catalog:
    catalog = open_catalog("cold", catalog_properties(directory))
    catalog.create_namespace_if_not_exists("lake")
    return catalog


def catalog_properties(directory: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": directory.as_uri()}


def read(
    pinned: PinnedTable,
    *columns: str,
    storage: Mapping[str, str] = MappingProxyType({}),
    where: Predicate | None = None,
) -> pa.Table:
    """Read the pinned snapshot: all columns if none are named, and all rows that `where` is true for."""
    names = columns or tuple(pinned.arrow_schema.names)
    schema = pa.schema([pinned.arrow_schema.field(name) for name in names])
    tasks = plan_cold(pinned, split_bytes=SPLIT_BYTES, where=where)
    return pa.Table.from_batches(
        [b for task in tasks for b in read_cold(task, names, storage)], schema=schema
    )


def add_file(catalog: Catalog, path: Path, rows: pa.Table, *, said: int | None = None) -> None:
    """Make a file with field ids part of the table as another writer would, who says how many rows it has."""
    pq.write_table(rows, path)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows if said is None else said,
        file_size_in_bytes=path.stat().st_size,
    )
    file.spec_id = 0
    table = catalog.load_table(TABLE)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


def read_now(catalog: Catalog, *columns: str) -> pa.Table:
    return read(pin(catalog, TABLE), *columns)
