"""Decoded columns as they are kept: each for itself, so that statements can share what they have in common.

A decoder flags a record for all columns that it was asked for; kept is what it says of each column
alone, so an answer does not depend on what others asked before. What a fault means is decided by
whoever reads. The file must not know files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode import Decoded, Fault, RecordFormat, batch_of
from hotset.store.dictionaries import encode, plain
from hotset.store.file_names import column_name

# Raw records and a schema in, one row for each record out.
Decode = Callable[[pa.RecordBatch, pa.Schema], Decoded]


class Column(NamedTuple):
    """The values of one column and the faults of records as far as this column goes."""

    values: pa.Array
    faults: tuple[Fault, ...]

    def part(self, start: int, rows: int) -> Column:
        """Return what it is of some consecutive records."""
        here = (fault for fault in self.faults if start <= fault.row < start + rows)
        return Column(self.values.slice(start, rows), tuple(Fault(f.row - start, f.reason) for f in here))


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """What a statement wants decoded, under the names that it has in chunks.

    Invariant: without any field there is one name, for the question whether values are records.
    If columns `may_be_encoded`, those of strings may have a dictionary (see `dictionaries`).
    """

    schema: pa.Schema
    names: tuple[str, ...]
    may_be_encoded: bool = False

    @classmethod
    def of(
        cls,
        record_format: RecordFormat,
        schema: pa.Schema,
        beside: tuple[str, ...] = (),
        *,
        may_be_encoded: bool = False,
    ) -> WantedColumns:
        """Name the columns of a schema; `beside` has all columns, if those decide what is in one."""
        fields: Sequence[pa.Field | None] = list(schema) or [None]
        names = tuple(column_name(record_format, field, beside) for field in fields)
        return cls(schema, names, may_be_encoded=may_be_encoded)

    def lacking(self, columns: Mapping[str, Column]) -> WantedColumns:
        """Return what of it is not among these columns; its names are none if nothing is."""
        pairs = zip(list(self.schema) or [None], self.names, strict=True)
        left = [(field, name) for field, name in pairs if name not in columns]
        fields = [field for field, _ in left if field is not None]
        return WantedColumns(pa.schema(fields), tuple(name for _, name in left))

    def are_in(self, columns: Mapping[str, Column]) -> bool:
        """Whether all of it is among these columns."""
        return all(name in columns for name in self.names)

    def are_clean(self, columns: Mapping[str, Column]) -> bool:
        """Whether these columns leave no doubt that every record is a row."""
        found = [columns[name] for name in self.names]
        nulls = sum(
            column.values.null_count for column, f in zip(found, self.schema, strict=False) if not f.nullable
        )
        return not nulls and not any(column.faults for column in found)

    def combine(self, columns: Mapping[str, Column], start: int, rows: int) -> Decoded:
        """Return what a decoder would have made of some consecutive records.

        Args:
            columns: All that is wanted.
            start: The first record's row in them.
            rows: How many.

        Raises:
            KeyError: A column is not there.
        """
        found = [columns[name].part(start, rows) for name in self.names]
        reasons: dict[int, str] = {}
        for fault in (fault for column in found for fault in column.faults):
            reasons.setdefault(fault.row, fault.reason)
        arrays = [column.values for column, _ in zip(found, self.schema, strict=False)]
        if not self.may_be_encoded:
            arrays = [plain(array) for array in arrays]
        if reasons:
            places = pa.array([None if row in reasons else row for row in range(rows)], pa.int64())
            arrays = [array.take(places) for array in arrays]
        pairs = zip(self.schema, arrays, strict=True)
        schema = pa.schema([pa.field(field.name, array.type) for field, array in pairs])
        faults = tuple(Fault(row, reasons[row]) for row in sorted(reasons))
        return Decoded(batch_of(arrays, schema, rows), faults)


def decode_columns(decode: Decode, raw: pa.RecordBatch, wanted: WantedColumns) -> dict[str, Column]:
    """Decode columns of raw records.

    Raises:
        HotsetError: What decoding needs could not be had.
    """
    valid = raw.column("value").is_valid()
    if valid.false_count:
        # Decoders are at their best without nulls, which are rows of nulls and no faults.
        kept = pc.indices_nonzero(valid)
        found = decode_columns(decode, raw.filter(valid), wanted)
        places: list[int | None] = [None] * raw.num_rows
        for row, place in enumerate(kept.to_pylist()):
            places[place] = row
        spread = pa.array(places, pa.int64())
        return {
            name: Column(
                values.take(spread), tuple(Fault(kept[fault.row].as_py(), fault.reason) for fault in faults)
            )
            for name, (values, faults) in found.items()
        }
    decoded = decode(raw, wanted.schema)
    fields = list(wanted.schema)
    if not fields:
        return {wanted.names[0]: Column(pa.nulls(raw.num_rows), decoded.faults)}
    names = dict(zip(wanted.names, fields, strict=True))
    if not decoded.faults:
        return {name: Column(decoded.rows.column(f.name), ()) for name, f in names.items()}
    return _apart(decode, raw, decoded, names)


def _apart(
    decode: Decode, raw: pa.RecordBatch, decoded: Decoded, names: Mapping[str, pa.Field]
) -> dict[str, Column]:
    """Ask again for the flagged records only, column by column."""
    flagged = [fault.row for fault in decoded.faults]
    records = raw.take(pa.array(flagged, pa.int64()))
    alone = {name: decode(records, pa.schema([field])) for name, field in names.items()}
    blamed = {fault.row for each in alone.values() for fault in each.faults}
    places = list(range(raw.num_rows))
    for number, row in enumerate(flagged):
        places[row] = raw.num_rows + number
    order = pa.array(places, pa.int64())
    found = {}
    for name, field in names.items():
        faults = [
            # What is wrong with no column alone is wrong with each.
            *(Fault(flagged[fault.row], fault.reason) for fault in alone[name].faults),
            *(fault for number, fault in enumerate(decoded.faults) if number not in blamed),
        ]
        whole = pa.concat_arrays([decoded.rows.column(field.name), alone[name].rows.column(field.name)]).take(
            order
        )
        found[name] = Column(whole, tuple(sorted(faults, key=lambda fault: fault.row)))
    return found


def pack_columns(columns: Mapping[str, Column]) -> tuple[pa.RecordBatch, dict[str, Any]]:
    """Return columns as one batch and notes, as a file has them."""
    arrays = [encode(column.values) for column in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    faults = {name: [[f.row, f.reason] for f in c.faults] for name, c in columns.items() if c.faults}
    return batch, {_FAULTS: faults}


def unpack_columns(batch: pa.RecordBatch, notes: Mapping[str, Any]) -> dict[str, Column]:
    """Return the columns of a batch that `pack_columns` made."""
    faults = notes[_FAULTS]
    return {
        name: Column(batch.column(name), tuple(Fault(row, reason) for row, reason in faults.get(name, ())))
        for name in batch.schema.names
    }


_FAULTS: Final = "faults"
