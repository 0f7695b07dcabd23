"""Types, values and names of a table, as DuckDB's SQL spells them.

A type or a value that has no spelling here is left to readers that need none.
Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.types import DoubleType, FloatType, ListType, MapType, NestedField, StructType

from coldset.files.file_columns import FileColumn
from coldset.files.file_stamp import path_of

_NAMES: Final[tuple[tuple[pa.DataType, str], ...]] = (
    (pa.bool_(), "BOOLEAN"),
    (pa.int32(), "INTEGER"),
    (pa.int64(), "BIGINT"),
    (pa.float32(), "FLOAT"),
    (pa.float64(), "DOUBLE"),
    (pa.date32(), "DATE"),
    (pa.time64("us"), "TIME"),
    (pa.timestamp("us"), "TIMESTAMP"),
    (pa.timestamp("us", tz="UTC"), "TIMESTAMP WITH TIME ZONE"),
    (pa.timestamp("ns"), "TIMESTAMP_NS"),
    (pa.timestamp("ns", tz="UTC"), "TIMESTAMPTZ_NS"),
    (pa.uuid(), "UUID"),
    (pa.string(), "VARCHAR"),
    (pa.binary(), "BLOB"),
)

# What a file may have for a type of the table besides that type itself, and both readers take alike.
_WIDENED: Final = (
    (pa.int32(), pa.int64()),
    (pa.float32(), pa.float64()),
    (pa.binary(16), pa.uuid()),  # as Iceberg's Java library writes it
)

# What the engine would take for a pattern of names, or for something else than a name.
_NO_NAME: Final = frozenset("*?[]\\\0\n\r")


def quoted(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def sql_type(kind: pa.DataType) -> str | None:
    """Return a type's name, or None if it has none that the engine reads from Parquet alike."""
    for arrow, name in _NAMES:
        if kind.equals(arrow):
            return name
    if pa.types.is_fixed_size_binary(kind):
        return "BLOB"
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return _made(lambda part: f"{part}[]", kind.value_type)
    if pa.types.is_map(kind):
        return _made(lambda key, value: f"MAP({key}, {value})", kind.key_type, kind.item_type)
    if pa.types.is_struct(kind):
        names = [quoted(each.name) for each in kind]
        if len({name.lower() for name in names}) < len(names):
            return None
        return _made(
            lambda *parts: f"STRUCT({', '.join(f'{n} {p}' for n, p in zip(names, parts, strict=True))})",
            *(each.type for each in kind),
        )
    return None


def text_literal(value: str) -> str:
    """Return a text that has no zero byte."""
    return "'" + value.replace("'", "''") + "'"


def literal(value: Any, kind: pa.DataType) -> str | None:
    """Return a value of a type, or None if there is no sure spelling."""
    if isinstance(value, bool):
        return str(value).lower() if pa.types.is_boolean(kind) else None
    if isinstance(value, int):
        return str(value) if pa.types.is_integer(kind) else None
    if isinstance(value, str) and "\0" not in value:
        return text_literal(value) if pa.types.is_string(kind) else None
    return None


def column_definition(field: NestedField, kind: pa.DataType) -> str | None:
    """Return an entry of `read_parquet`'s schema, named `c` and its id, or None if it has no spelling."""
    default = "NULL" if field.initial_default is None else literal(field.initial_default, kind)
    return None if default is None else definition_of(field.field_id, kind, default)


def definition_of(field_id: int, kind: pa.DataType, default: str = "NULL") -> str | None:
    """Return an entry of `read_parquet`'s schema, named `c` and an id, or None if the type has no spelling.

    Args:
        field_id: The column's id in files.
        kind: Its type in the table.
        default: SQL of what files without it have in all rows.
    """
    name = sql_type(kind)
    if name is None:
        return None
    return (
        f"{field_id}: {{name: 'c{field_id}', type: {text_literal(name)}, default_value: "
        f"{default if default == 'NULL' else f'CAST({default} AS VARCHAR)'}}}"
    )


def may_hold_nan(field: NestedField, entries: Sequence[DataFile]) -> bool:
    """Return whether a column may hold a number that is none in a file, at any depth."""
    leaves = _floats_of(field)
    return any((entry.nan_value_counts or {}).get(leaf) != 0 for leaf in leaves for entry in entries)


def _floats_of(field: NestedField) -> tuple[int, ...]:
    inner = field.field_type
    if isinstance(inner, StructType):
        parts = inner.fields
    elif isinstance(inner, ListType):
        parts = (inner.element_field,)
    elif isinstance(inner, MapType):
        parts = (inner.key_field, inner.value_field)
    else:
        return (field.field_id,) if isinstance(inner, FloatType | DoubleType) else ()
    return tuple(each for part in parts for each in _floats_of(part))


def is_scanned_alike(field: NestedField, kind: pa.DataType, column: FileColumn) -> bool:
    """Return whether the engine reads a file's column as the table's, at every depth."""
    inner = field.field_type
    if isinstance(inner, StructType):
        return (
            pa.types.is_struct(column.arrow)
            and [part.name for part in inner.fields] == [child.name for child in column.children]
            and all(
                _is_part_alike(part, kind.field(i).type, column.children[i])
                for i, part in enumerate(inner.fields)
            )
        )
    if isinstance(inner, ListType):
        return pa.types.is_list(column.arrow) and _is_part_alike(
            inner.element_field, kind.value_type, column.children[0]
        )
    if isinstance(inner, MapType):
        return (
            pa.types.is_map(column.arrow)
            and _is_part_alike(inner.key_field, kind.key_type, column.children[0])
            and _is_part_alike(inner.value_field, kind.item_type, column.children[1])
        )
    return _is_read_as(column.arrow, kind)


def local_path(path: str) -> str | None:
    """Return where a file is on this machine; None if it is not, or its name would not be taken for one."""
    found = path_of(path)
    return None if found is None or not _NO_NAME.isdisjoint(found) else found


def _made(text: Callable[..., str], *kinds: pa.DataType) -> str | None:
    parts = [sql_type(kind) for kind in kinds]
    return None if None in parts else text(*parts)


def _is_part_alike(field: NestedField, kind: pa.DataType, column: FileColumn) -> bool:
    # Inside of another the engine goes by name and place, so nothing may have changed at all.
    if column.field_id != field.field_id:
        return False
    if field.field_type.is_primitive:
        return bool(column.arrow.equals(kind))
    return is_scanned_alike(field, kind, column)


def _is_read_as(source: pa.DataType, kind: pa.DataType) -> bool:
    if source.equals(kind) or any(source.equals(a) and kind.equals(b) for a, b in _WIDENED):
        return True
    return bool(
        pa.types.is_decimal128(source)
        and pa.types.is_decimal128(kind)
        and source.scale == kind.scale
        and source.precision <= kind.precision
    )
