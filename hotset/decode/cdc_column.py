"""The column `_cdc`, as the Debezium transform of the Iceberg Kafka Connect sink fills it.

Hot rows get the same: what was done (`I`, `U`, `D`), when, to which table, and the
offset and key of the record. What a table has of these fields is up to the table.
This file must not know how records are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, Fault
from hotset.decode.position import is_time
from hotset.errors import UnsupportedFormatError

CDC: Final = "_cdc"
OFFSET: Final = "offset"
KEY: Final = "key"

_LETTERS: Final = {"c": "I", "r": "I", "u": "U", "d": "D"}
_HOLDS: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "op": pa.types.is_string,
    "ts": is_time,
    OFFSET: pa.types.is_int64,
    "source": pa.types.is_string,
    "target": pa.types.is_string,
    KEY: pa.types.is_struct,
}
# The fields that a record's value tells.
TOLD: Final = ("op", "ts", "source", "target")
# Of milliseconds; beyond it there is no timestamp in microseconds.
_LAST_MS: Final = (1 << 63) // 1000 - 1


def is_cdc(wanted: pa.Field) -> bool:
    """Return whether a column looks like the transform's."""
    is_struct = wanted.name == CDC and pa.types.is_struct(wanted.type)
    return bool(is_struct) and wanted.type.get_field_index("op") >= 0


def check_cdc(wanted: pa.Field) -> None:
    """Raise unless hot rows can have the column.

    Raises:
        UnsupportedFormatError: It has a field that the transform does not write, or one of another type.
    """
    for part in wanted.type:
        if part.name not in _HOLDS or not _HOLDS[part.name](part.type):
            raise UnsupportedFormatError(
                f"column {CDC + '.' + part.name!r} of type {part.type} is none that the Debezium transform "
                "of the Kafka Connect sink writes, so hot rows cannot have it; leave the column out, or "
                "read=cold",
                column=CDC,
            )


def cdc_from(
    told: pa.RecordBatch, wanted: pa.StructType, target_pattern: str | None
) -> tuple[pa.StructArray, dict[int, str]]:
    """Return the column as far as values tell it, and the rows that lack something of it.

    Args:
        told: `op`, `source` and `ts_ms` of each record.
        wanted: The column's type.
        target_pattern: What the target is made of, with `{db}` and `{table}` in it.
    """
    schema, database, table = told.column("source").flatten()
    database = pc.coalesce(schema, database)
    pattern = target_pattern or "{db}.{table}"
    milliseconds = told.column("ts_ms")
    is_far = pc.or_(pc.greater(milliseconds, _LAST_MS), pc.less(milliseconds, -_LAST_MS))
    milliseconds = pc.if_else(is_far, None, milliseconds)
    letters = pa.array(list(_LETTERS.values())).take(
        pc.index_in(told.column("op"), value_set=pa.array(list(_LETTERS)))
    )
    found = {
        "op": letters,
        "ts": milliseconds,
        "source": pc.binary_join_element_wise(database, table, "."),
        "target": _filled(pattern, database, table),
    }
    lacking: dict[int, str] = {}
    for name in [part.name for part in wanted if part.name in TOLD]:
        for row in pc.indices_nonzero(found[name].is_null()).to_pylist():
            lacking.setdefault(row, f"nothing in it tells {CDC}.{name}")
    arrays = [_part(found, part, told.num_rows) for part in wanted]
    return pa.StructArray.from_arrays(arrays, fields=list(wanted)), lacking


def _part(found: Mapping[str, pa.Array], part: pa.Field, rows: int) -> pa.Array:
    if part.name not in TOLD:
        return pa.nulls(rows, part.type)
    if pa.types.is_timestamp(part.type):
        return pc.multiply(found[part.name], 1000).cast(part.type)
    return found[part.name].cast(part.type)


def _filled(pattern: str, database: pa.StringArray, table: pa.StringArray) -> pa.StringArray:
    names = {"{db}": database, "{table}": table}
    pieces = [names.get(piece, pa.scalar(piece)) for piece in re.split(r"(\{db\}|\{table\})", pattern)]
    # The last one is what they are joined with. A pattern without names is the same for every row.
    whole = pc.binary_join_element_wise(*pieces, "")
    return whole if isinstance(whole, pa.Array) else pa.repeat(whole, len(table))


def keys_from(
    told: Decoded, payloads: pa.BinaryArray, wanted: list[pa.Field]
) -> tuple[pa.StructArray, tuple[Fault, ...]]:
    """Return keys as the column holds them, and those that are none; a record without a key has null.

    Args:
        told: The parts of the keys.
        payloads: The keys as they are in the records.
        wanted: The parts.
    """
    faults = {fault.row: fault for fault in told.faults}
    for part in wanted:
        lacking = pc.and_(told.rows.column(part.name).is_null(), payloads.is_valid())
        for row in [] if part.nullable else pc.indices_nonzero(lacking).to_pylist():
            faults.setdefault(row, Fault(row, f"it has no {part.name!r}"))
    is_none = pc.or_(
        payloads.is_null(), pc.is_in(pa.arange(0, len(payloads)), pa.array(list(faults), pa.int64()))
    )
    keys = pa.StructArray.from_arrays(told.rows.columns, fields=wanted, mask=is_none)
    return keys, tuple(faults[row] for row in sorted(faults))


def with_coordinates(
    column: pa.StructArray, offsets: pa.Int64Array, keys: pa.StructArray | None
) -> pa.StructArray:
    """Return the column with the parts that a record's value does not tell.

    Args:
        column: From `cdc_from`.
        offsets: The offset of each record.
        keys: The key of each record, if the column has it.
    """
    besides = {OFFSET: offsets, KEY: keys}
    arrays = []
    for part, child in zip(column.type, column.flatten(), strict=True):
        other = besides.get(part.name)
        arrays.append(child if other is None else other)
    return pa.StructArray.from_arrays(arrays, fields=list(column.type), mask=column.is_null())
