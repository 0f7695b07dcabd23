"""The columns of a data file, by the ids that the table knows them under.

A file's names mean nothing: columns are renamed, dropped, and their names given
to others. Ids are in the file itself, or, for imported files, in the table's
name mapping. What becomes of a column's values is `projection`. This file opens
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyiceberg.table.name_mapping import MappedField, NameMapping

_PARQUET_ID: Final = b"PARQUET:field_id"
_ORC_ID: Final = b"iceberg.id"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file, or a part of one.

    Attributes:
        field_id: The table's id; None if the table knows nothing of it.
        name: Its name in the file.
        arrow: Its type as Arrow reads it.
        children: Fields of a struct, the element of a list, or key and value of a map.
    """

    field_id: int | None
    name: str
    arrow: pa.DataType
    children: tuple[FileColumn, ...] = ()


def file_columns(schema: pa.Schema, mapping: NameMapping | None) -> tuple[FileColumn, ...]:
    """Return a file's columns.

    Args:
        schema: As Arrow reads it from the file, with metadata of fields.
        mapping: The table's name mapping, for files without ids.

    Raises:
        ValueError: The file has no ids and the table no name mapping.
    """
    return with_ids(tuple(_column(field) for field in schema), mapping)


def with_ids(columns: tuple[FileColumn, ...], mapping: NameMapping | None) -> tuple[FileColumn, ...]:
    """Return the columns as they are if one has an id, and else with those of the table's name mapping.

    Raises:
        ValueError: They have no ids and the table no name mapping.
    """
    if any(column.field_id is not None for column in _walk(columns)):
        return columns
    if mapping is None:
        raise ValueError("it has no column ids, and the table has no schema.name-mapping.default")
    return tuple(_mapped(column, mapping.root) for column in columns)


def with_id(columns: Sequence[FileColumn], field_id: int) -> tuple[int, FileColumn] | None:
    """Return the column with an id and its place, or None.

    Raises:
        ValueError: Two columns have it.
    """
    found = [(i, column) for i, column in enumerate(columns) if column.field_id == field_id]
    if len(found) > 1:
        raise ValueError(f"columns {found[0][1].name!r} and {found[1][1].name!r} both have id {field_id}")
    return found[0] if found else None


def _column(field: pa.Field) -> FileColumn:
    metadata = field.metadata or {}
    number = metadata.get(_PARQUET_ID, metadata.get(_ORC_ID))
    field_id = None if number is None else int(number)
    # Parquet writes -1 for a field that has none.
    known = field_id if field_id is not None and field_id >= 0 else None
    return FileColumn(known, field.name, field.type, tuple(_column(child) for child in _children(field.type)))


def _children(found: pa.DataType) -> Iterator[pa.Field]:
    types = pa.types
    if types.is_struct(found):
        yield from found
    elif types.is_map(found):
        yield found.key_field
        yield found.item_field
    elif types.is_list(found) or types.is_large_list(found):
        yield found.value_field


def _walk(columns: Iterable[FileColumn]) -> Iterator[FileColumn]:
    for column in columns:
        yield column
        yield from _walk(column.children)


def _mapped(column: FileColumn, known: Sequence[MappedField]) -> FileColumn:
    found = next((field for field in known if column.name in field.names), None)
    if found is None:
        return column
    inner = column.children
    if not pa.types.is_struct(column.arrow):
        # A mapping calls these so, whatever the file does.
        names = ("key", "value") if len(inner) > 1 else ("element",)
        inner = tuple(
            FileColumn(child.field_id, name, child.arrow, child.children)
            for child, name in zip(inner, names, strict=False)
        )
    children = tuple(_mapped(child, found.fields) for child in inner)
    return FileColumn(found.field_id, column.name, column.arrow, children)
