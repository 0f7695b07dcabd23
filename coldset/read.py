"""Read planned files into Arrow batches of exactly the schema that was asked for.

pyiceberg's reader resolves columns by field id, applies position deletes and
fills defaults; what is added here is the fixed Arrow form, and errors that name
table and snapshot. One file is in memory at a time. No planning happens here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyiceberg.exceptions import ResolveError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import ArrowScan

from coldset.errors import ColdReadError
from coldset.scan import ColdTask
from coldset.schema import arrow_schema

# What pyiceberg and Arrow raise for files that are missing, broken or not what the metadata says.
UNREADABLE: Final = (OSError, pa.ArrowException, ValueError, KeyError, NotImplementedError, ResolveError)


def read_cold(
    task: ColdTask, columns: tuple[str, ...], io_properties: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task's files, deletes applied.

    Args:
        task: What to read.
        columns: Top-level column names, in the order wanted; may be empty.
        io_properties: pyiceberg properties for reaching the files, secrets resolved.

    Raises:
        ColdReadError: A file is missing, unreadable or not what the table says.
    """
    target = arrow_schema(task.schema)
    wanted = pa.schema([target.field(name) for name in columns])
    if not columns and task.exact_rows is not None:
        yield _rows_without_columns(task.exact_rows)
        return
    # A projection of nothing loses the row count, so the first column is read for it.
    names = columns or (task.schema.fields[0].name,)
    io = load_file_io(dict(io_properties), task.metadata.location)
    for batch in _scan(task, names, io):
        if columns:
            yield _conform(batch, wanted, task)
        else:
            yield _rows_without_columns(batch.num_rows)


def _scan(task: ColdTask, names: tuple[str, ...], io: FileIO) -> Iterator[pa.RecordBatch]:
    projected = task.schema.select(*names)
    for file in task.files:
        scan = ArrowScan(task.metadata, io, projected, AlwaysTrue())
        try:
            yield from scan.to_record_batches([file])
        except UNREADABLE as exc:
            raise ColdReadError(
                f"file {file.file.file_path} of snapshot {task.snapshot_id} of table {task.identifier!r} "
                f"could not be read: {type(exc).__name__}: {exc}; ask again: a new cut takes the newest one",
                table=task.identifier,
                snapshot_id=task.snapshot_id,
                file=file.file.file_path,
            ) from exc


def _conform(batch: pa.RecordBatch, wanted: pa.Schema, task: ColdTask) -> pa.RecordBatch:
    try:
        arrays = [batch.column(field.name).cast(field.type) for field in wanted]
        return pa.RecordBatch.from_arrays(arrays, schema=wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError) as exc:
        raise ColdReadError(
            f"a file of snapshot {task.snapshot_id} of table {task.identifier!r} does not have the table's "
            f"schema: {exc}",
            table=task.identifier,
            snapshot_id=task.snapshot_id,
        ) from exc


def _rows_without_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
