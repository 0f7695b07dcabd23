"""Which rows are deleted by the values of some of their columns.

A row goes if its values equal those of a deleted key in every column, null
being equal to null, and floating-point numbers if they are written alike. A field
in a struct that is null is not equal to one that is null itself: so Iceberg's own
readers have it. Columns
are known by id, so one that the table has renamed or dropped since still counts.
Which delete files apply to a data file is decided in `delete_index`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import NestedField, StructType

from coldset.errors import UnsupportedTableError
from coldset.files import DeleteFile, Projection, open_file
from coldset.table import arrow_schema
from foundation.lru import LruCache

_KEPT_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column that names deleted rows.

    Attributes:
        path: The fields down to it.
        arrow: Its type.
        is_depth: Not its value, but how many of the structs around it are there.
    """

    path: tuple[NestedField, ...]
    arrow: pa.DataType
    is_depth: bool = False

    def values(self, projection: Projection, batch: pa.RecordBatch) -> pa.Array:
        """Return the column's values for a batch of a file.

        Raises:
            ValueError, pa.ArrowException: The file's column is not one that could have become the table's.
        """
        if self.is_depth:
            return projection.depth(self.path, batch)
        return projection.leaf(self.path, self.arrow, batch)

    @property
    def field_id(self) -> int:
        """The column's id."""
        return self.path[-1].field_id


class DeletedKeys:
    """The keys of some delete files of the same columns, made ready to be looked for."""

    def __init__(self, columns: Sequence[KeyColumn], keys: Sequence[pa.Array]) -> None:
        self.columns = tuple(columns)
        self._steps: list[tuple[pa.Array, pa.Array]] = []
        code = pa.repeat(pa.scalar(0, pa.int64()), len(keys[0]))
        for values in map(_comparable, keys):
            known = pc.unique(values)
            pairs = _pair(code, pc.index_in(values, value_set=known), len(known))
            seen = pc.unique(pairs)
            self._steps.append((known, seen))
            code = pc.index_in(pairs, value_set=seen).cast(pa.int64())

    def hides(self, values: Sequence[pa.Array]) -> pa.Array:
        """Return for each row whether its values are a deleted key.

        Raises:
            pa.ArrowException: The values are not of the columns' types.
        """
        code = pa.repeat(pa.scalar(0, pa.int64()), len(values[0]))
        for found, (known, seen) in zip(map(_comparable, values), self._steps, strict=True):
            pairs = _pair(code, pc.index_in(found, value_set=known), len(known))
            # What is no part of a key has no number, and neither has anything made of it.
            code = pc.index_in(pairs, value_set=seen).cast(pa.int64())
        return pc.is_valid(code)


Keys = tuple[pa.Array, ...]


def _size_bytes(keys: Keys) -> int:
    return sum(each.nbytes for each in keys)


_kept: Final[LruCache[tuple[str, tuple[tuple[int, str], ...]], Keys]] = LruCache(_KEPT_BYTES, _size_bytes)


def deleted_keys(deletes: Iterable[DeleteFile], metadata: TableMetadata, io: FileIO) -> list[DeletedKeys]:
    """Return the keys of delete files, those of equal columns together.

    Raises:
        UnsupportedTableError: A key is of a type that cannot be compared here.
        ValueError, OSError, pa.ArrowException: A file is missing or broken.
    """
    groups: dict[tuple[int, ...], list[DeleteFile]] = {}
    for delete in deletes:
        if delete.keys:
            groups.setdefault(delete.keys, []).append(delete)
    found = []
    for ids, files in groups.items():
        columns = [column for each in ids for column in _columns(key_column(metadata, each))]
        parts = [_keys_of(file, columns, metadata, io) for file in files]
        arrays = [pa.concat_arrays([part[i] for part in parts]) for i in range(len(columns))]
        found.append(DeletedKeys(columns, arrays))
    return found


def _columns(column: KeyColumn) -> list[KeyColumn]:
    return [column] if len(column.path) == 1 else [KeyColumn(column.path, pa.int8(), is_depth=True), column]


def key_column(metadata: TableMetadata, field_id: int) -> KeyColumn:
    """Return a column by its id, as the newest schema that has it does.

    Raises:
        UnsupportedTableError: No schema has it, or its type cannot be compared here.
    """
    schemas = {schema.schema_id: schema for schema in metadata.schemas}
    newest = [metadata.schema(), *(schemas[i] for i in sorted(schemas, reverse=True))]
    for schema in newest:
        path = _path(schema.fields, field_id)
        if path is not None:
            leaf = path[-1]
            if not leaf.field_type.is_primitive:
                break
            # Files that were written after it was dropped do not have it, required or not.
            leaf = leaf.model_copy(update={"required": False})
            # The only way to an Arrow type is by way of a schema.
            return KeyColumn((*path[:-1], leaf), arrow_schema(Schema(leaf)).field(0).type)
    raise UnsupportedTableError(
        f"rows are deleted by the column with id {field_id}, which no schema of the table has as one whose "
        "values can be compared; compact the table",
        field_id=field_id,
    )


def _path(fields: Sequence[NestedField], field_id: int) -> tuple[NestedField, ...] | None:
    for field in fields:
        if field.field_id == field_id:
            return (field,)
        if isinstance(field.field_type, StructType):
            inner = _path(field.field_type.fields, field_id)
            if inner is not None:
                return (field, *inner)
    return None


def _keys_of(file: DeleteFile, columns: Sequence[KeyColumn], metadata: TableMetadata, io: FileIO) -> Keys:
    # As the columns' types are now: they may be wider in the next snapshot.
    name = (file.path, tuple((column.field_id, str(column.arrow)) for column in columns))
    found = _kept.get(name)
    if found is None:
        found = _read(file, columns, metadata, io)
        _kept.put(name, found)
    return found


def _read(file: DeleteFile, columns: Sequence[KeyColumn], metadata: TableMetadata, io: FileIO) -> Keys:
    parts: list[list[pa.Array]] = [[pa.array([], column.arrow)] for column in columns]
    with open_file(io, file.path, file.file_format, metadata.name_mapping()) as opened:
        projection = Projection(opened.columns, _NOTHING)
        for _, batch in opened.batches([column.path[0].field_id for column in columns]):
            for part, column in zip(parts, columns, strict=True):
                part.append(column.values(projection, batch))
    arrays = tuple(pa.concat_arrays(part) for part in parts)
    if len(arrays[0]) != file.rows:
        raise ValueError(f"it has {len(arrays[0])} deleted keys, where {file.rows} were written")
    return arrays


_NOTHING: Final[Mapping[int, object]] = {}


def _pair(code: pa.Array, part: pa.Array, count: int) -> pa.Array:
    # Both are below the number of keys, so their pair fits 64 bits whatever that number is.
    return pc.add(pc.multiply(code, max(count, 1)), part.cast(pa.int64()))


def _comparable(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        return values.storage
    if not pa.types.is_floating(values.type):
        return values
    # By bits: other readers hold 0.0 and -0.0 apart, and all that is no number to be one.
    nan = pa.scalar(float("nan"), values.type)
    same = pc.if_else(pc.is_nan(values), nan, values)
    return same.view(pa.int64() if values.type == pa.float64() else pa.int32())
