"""The one Arrow form of an Iceberg schema.

pyiceberg hands out `large_*` types where readers differ, and engines refuse
batches that differ by such a detail. So the form is fixed here: 32-bit lengths,
`UTC`, no field metadata. This file does no input or output.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
)

from coldset.errors import UnsupportedTableError
from foundation.lru import LruCache

_PLAIN: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date32,
    pa.types.is_time64,
    pa.types.is_fixed_size_binary,
)

# pyiceberg has Arrow types for some of these that do not say what the values are.
_NOT_READ: Final = (GeographyType, GeometryType, UnknownType)


_KEPT: Final = 256

# By identity, for they have no hash; metadata that is kept has the same schema for each statement.
_kept: Final[LruCache[int, tuple[Schema, pa.Schema]]] = LruCache(_KEPT)


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema every reader of this Iceberg schema must produce.

    Raises:
        UnsupportedTableError: A column's type has no such form yet.
    """
    known = _kept.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    made = _made(schema)
    _kept.put(id(schema), (schema, made))
    return made


def _made(schema: Schema) -> pa.Schema:
    for field in schema.fields:
        _require_read(field.field_type, field.name)
    try:
        arrow = schema_to_pyarrow(schema, include_field_ids=False)
    except (NotImplementedError, ValueError, TypeError) as exc:
        raise UnsupportedTableError(f"the table's schema is not supported: {exc}") from exc
    return pa.schema([_field(field, field.name) for field in arrow])


def file_schema(schema: Schema) -> pa.Schema:
    """Return the same Arrow schema with the fields' ids in their metadata, at every depth, for files.

    Raises:
        UnsupportedTableError: A column's type has no such form yet.
    """
    return pa.schema(
        [_with_ids(field, found) for field, found in zip(schema.fields, arrow_schema(schema), strict=True)]
    )


def _with_ids(field: NestedField, found: pa.Field) -> pa.Field:
    kind = found.type
    parts = parts_of(field.field_type)
    if pa.types.is_struct(kind):
        kind = pa.struct([_with_ids(part, child) for part, child in zip(parts, kind, strict=True)])
    elif pa.types.is_list(kind):
        kind = pa.list_(_with_ids(parts[0], kind.value_field))
    elif pa.types.is_map(kind):
        kind = pa.map_(_with_ids(parts[0], kind.key_field), _with_ids(parts[1], kind.item_field))
    return pa.field(found.name, kind, found.nullable, {b"PARQUET:field_id": str(field.field_id).encode()})


def parts_of(kind: IcebergType) -> tuple[NestedField, ...]:
    """Return the fields that a type is made of; none for one that holds a single value."""
    if isinstance(kind, StructType):
        return kind.fields
    if isinstance(kind, ListType):
        return (kind.element_field,)
    return (kind.key_field, kind.value_field) if isinstance(kind, MapType) else ()


def _require_read(kind: IcebergType, path: str) -> None:
    if isinstance(kind, _NOT_READ):
        raise _unsupported(path, str(kind))
    for part in parts_of(kind):
        _require_read(part.field_type, f"{path}.{part.name}")


def _unsupported(path: str, kind: str) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"column {path!r} has type {kind}, which is not supported yet; leave the column out of the table",
        column=path,
    )


def _field(field: pa.Field, path: str) -> pa.Field:
    return pa.field(field.name, _type(field.type, path), field.nullable)


def _type(found: pa.DataType, path: str) -> pa.DataType:
    types = pa.types
    if types.is_struct(found):
        return pa.struct([_field(f, f"{path}.{f.name}") for f in found])
    if types.is_list(found) or types.is_large_list(found):
        return pa.list_(_field(found.value_field.with_name("element"), f"{path}.element"))
    if types.is_map(found):
        key = _type(found.key_type, f"{path}.key")
        return pa.map_(key, _field(found.item_field.with_name("value"), f"{path}.value"))
    if types.is_string(found) or types.is_large_string(found):
        return pa.string()
    if types.is_binary(found) or types.is_large_binary(found):
        return pa.binary()
    if types.is_timestamp(found) and found.unit in ("us", "ns"):
        return pa.timestamp(found.unit, tz="UTC" if found.tz else None)
    if found == pa.uuid() or any(matches(found) for matches in _PLAIN):
        return found
    raise _unsupported(path, str(found))
