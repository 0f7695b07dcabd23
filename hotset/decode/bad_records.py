"""What becomes of records that are no rows: an error, a row of nulls, a number, or a row of their own.

A reader that goes on without a record must be able to say so, so here is what
it says: where the record was, why it is no row, and what it looked like. The
file must not know formats, and decides nothing by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import Fault
from hotset.decode.position import position_column
from hotset.kafka import HEADERS_TYPE


class BadRecords(StrEnum):
    """The policy of a topic, as users write it.

    Under those that go on without bad records, a record must be bad or good whatever a
    statement asks for, so whole rows are judged.
    """

    FAIL = "fail"
    NULL = "null"
    SKIP = "skip"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True, order=True)
class BadRecord:
    """Where a record was that is no row, and why it is none."""

    partition: int
    offset: int
    reason: str


# Columns of the answer that tell of bad records under `BadRecords.NULL`, and what of a record fills
# them; None is the reason. They are null in rows of the table.
ERROR_COLUMN: Final = "_kafkaiceberg_error"
POSITION_COLUMNS: Final = {"_kafkaiceberg_partition": "partition", "_kafkaiceberg_offset": "offset"}
MARKS: Final = (
    pa.field("_kafkaiceberg_partition", pa.int32()),
    pa.field("_kafkaiceberg_offset", pa.int64()),
    pa.field(ERROR_COLUMN, pa.string()),
)

# The columns of a table's dead letters.
LETTERS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS_TYPE),
        ("error", pa.string()),
    ]
)


def bad_records(raw: pa.RecordBatch, faults: Sequence[Fault]) -> tuple[BadRecord, ...]:
    """Return where the faulty records of a raw batch were."""
    if not faults:
        return ()
    rows = pa.array([fault.row for fault in faults], pa.int64())
    places = zip(
        raw.column("partition").take(rows).to_pylist(),
        raw.column("offset").take(rows).to_pylist(),
        faults,
        strict=True,
    )
    return tuple(BadRecord(partition, offset, fault.reason) for partition, offset, fault in places)


def letters_of(raw: pa.RecordBatch, faults: Sequence[Fault], topic: str) -> pa.RecordBatch:
    """Return the faulty records of a raw batch as `LETTERS`, in their order.

    Args:
        raw: What a drain gave, keys and headers included.
        faults: What is bad in it.
        topic: The topic's name.

    Raises:
        UnsupportedFormatError: The time of a record is none that a timestamp can hold.
    """
    found = raw.take(pa.array([fault.row for fault in faults], pa.int64()))
    arrays = [
        pa.repeat(pa.scalar(topic, pa.string()), len(faults)),
        found.column("partition"),
        found.column("offset"),
        position_column(found, "timestamp", LETTERS.field("timestamp").type, topic=topic),
        found.column("key"),
        found.column("value"),
        found.column("headers"),
        pa.array([fault.reason for fault in faults], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=LETTERS)
