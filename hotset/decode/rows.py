"""From raw records to rows of the table: values, coordinates, and what a fault means.

The one place where decoders meet topics and offsets. It decides what becomes of
records without a value and of records that do not decode; a decoder only flags
them. It must not know formats or where the schema came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.bad_records import (
    ERROR_COLUMN,
    POSITION_COLUMNS,
    BadRecord,
    BadRecords,
    bad_records,
    letters_of,
)
from hotset.decode.decoded import Decoded, Fault, select_rows
from hotset.decode.formats import RecordFormat
from hotset.decode.payloads import PayloadDecoder
from hotset.decode.position import Source, fields_of, position_column
from hotset.errors import DecodeError
from hotset.registry import SchemaRegistry

_TOMBSTONE: Final = (
    "its value is null (a tombstone); set tombstones=skip if the table's writer drops such records"
)

_PAYLOADS: Final = frozenset({"key", "value", "headers"})


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows of the table, and what of the raw batch is not among them.

    Attributes:
        rows: One row per record that is one, in order; under `BadRecords.NULL` one per record.
        tombstones: Records without a value that were dropped.
        bad: Records that are no rows of the table, in order.
        letters: The same as `LETTERS`, if they were asked for.
        unmapped: Paths of fields that rows had and that the table has no column for.
    """

    rows: pa.RecordBatch = field(repr=False)
    tombstones: int
    bad: tuple[BadRecord, ...] = ()
    letters: pa.RecordBatch | None = field(default=None, repr=False)
    unmapped: frozenset[str] = frozenset()


class RowDecoder:
    """Turns raw batches of one topic into rows of one schema.

    Args:
        record_format: How records are encoded, and what becomes of bad ones.
        schema: The columns wanted.
        kafka_columns: What fills columns that hold coordinates of records.
        topic: The topic's name.
        whole: All columns of the table, among which fields are matched, and by which records are
            judged unless bad ones are errors; `schema` if None.
        keeps_letters: Whether bad records are wanted as `LETTERS`.
        registry: Knows the schemas of formats that need one.
    """

    def __init__(
        self,
        record_format: RecordFormat,
        schema: pa.Schema,
        kafka_columns: Mapping[str, Source],
        topic: str,
        *,
        whole: pa.Schema | None = None,
        keeps_letters: bool = False,
        registry: SchemaRegistry | None = None,
    ) -> None:
        self._format = record_format
        self._policy = record_format.bad_records
        self._schema = schema
        marks = POSITION_COLUMNS if self._policy is BadRecords.NULL else {}
        filled: dict[str, Source] = {**kafka_columns, **marks}
        self._kafka_columns = {name: source for name, source in filled.items() if name in schema.names}
        judged = schema if whole is None or self._policy is BadRecords.FAIL else whole
        besides = {*filled, ERROR_COLUMN} if marks else filled.keys()
        self._judged = pa.schema([f for f in judged if f.name not in besides])
        self._known = frozenset((schema if whole is None else whole).names)
        self._topic = topic
        self._keeps_letters = keeps_letters
        ours = {*besides, *record_format.key_fields}
        self._columns = tuple(f.name for f in (schema if whole is None else whole) if f.name not in ours)
        self._payloads = PayloadDecoder(record_format, topic, registry, self._columns)
        self._told: set[str] = set().union(*map(fields_of, self._kafka_columns.values()))

    @property
    def needs_keys(self) -> bool:
        """Whether the raw batches must have the records' keys."""
        return self._keeps_letters or "key" in self._told or self._payloads.needs_keys(self._judged)

    @property
    def needs_headers(self) -> bool:
        """Whether the raw batches must have headers and timestamp types."""
        is_told = not self._told.isdisjoint(("headers", "timestamp_type"))
        return self._keeps_letters or is_told or self._payloads.needs_headers(self._judged)

    @property
    def record_format(self) -> RecordFormat:
        """How the records are encoded."""
        return self._format

    @property
    def values(self) -> pa.Schema:
        """The columns that values and keys tell and that are decoded, to fill rows or to judge them."""
        return self._judged

    @property
    def beside(self) -> tuple[str, ...]:
        """All columns of values, if which others there are decides what fills one."""
        return self._columns if self._format.value == "avro" else ()

    def decode(self, raw: pa.RecordBatch) -> DecodedRows:
        """Return the rows of a raw batch.

        Raises:
            DecodeError: A record is not a row of the table, and that is an error; names
                partition, offset and reason. A tombstone always is one unless skipped.
            HotsetError: What decoding needs could not be had.
        """
        raw, _, tombstones = self._without_tombstones(raw)
        return self._judge(raw, self.decode_payloads(raw), tombstones)

    def decode_payloads(self, raw: pa.RecordBatch, schema: pa.Schema | None = None) -> Decoded:
        """Return what values and keys of records tell, one row for each record, not judged yet.

        Args:
            raw: The records.
            schema: Some of `values`; all of them if None.

        Raises:
            HotsetError: What decoding needs could not be had.
        """
        return self._payloads.decode(raw, self._judged if schema is None else schema)

    def judge(self, raw: pa.RecordBatch, decoded: Decoded) -> DecodedRows:
        """Return the rows of a raw batch whose values have been decoded before.

        Args:
            raw: The records.
            decoded: What `decode_payloads` made of them.

        Raises:
            DecodeError: As `decode`.
        """
        raw, kept, tombstones = self._without_tombstones(raw)
        return self._judge(raw, decoded if kept is None else select_rows(decoded, kept), tombstones)

    def _judge(self, raw: pa.RecordBatch, decoded: Decoded, tombstones: int) -> DecodedRows:
        faults = self._faults(raw, decoded)
        for fault in faults:
            if self._policy is BadRecords.FAIL or fault.reason is _TOMBSTONE:
                raise self._error(raw, fault)
        letters = letters_of(raw, faults, self._topic) if self._keeps_letters else None
        bad = bad_records(raw, faults)
        rows = decoded.rows
        if faults and self._policy is BadRecords.NULL:
            flagged = {fault.row for fault in decoded.faults}  # whose rows are null already
            rows = _blank(rows, [fault for fault in faults if fault.row not in flagged])
        elif faults:
            is_row = pc.invert(_is_bad(faults, raw.num_rows))
            raw, rows, faults = self._without_payloads(raw).filter(is_row), rows.filter(is_row), []
        unmapped = decoded.unmapped - self._known
        return DecodedRows(self._arranged(raw, rows, faults), tombstones, bad, letters, unmapped)

    def _without_tombstones(self, raw: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.BooleanArray | None, int]:
        values = raw.column("value")
        if not values.null_count or not self._format.skips_tombstones:
            return raw, None, 0
        kept = values.is_valid()
        return raw.filter(kept), kept, values.null_count

    def _without_payloads(self, raw: pa.RecordBatch) -> pa.RecordBatch:
        # Most of a batch's bytes, which no column is filled with any more unless it has them as they are.
        return raw.select([name for name in raw.schema.names if name not in _PAYLOADS or name in self._told])

    def _faults(self, raw: pa.RecordBatch, decoded: Decoded) -> list[Fault]:
        found = {fault.row: fault for fault in decoded.faults}
        values = raw.column("value")
        for row in _rows_where(values.is_null()) if values.null_count else ():
            found.setdefault(row, Fault(row, _TOMBSTONE))
        for column in self._judged:
            if column.nullable or not decoded.rows.column(column.name).null_count:
                continue
            for row in _rows_where(decoded.rows.column(column.name).is_null()):
                reason = f"column {column.name!r} is required, and is absent or null"
                found.setdefault(row, Fault(row, reason))
        return [found[row] for row in sorted(found)]

    def _error(self, raw: pa.RecordBatch, fault: Fault) -> DecodeError:
        [place] = bad_records(raw, [fault])
        return DecodeError(
            f"the record at topic {self._topic!r} partition {place.partition} offset {place.offset} is not a "
            f"row of the table: {fault.reason}; correct the producer, or say with option badRecords what "
            "becomes of such records (skip, null or dead_letter)",
            topic=self._topic,
            partition=place.partition,
            offset=place.offset,
            reason=fault.reason,
        )

    def _arranged(self, raw: pa.RecordBatch, rows: pa.RecordBatch, faults: Sequence[Fault]) -> pa.RecordBatch:
        if rows.schema.equals(self._schema):
            return rows
        if not self._schema.names:
            return rows.select([])
        arrays = []
        for column in self._schema:
            if column.name in self._kafka_columns:
                source = self._kafka_columns[column.name]
                arrays.append(position_column(raw, source, column.type, topic=self._topic))
            elif column.name == ERROR_COLUMN and self._policy is BadRecords.NULL:
                arrays.append(_reasons(faults, raw.num_rows))
            else:
                arrays.append(rows.column(column.name))
        # What was decoded before may have its strings in a dictionary.
        pairs = zip(self._schema, arrays, strict=True)
        schema = pa.schema([pa.field(f.name, array.type, nullable=f.nullable) for f, array in pairs])
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema if schema == self._schema else schema)


def _rows_where(found: pa.BooleanArray) -> list[int]:
    rows: list[int] = pc.indices_nonzero(found).to_pylist() if found.true_count else []
    return rows


def _is_bad(faults: Sequence[Fault], rows: int) -> pa.BooleanArray:
    bits = bytearray((rows + 7) // 8)
    for fault in faults:
        bits[fault.row // 8] |= 1 << fault.row % 8
    return pa.Array.from_buffers(pa.bool_(), rows, [None, pa.py_buffer(bits)])


def _blank(rows: pa.RecordBatch, faults: Sequence[Fault]) -> pa.RecordBatch:
    if not rows.num_columns or not faults:
        return rows
    kept = pc.if_else(_is_bad(faults, rows.num_rows), None, pa.arange(0, rows.num_rows))
    return rows.take(kept)


def _reasons(faults: Sequence[Fault], rows: int) -> pa.StringArray:
    found: list[str | None] = [None] * rows
    for fault in faults:
        found[fault.row] = fault.reason
    return pa.array(found, pa.string())
