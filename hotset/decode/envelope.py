"""Records that tell of a change to a row: the row is taken out of them, and what was done to it.

A database's change capture puts the row before and after a change into one
record, with a word for what was done. Each record becomes one row of the table:
the one after the change, or for a delete the one that was deleted, with the word
in a column of its own. Rows are not merged by key. The record itself is decoded
by the decoder of its format; this file must not know formats or offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.cdc_column import CDC, KEY, cdc_from, check_cdc, is_cdc
from hotset.decode.decoded import Decoded, Decoder, Fault, batch_of, nulls_of
from hotset.decode.matching_fields import marked_field
from hotset.decode.unwrap import decode_unwrapped
from hotset.errors import UnsupportedFormatError


@dataclass(frozen=True, slots=True)
class Envelope:
    """How the records of a topic tell of changes.

    Attributes:
        shape: One of `ENVELOPES`.
        operation_column: The column that says what was done, as the record does.
        target_pattern: What the sink's Debezium transform was told to make the target of.
    """

    shape: str
    operation_column: str | None = None
    target_pattern: str | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    """Where a kind of record has what.

    Attributes:
        operation: The field that says what was done.
        rows: For each operation, the field that has the row.
        others: Operations that are no change of a row, and what they are.
    """

    operation: str
    rows: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)


DEBEZIUM: Final = "debezium"
_SHAPES: Final[Mapping[str, _Shape]] = {
    DEBEZIUM: _Shape(
        "op",
        {"c": "after", "r": "after", "u": "after", "d": "before"},
        {"t": "a truncation of the whole table", "m": "a message and no change"},
    ),
    "maxwell": _Shape("type", dict.fromkeys(("insert", "update", "delete", "bootstrap-insert"), "data")),
}

ENVELOPES: Final = tuple(sorted(_SHAPES))
_SOURCE: Final = pa.struct([(name, pa.string()) for name in ("schema", "db", "table")])


def rows_in(envelope: Envelope) -> tuple[str, ...]:
    """Return the fields of a record that have a row."""
    return tuple(sorted(set(_SHAPES[envelope.shape].rows.values())))


def cdc_of(envelope: Envelope, schema: pa.Schema) -> pa.Field | None:
    """Return the column that is as the sink's Debezium transform writes it, if there is one."""
    if envelope.shape != DEBEZIUM or CDC not in schema.names:
        return None
    found = schema.field(CDC)
    return found if is_cdc(found) else None


def check_envelope(
    envelope: Envelope, schema: pa.Schema, *, fills: Callable[[str], bool], has_key: bool
) -> None:
    """Raise unless a table has columns for all that its records tell.

    Args:
        envelope: How records tell of changes.
        schema: All columns of the table.
        fills: Whether record values fill a column.
        has_key: Whether the format of keys is known.

    Raises:
        UnsupportedFormatError: No column says what was done to a row, or one cannot.
    """
    cdc, name = cdc_of(envelope, schema), envelope.operation_column
    if cdc is not None:
        check_cdc(cdc)
        if cdc.type.get_field_index(KEY) >= 0 and not has_key:
            raise UnsupportedFormatError(
                f"column {CDC + '.' + KEY!r} is of the records' keys; say in option 'keyFormat' how they are "
                "encoded",
                column=CDC,
            )
    if name is None and cdc is None:
        raise UnsupportedFormatError(
            f"records in a {envelope.shape} envelope tell of deletes too, and no column would show it; name "
            "one in option 'operationColumn'"
        )
    if name is not None and not (
        name in schema.names and fills(name) and pa.types.is_string(schema.field(name).type)
    ):
        raise UnsupportedFormatError(
            f"option 'operationColumn' names {name!r}, which is no string column of the table that record "
            "values fill; name one that is",
            column=name,
        )


class EnvelopeDecoder:
    """Decodes records that tell of changes; a `Decoder`.

    Args:
        inner: Decodes the records as they are.
        envelope: What is in them.
        may_be_wrapped: Whether a record may have a schema beside it, as Connect's JSON converter
            writes it.
    """

    def __init__(self, inner: Decoder, envelope: Envelope, *, may_be_wrapped: bool) -> None:
        self._inner = inner
        self._envelope = envelope
        self._shape = _SHAPES[envelope.shape]
        self._may_be_wrapped = may_be_wrapped

    def __call__(
        self, payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None
    ) -> Decoded:
        """Return one row of `schema` per payload, in order.

        Raises:
            HotsetError: As the decoder of the format.
        """
        cdc = cdc_of(self._envelope, schema)
        ours = {self._envelope.operation_column, None if cdc is None else cdc.name}
        # Whether a column may be null is asked of the row, and not of the one that was not taken.
        of_rows = [column.with_nullable(nullable=True) for column in schema if column.name not in ours]
        names = sorted(set(self._shape.rows.values())) if of_rows else []
        wanted = [pa.field(self._shape.operation, pa.string())]
        wanted += [marked_field(pa.field(name, pa.struct(of_rows)), schema) for name in names]
        if cdc is not None:
            wanted += [pa.field("source", _SOURCE), pa.field("ts_ms", pa.int64())]
        told = decode_unwrapped(
            self._inner, payloads, pa.schema(wanted), headers, may_be_wrapped=self._may_be_wrapped
        )
        faults = {fault.row: fault for fault in told.faults}
        chosen = self._chosen(told.rows, payloads, names, faults)
        columns = {column.name: _taken(told.rows, names, chosen, column.name) for column in of_rows}
        operation = told.rows.column(self._shape.operation)
        if self._envelope.operation_column in schema.names:
            columns[self._envelope.operation_column] = operation
        if cdc is not None:
            columns[cdc.name], lacking = cdc_from(told.rows, cdc.type, self._envelope.target_pattern)
            for row, reason in lacking.items():
                if payloads[row].is_valid:
                    faults.setdefault(row, Fault(row, f"its value is no change of a row: {reason}"))
        rows = batch_of([columns[column.name] for column in schema], schema, len(payloads))
        return replace(_without(rows, faults), unmapped=frozenset(_within(names, told.unmapped)))

    def _chosen(
        self, told: pa.RecordBatch, payloads: pa.BinaryArray, names: list[str], faults: dict[int, Fault]
    ) -> pa.Int64Array:
        """Return, for each record, the number of the field that has its row; name those that have none."""
        operations = told.column(self._shape.operation).dictionary_encode()
        numbers = [
            names.index(self._shape.rows[word]) if names and word in self._shape.rows else None
            for word in operations.dictionary.to_pylist()
        ]
        chosen = pa.array(numbers, pa.int64()).take(operations.indices)
        is_known = pc.is_in(operations.dictionary, pa.array(list(self._shape.rows)))
        is_change = is_known.take(operations.indices)
        for row in _rows_where(pc.or_kleene(is_change.is_null(), pc.invert(is_change))):
            if payloads[row].is_valid:
                faults.setdefault(row, Fault(row, self._no_change(told, row)))
        for number, name in enumerate(names):
            lacking = pc.and_(pc.equal(chosen, number), told.column(name).is_null())
            for row in _rows_where(lacking):
                word = told.column(self._shape.operation)[row].as_py()
                reason = f"its value tells of a change ({self._shape.operation} {word!r}) without {name!r}"
                faults.setdefault(row, Fault(row, reason))
        return chosen

    def _no_change(self, told: pa.RecordBatch, row: int) -> str:
        word = told.column(self._shape.operation)[row].as_py()
        if word is None:
            return f"its value is no change of a row: it has no {self._shape.operation!r}"
        what = self._shape.others.get(word, "none that is known")
        return f"its value is no change of a row: its {self._shape.operation} {word!r} is {what}"


def _taken(told: pa.RecordBatch, names: list[str], chosen: pa.Int64Array, column: str) -> pa.Array:
    pieces = []
    for name in names:
        place = told.schema.field(name).type.get_field_index(column)
        pieces.append(told.column(name).flatten()[place])
    count = told.num_rows
    places = pc.add(pc.multiply(chosen, count), pa.arange(0, count))
    return pa.concat_arrays(pieces).take(places)


def _within(names: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of fields of rows; what an envelope has besides is no loss."""
    for name in names:
        yield from (path.removeprefix(f"{name}.") for path in paths if path.startswith(f"{name}."))


def _without(rows: pa.RecordBatch, faults: dict[int, Fault]) -> Decoded:
    if not faults:
        return Decoded(rows)
    if not rows.num_columns:
        return Decoded(nulls_of(rows.schema, rows.num_rows), tuple(faults[row] for row in sorted(faults)))
    places = pa.arange(0, rows.num_rows)
    is_bad = pc.is_in(places, pa.array(list(faults), pa.int64()))
    return Decoded(rows.take(pc.if_else(is_bad, None, places)), tuple(faults[row] for row in sorted(faults)))


def _rows_where(found: pa.BooleanArray) -> list[int]:
    rows: list[int] = pc.indices_nonzero(found).to_pylist() if found.true_count else []
    return rows
