"""Values as Trino's protocol has them in JSON, in the types of a table.

Trino has rows as lists, and as text what JSON cannot say, such as keys of maps. Who compares them with ours
wants both in one form.
"""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stack.trino import TrinoAnswer

_TEXT_TYPES = (pa.types.is_date, pa.types.is_time, pa.types.is_timestamp)


def as_rows(answer: TrinoAnswer, schema: pa.Schema) -> pa.Table:
    """What Trino answers, as a table of a schema that has no UUIDs but as text."""
    values = (
        zip(schema, zip(*answer.rows, strict=True), strict=True) if answer.rows else ((f, ()) for f in schema)
    )
    columns = [
        pa.array([_value(field.type, each) for each in column], field.type) for field, column in values
    ]
    return pa.table(columns, names=list(answer.columns))


def _value(kind: pa.DataType, value: Any) -> Any:
    types = pa.types
    if value is None:
        return None
    if types.is_struct(kind):
        return {child.name: _value(child.type, each) for child, each in zip(kind, value, strict=True)}
    if types.is_list(kind) or types.is_large_list(kind):
        return [_value(kind.value_type, each) for each in value]
    if types.is_map(kind):
        return [(_value(kind.key_type, key), _value(kind.item_type, each)) for key, each in value.items()]
    if types.is_decimal(kind):
        return Decimal(value)
    if types.is_floating(kind):
        return float(value)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return base64.b64decode(value)
    if any(matches(kind) for matches in _TEXT_TYPES):
        plain = pa.scalar(value.removesuffix(" UTC") + ("Z" if value.endswith(" UTC") else ""))
        return pc.cast(plain, kind).as_py()
    return value
