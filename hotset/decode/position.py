"""Columns that say where a record came from, which no record value holds.

Tables whose writer keeps topic, partition, offset and the like in columns get
the same columns for their hot rows, also where they are fields of a struct.
What a column would need and a record does not tell is an error, never a null.
This file knows no names of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.errors import UnsupportedFormatError

# What a record tells, or for a struct the same of each of its fields; None if no record tells it.
Source = str | Mapping[str, "Source"] | None

_HEADER_NAMES: Final = ("key", "value")


def _is_text_pairs(wanted: pa.DataType) -> bool:
    if not pa.types.is_list(wanted) or not pa.types.is_struct(wanted.value_type):
        return False
    fields = list(wanted.value_type)
    types_fit = all(pa.types.is_string(f.type) or pa.types.is_binary(f.type) for f in fields)
    return types_fit and tuple(f.name for f in fields) == _HEADER_NAMES


def is_time(wanted: pa.DataType) -> bool:
    """Return whether a column can hold the time of a record."""
    is_plain = pa.types.is_timestamp(wanted) and wanted.unit == "us"
    return bool(pa.types.is_int64(wanted) or is_plain)


# Each field of a record and the types of columns that can hold it.
_HOLDS: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "topic": pa.types.is_string,
    "partition": pa.types.is_integer,
    "offset": pa.types.is_integer,
    "timestamp": is_time,
    "timestamp_type": pa.types.is_integer,
    "key": pa.types.is_binary,
    "value": pa.types.is_binary,
    "headers": _is_text_pairs,
}

FIELDS: Final = tuple(_HOLDS)


def check_source(name: str, source: Source, wanted: pa.DataType) -> None:
    """Raise unless a column of hot rows can be filled exactly.

    Args:
        name: The column, for the message.
        source: What is to be in it.
        wanted: The column's type.

    Raises:
        UnsupportedFormatError: No record tells its content, or its type cannot hold it.
    """
    if source is None:
        raise UnsupportedFormatError(
            f"column {name!r} is filled by the table's writer with what a record does not tell, so it cannot "
            "be read for records that are not in the table yet; leave it out, or read=cold",
            column=name,
        )
    if isinstance(source, str):
        if not _HOLDS[source](wanted):
            raise UnsupportedFormatError(
                f"column {name!r} of type {wanted} is filled by the table's writer with the {source} of a "
                "record in a form that is not known, so it cannot be read for records that are not in the "
                "table yet; leave it out, read=cold, or correct option 'kafkaColumns'",
                column=name,
            )
        return
    for child in wanted:
        check_source(f"{name}.{child.name}", source[child.name], child.type)


def can_fill(source: Source, wanted: pa.DataType) -> bool:
    """Return whether a column of hot rows can be filled exactly; see `check_source`."""
    try:
        check_source("", source, wanted)
    except UnsupportedFormatError:
        return False
    return True


def fields_of(source: Source) -> set[str]:
    """Return the fields of a record that a column is made of."""
    if source is None:
        return set()
    if isinstance(source, str):
        return {source}
    return set().union(*(fields_of(each) for each in source.values()))


def position_column(raw: pa.RecordBatch, source: Source, wanted: pa.DataType, *, topic: str) -> pa.Array:
    """Return a column of records' coordinates, one value for each record of a raw batch.

    Args:
        raw: A `RAW_SCHEMA` batch, or more columns if the source needs them.
        source: What to fill in; checked by `check_source` before.
        wanted: The column's type; a timestamp in a whole number is milliseconds.
        topic: The topic's name.

    Raises:
        UnsupportedFormatError: A value does not fit the column's type.
    """
    assert source is not None
    if not isinstance(source, str):
        children = [position_column(raw, source[child.name], child.type, topic=topic) for child in wanted]
        return pa.StructArray.from_arrays(children, fields=list(wanted))
    if source == "topic":
        found: pa.Array = pa.repeat(pa.scalar(topic, pa.string()), raw.num_rows)
    else:
        found = raw.column("timestamp_ms" if source == "timestamp" else source)
    try:
        if source == "timestamp" and pa.types.is_timestamp(wanted):
            found = pc.multiply_checked(found, 1000)
        return found.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as exc:
        raise UnsupportedFormatError(
            f"a column of type {wanted} cannot hold the {source} of a record ({exc}); correct option "
            "'kafkaColumns'"
        ) from exc
