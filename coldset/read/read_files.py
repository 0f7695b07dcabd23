"""Read planned files into Arrow batches of exactly the schema that was asked for.

Columns are resolved by id, deletes applied by position and by key, and what a
file lacks is its partition's value, its default or null. One file is open at a
time. No planning happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.types import DoubleType, NestedField
from pyroaring import BitMap64

from coldset.deletes import DeletedKeys, deleted_keys, deleted_positions
from coldset.errors import ColdReadError, UnsupportedTableError
from coldset.files import UNREADABLE, AnyFile, ColdFile, DeleteFile, Projection, open_file, wanted_groups
from coldset.plan import ColdTask, constants_of
from coldset.table import arrow_schema
from foundation.lru import LruCache

_TOLD_ROWS: Final = 1 << 17


def read_cold(
    task: ColdTask,
    columns: tuple[str, ...],
    io_properties: Mapping[str, str],
    done: Callable[[ColdFile], None] = lambda _file: None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task's files, deletes applied.

    Args:
        task: What to read.
        columns: Top-level column names, in the order wanted; may be empty.
        io_properties: pyiceberg properties for reaching the files, secrets resolved.
        done: Told of each file that is read to its end.

    Raises:
        ColdReadError: A file is missing, unreadable or not what the table says.
        UnsupportedTableError: A file is of a format that is not read here.
    """
    target = arrow_schema(task.schema)
    wanted = pa.schema([target.field(name) for name in columns])
    fields = [task.schema.find_field(name) for name in columns]
    io = load_file_io(dict(io_properties), task.metadata.location)
    # Files usually share their deletes by value, and making these ready costs more than reading a file.
    ready = LruCache[tuple[DeleteFile, ...], list[DeletedKeys]](1)
    for file in task.files:
        try:
            yield from _FileReader(task, file, io, ready).read(fields, wanted)
            done(file)
        except UnsupportedTableError:
            raise
        except UNREADABLE as exc:
            raise ColdReadError(
                f"file {file.path} of snapshot {task.snapshot_id} of table {task.identifier!r}, or a file of "
                f"its deletes, could not be read: {type(exc).__name__}: {exc}; ask again: a new cut takes "
                "the newest one",
                table=task.identifier,
                snapshot_id=task.snapshot_id,
                file=file.path,
            ) from exc


class _FileReader:
    """One data file, and what hides rows of it."""

    def __init__(
        self,
        task: ColdTask,
        file: ColdFile,
        io: FileIO,
        ready: LruCache[tuple[DeleteFile, ...], list[DeletedKeys]],
    ) -> None:
        self._task = task
        self._file = file
        self._io = io
        self._constants = constants_of(task.metadata.specs()[file.spec_id], file.partition)
        self._deleted: BitMap64 = deleted_positions(file.path, file.deletes, io)
        by_value = tuple(delete for delete in file.deletes if delete.keys)
        keys = ready.get(by_value)
        if keys is None:
            keys = deleted_keys(by_value, task.metadata, io)
            ready.put(by_value, keys)
        self._keys = keys

    def read(self, fields: Sequence[NestedField], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        file = self._file
        if not self._keys and self._is_told(fields):
            yield from self._told(fields, wanted)
            return
        mapping = self._task.metadata.name_mapping()
        with open_file(self._io, file.path, file.file_format, mapping, file.size_bytes) as opened:
            projection = Projection(opened.columns, self._constants)
            groups = self._groups(opened)
            rows = _rows_of_others(opened, groups)
            for start, batch in opened.batches(self._ids(fields), groups):
                left = self._left(projection, batch, start)
                rows += batch.num_rows
                arrays = [projection.column(f, t.type, batch) for f, t in zip(fields, wanted, strict=True)]
                if not fields:
                    yield _rows_without_columns(batch.num_rows if left is None else pc.sum(left).as_py() or 0)
                    continue
                found = pa.RecordBatch.from_arrays(arrays, schema=wanted)
                found = found if left is None else found.filter(left)
                if found.num_rows:
                    yield found
        if rows != file.rows:
            raise ValueError(f"it has {rows} rows, and its manifest says {file.rows}")

    def _is_told(self, fields: Sequence[NestedField]) -> bool:
        # Of a double the file may know more than the partition.
        return all(
            field.field_id in self._constants and not isinstance(field.field_type, DoubleType)
            for field in fields
        )

    def _told(self, fields: Sequence[NestedField], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns that the partition tells, without the file."""
        left = self._file.rows - self._deleted.range_cardinality(0, self._file.rows)
        projection = Projection((), self._constants)
        for start in range(0, left, _TOLD_ROWS):
            batch = _rows_without_columns(min(_TOLD_ROWS, left - start))
            arrays = [projection.column(f, t.type, batch) for f, t in zip(fields, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted) if arrays else batch

    def _ids(self, fields: Sequence[NestedField]) -> tuple[int, ...]:
        ids = {field.field_id for field in fields}
        ids.update(column.path[0].field_id for keys in self._keys for column in keys.columns)
        return tuple(ids)

    def _groups(self, opened: AnyFile) -> list[bool] | None:
        where = self._task.where
        if where is None or opened.footer is None:
            return None
        return wanted_groups(opened.footer, opened.columns, self._task.schema, where, self._constants)

    def _left(self, projection: Projection, batch: pa.RecordBatch, start: int) -> pa.Array | None:
        """Return which rows are left, of a batch that starts at a row of the file; None for all."""
        hidden: pa.Array | None = None
        if self._deleted.range_cardinality(start, start + batch.num_rows):
            gone = BitMap64()
            gone.add_range(start, start + batch.num_rows)
            gone &= self._deleted
            positions = pa.array(memoryview(gone.to_array()).cast("B").cast("q"), pa.int64())
            hidden = pc.is_in(pa.arange(start, start + batch.num_rows), value_set=positions)
        for keys in self._keys:
            values = [column.values(projection, batch) for column in keys.columns]
            found = keys.hides(values)
            hidden = found if hidden is None else pc.or_(hidden, found)
        return None if hidden is None else pc.invert(hidden)


def _rows_of_others(opened: AnyFile, groups: Sequence[bool] | None) -> int:
    others = [number for number, is_wanted in enumerate(groups or ()) if not is_wanted]
    return sum(opened.footer.row_group(number).num_rows for number in others)


def _rows_without_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))
