"""Write rows as data files of a table, without committing them.

Files written here belong to nobody until `fenced_commit` adds them to a snapshot, so
any number of tasks may write at once, and a lost one leaves only orphans. The
file must not touch the catalog.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import UUIDType


def write_files(
    metadata: TableMetadata, rows: pa.Table, io_properties: Mapping[str, str]
) -> Iterator[DataFile]:
    """Write rows into new data files of the table's current layout.

    Args:
        metadata: The table's `PinnedTable.layout`.
        rows: Rows of the table's current schema, by name.
        io_properties: pyiceberg properties for reaching the warehouse, secrets resolved.

    Yields:
        One description per file written; picklable; for `commit_append`.

    Raises:
        OSError: A file could not be written.
    """
    io = load_file_io(dict(io_properties), metadata.location)
    yield from _dataframe_to_data_files(metadata, _grouped(metadata, rows), io, write_uuid=uuid.uuid4())


def _grouped(metadata: TableMetadata, rows: pa.Table) -> pa.Table:
    """Return rows that the library can group by their partitions: it cannot by UUIDs, but by their bytes."""
    if not any(
        isinstance(part.transform, IdentityTransform)
        and isinstance(metadata.schema().find_type(part.source_id), UUIDType)
        for part in metadata.spec().fields
    ):
        return rows
    return rows.cast(pa.schema([part.with_type(_as_bytes(part.type)) for part in rows.schema]))


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    if kind == pa.uuid():
        return kind.storage_type
    if pa.types.is_struct(kind):
        return pa.struct([part.with_type(_as_bytes(part.type)) for part in kind])
    return kind  # nothing in lists or maps tells a partition


def delete_files(metadata: TableMetadata, paths: Iterator[str], io_properties: Mapping[str, str]) -> None:
    """Delete files that were written and certainly not committed.

    Raises:
        OSError: A file exists and could not be deleted.
    """
    io = load_file_io(dict(io_properties), metadata.location)
    for path in paths:
        io.delete(path)
