"""From raw records to rows of the table: values, coordinates, and what a fault means.

The one place where decoders meet topics and offsets. It decides what becomes of
records without a value and of records that do not decode; a decoder only flags
them. It must not know formats or where the schema came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, Decoder, Fault, select_rows
from hotset.decode.formats import RecordFormat, decoder_for
from hotset.decode.position import Source, fields_of, position_column
from hotset.errors import DecodeError

_TOMBSTONE: Final = (
    "its value is null (a tombstone); set tombstones=skip if the table's writer drops such records"
)


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows of the table, and how many records of the raw batch are not among them.

    Attributes:
        rows: One row per record that is one, in order.
        tombstones: Records without a value that were dropped.
    """

    rows: pa.RecordBatch = field(repr=False)
    tombstones: int


class RowDecoder:
    """Turns raw batches of one topic into rows of one schema."""

    def __init__(
        self, record_format: RecordFormat, schema: pa.Schema, kafka_columns: Mapping[str, Source], topic: str
    ) -> None:
        self._format = record_format
        self._schema = schema
        self._kafka_columns = {name: source for name, source in kafka_columns.items() if name in schema.names}
        self._values = pa.schema([f for f in schema if f.name not in self._kafka_columns])
        self._topic = topic
        self._decode: Decoder = decoder_for(record_format)
        self._told: set[str] = set().union(*map(fields_of, self._kafka_columns.values()))

    @property
    def needs_keys(self) -> bool:
        """Whether the raw batches must have the records' keys."""
        return "key" in self._told

    @property
    def needs_headers(self) -> bool:
        """Whether the raw batches must have headers and timestamp types."""
        return not self._told.isdisjoint(("headers", "timestamp_type"))

    @property
    def record_format(self) -> RecordFormat:
        """How the records are encoded."""
        return self._format

    @property
    def values(self) -> pa.Schema:
        """The columns that record values tell."""
        return self._values

    def decode(self, raw: pa.RecordBatch) -> DecodedRows:
        """Return the rows of a raw batch.

        Raises:
            DecodeError: A record is not a row of the table; names partition, offset and reason.
            HotsetError: What decoding needs could not be had.
        """
        raw, _, tombstones = self._without_tombstones(raw)
        decoded = self._decode(raw.column("value"), self._values)
        return self._judge(raw, decoded, tombstones)

    def judge(self, raw: pa.RecordBatch, decoded: Decoded) -> DecodedRows:
        """Return the rows of a raw batch whose values have been decoded before.

        Args:
            raw: The records.
            decoded: What a decoder made of `values`, one row for each record.

        Raises:
            DecodeError: A record is not a row of the table; names partition, offset and reason.
        """
        raw, kept, tombstones = self._without_tombstones(raw)
        return self._judge(raw, decoded if kept is None else select_rows(decoded, kept), tombstones)

    def _judge(self, raw: pa.RecordBatch, decoded: Decoded, tombstones: int) -> DecodedRows:
        for fault in self._faults(raw, decoded):
            raise self._error(raw, fault)
        return DecodedRows(self._with_coordinates(raw, decoded.rows), tombstones)

    def _without_tombstones(self, raw: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.BooleanArray | None, int]:
        values = raw.column("value")
        if not values.null_count or not self._format.skips_tombstones:
            return raw, None, 0
        kept = values.is_valid()
        return raw.filter(kept), kept, values.null_count

    def _faults(self, raw: pa.RecordBatch, decoded: Decoded) -> list[Fault]:
        found = {fault.row: fault for fault in decoded.faults}
        for row in _rows_where(raw.column("value").is_null()):
            found.setdefault(row, Fault(row, _TOMBSTONE))
        for column in self._values:
            if column.nullable:
                continue
            for row in _rows_where(decoded.rows.column(column.name).is_null()):
                reason = f"column {column.name!r} is required, and is absent or null"
                found.setdefault(row, Fault(row, reason))
        return [found[row] for row in sorted(found)]

    def _error(self, raw: pa.RecordBatch, fault: Fault) -> DecodeError:
        partition = raw.column("partition")[fault.row].as_py()
        offset = raw.column("offset")[fault.row].as_py()
        return DecodeError(
            f"the record at topic {self._topic!r} partition {partition} offset {offset} is not a row of "
            f"the table: {fault.reason}; correct the producer, or move the table's start past the record",
            topic=self._topic,
            partition=partition,
            offset=offset,
            reason=fault.reason,
        )

    def _with_coordinates(self, raw: pa.RecordBatch, rows: pa.RecordBatch) -> pa.RecordBatch:
        if not self._kafka_columns:
            return rows
        arrays = [
            position_column(raw, self._kafka_columns[column.name], column.type, topic=self._topic)
            if column.name in self._kafka_columns
            else rows.column(column.name)
            for column in self._schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _rows_where(found: pa.BooleanArray) -> list[int]:
    rows: list[int] = pc.indices_nonzero(found).to_pylist() if found.true_count else []
    return rows
