"""What every decoder takes and gives: payloads in, rows and faults out.

A decoder never raises for a payload that does not fit. It flags it, gives a row
of nulls in its place and goes on, so that rows stay aligned with offsets and
whoever asked decides what a fault means. It must not know topics or offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Fault:
    """One payload that is not a row.

    Attributes:
        row: Its place among the payloads.
        reason: Why, as the end of the sentence "the record is not a row of the table: ...".
    """

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """Rows, one per payload and in their order.

    Invariant: `rows` has the names and types that were asked for; faults are in
    the order of rows, at most one each, and such a row is null in every column.

    Attributes:
        rows: The rows.
        faults: What is bad.
        unmapped: Paths of fields that rows had and that no column wanted is for; of very many not all.
    """

    rows: pa.RecordBatch
    faults: tuple[Fault, ...] = ()
    unmapped: frozenset[str] = frozenset()


class MisfitError(Exception):
    """A payload, or a value in it, does not fit; the text says why. Decoders make a fault of it."""


def select_rows(decoded: Decoded, kept: pa.BooleanArray) -> Decoded:
    """Return what was decoded of some of the payloads, in their order."""
    place = {row: number for number, row in enumerate(pc.indices_nonzero(kept).to_pylist())}
    faults = tuple(Fault(place[each.row], each.reason) for each in decoded.faults if each.row in place)
    return Decoded(decoded.rows.filter(kept), faults, decoded.unmapped)


class Decoder(Protocol):
    """Turns payloads (record values, or keys) into rows."""

    def __call__(
        self, payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None
    ) -> Decoded:
        """Return one row of `schema` per payload, in order.

        A payload that is null is a row of nulls and no fault. Columns of the schema
        may be null, whatever it says of them; fields inside of them keep to it.

        Args:
            payloads: Record values or keys.
            schema: The columns wanted.
            headers: Headers of the records, as a drain gives them, if the format needs them.

        Raises:
            UnsupportedFormatError: A column's type has no form in this format.
            HotsetError: What decoding needs could not be had.
        """
        ...


def decode_one_by_one(
    payloads: pa.BinaryArray, schema: pa.Schema, read: Callable[[bytes], Sequence[Any]]
) -> Decoded:
    """Return what a function makes of each payload that is there.

    Args:
        payloads: The payloads; one that is null is a row of nulls.
        schema: The columns wanted.
        read: Returns a payload's values, one for each column, or raises MisfitError.
    """
    values: list[Any] = []  # of all rows, one behind the other, since a list for each column takes longer
    nothing = [None] * len(schema)
    faults = []
    for row, payload in enumerate(payloads.to_pylist()):
        found: Sequence[Any] = nothing
        if payload is not None:
            try:
                found = read(payload)
            except MisfitError as exc:
                faults.append(Fault(row, str(exc)))
        values += found
    arrays = [array_from(values[place :: len(schema)], field.type) for place, field in enumerate(schema)]
    return Decoded(batch_of(arrays, schema, len(payloads)), tuple(faults))


def batch_of(arrays: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of these arrays, also if there are none."""
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema)


def array_from(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return an array of Python's values, in which a UUID is its 16 bytes.

    Raises:
        pyarrow.ArrowInvalid: A value is none of the type.
    """
    # Arrow makes no nested UUIDs of values, but casts bytes to them at any depth.
    plain = _without_uuids(kind)
    return pa.array(values, kind) if plain == kind else pa.array(values, plain).cast(kind)


def _without_uuids(kind: pa.DataType) -> pa.DataType:
    if kind == pa.uuid():
        return kind.storage_type
    if pa.types.is_struct(kind):
        return pa.struct([_field_without_uuids(part) for part in kind])
    if pa.types.is_list(kind):
        return pa.list_(_field_without_uuids(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_field_without_uuids(kind.key_field), _field_without_uuids(kind.item_field))
    return kind


def _field_without_uuids(field: pa.Field) -> pa.Field:
    return field.with_type(_without_uuids(field.type))


def nulls_of(schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return rows of nulls, also for columns that are required."""
    return batch_of([pa.nulls(rows, field.type) for field in schema], schema, rows)
