"""The form in which Spark takes rows: its schema for one of ours, and batches in exactly its Arrow types.

What Spark has no type for is refused by name, or it is as Iceberg's own reader on Spark has it: a UUID is
text there. This file must not know splits or where rows come from.
"""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from federation.errors import OptionError


def spark_schema(schema: pa.Schema) -> StructType:
    """Return Spark's schema for the answer, every column nullable.

    Raises:
        OptionError: Spark has no such type.
    """
    relaxed = pa.schema([pa.field(field.name, _relaxed(field.type, field.name)) for field in schema])
    # A time without a zone is no instant, and must not become one in the session's zone.
    return from_arrow_schema(relaxed, prefer_timestamp_ntz=True)


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark demands for a Spark schema."""
    # Since Spark 4.2 the zone is an argument; before, it is always UTC.
    arguments: dict[str, Any] = {}
    if "timezone" in inspect.signature(to_arrow_schema).parameters:
        arguments["timezone"] = "UTC"
    return to_arrow_schema(schema, **arguments)


def conform(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Return the batch with exactly the target's columns, order, types and nullability.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit (a mistake of ours).
    """
    arrays = [_as_type(batch.column(field.name), field.type) for field in target]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _relaxed(kind: pa.DataType, path: str) -> pa.DataType:
    types = pa.types
    if types.is_time(kind):
        raise _unknown(path, "is a time of day")
    if types.is_timestamp(kind) and kind.unit == "ns":
        raise _unknown(path, "counts nanoseconds")
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if kind == pa.uuid():
        return pa.string()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_relaxed(field.type, f"{path}.{field.name}")) for field in kind])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_relaxed(kind.value_type, f"{path}.element")))
    if types.is_map(kind):
        value = kind.item_field.with_type(_relaxed(kind.item_type, f"{path}.value"))
        return pa.map_(_relaxed(kind.key_type, f"{path}.key"), value)
    return kind


def _unknown(path: str, what: str) -> OptionError:
    return OptionError(
        f"column {path!r} {what}, which Spark cannot read; leave it out with 'columns'", column=path
    )


def _as_type(values: pa.Array, target: pa.DataType) -> pa.Array:
    types = pa.types
    if values.type == pa.uuid():
        return _texts(values.storage)
    if not _has_uuid(values.type):
        return values.cast(target)
    if values.offset:
        values = pa.concat_arrays([values])  # offsets of a slice point into the values of the whole
    mask = values.is_null() if values.null_count else None
    if types.is_struct(target):
        parts = [_as_type(values.field(i), field.type) for i, field in enumerate(target)]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=mask)
    if types.is_list(target):
        elements = _as_type(values.values, target.value_type)
        return pa.ListArray.from_arrays(values.offsets, elements, type=target, mask=mask)
    keys, items = _as_type(values.keys, target.key_type), _as_type(values.items, target.item_type)
    return pa.MapArray.from_arrays(values.offsets, keys, items, type=target, mask=mask)


def _has_uuid(kind: pa.DataType) -> bool:
    inner = (kind.field(i).type for i in range(kind.num_fields))
    return kind == pa.uuid() or any(_has_uuid(each) for each in inner)


def _texts(values: pa.Array) -> pa.Array:
    hexes = (None if value is None else value.hex() for value in values.to_pylist())
    texts = (h and f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}" for h in hexes)
    return pa.array(texts, pa.string())
