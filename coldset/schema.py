"""The one Arrow form of an Iceberg schema.

pyiceberg hands out `large_*` types where readers differ, and engines refuse
batches that differ by such a detail. So the form is fixed here: 32-bit lengths,
microseconds, `UTC`, no field metadata. This file does no input or output.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from coldset.errors import UnsupportedTableError

_PLAIN: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date32,
    pa.types.is_time64,
    pa.types.is_fixed_size_binary,
)


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema every reader of this Iceberg schema must produce.

    Raises:
        UnsupportedTableError: A column's type has no such form yet.
    """
    try:
        arrow = schema_to_pyarrow(schema, include_field_ids=False)
    except (NotImplementedError, ValueError, TypeError) as exc:
        raise UnsupportedTableError(f"the table's schema is not supported: {exc}") from exc
    return pa.schema([_field(field, field.name) for field in arrow])


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
    if types.is_timestamp(found) and found.unit == "us":
        return pa.timestamp("us", tz="UTC" if found.tz else None)
    if any(matches(found) for matches in _PLAIN):
        return found
    raise UnsupportedTableError(
        f"column {path!r} has type {found}, which is not supported yet; leave the column out of the table",
        column=path,
    )
