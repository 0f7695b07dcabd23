"""Columns that say where a record came from, which no record value holds.

Tables whose writer keeps topic, partition, offset or timestamp in columns get
the same columns for their hot rows. This file knows no names of columns.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hotset.errors import UnsupportedFormatError


def position_column(raw: pa.RecordBatch, field: str, wanted: pa.DataType, *, topic: str) -> pa.Array:
    """Return one of a record's coordinates for each record of a raw batch.

    Args:
        raw: A `RAW_SCHEMA` batch.
        field: `topic`, `partition`, `offset` or `timestamp`.
        wanted: The column's type; a timestamp in a whole number is milliseconds.
        topic: The topic's name.

    Raises:
        UnsupportedFormatError: The column's type cannot hold this.
    """
    if field == "topic":
        found: pa.Array = pa.repeat(pa.scalar(topic, pa.string()), raw.num_rows)
    elif field == "timestamp" and pa.types.is_timestamp(wanted):
        found = pc.multiply_checked(raw.column("timestamp_ms"), 1000)
    else:
        found = raw.column("timestamp_ms" if field == "timestamp" else field)
    try:
        return found.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as exc:
        raise UnsupportedFormatError(
            f"a column of type {wanted} cannot hold the {field} of a record; correct option 'kafkaColumns'"
        ) from exc
