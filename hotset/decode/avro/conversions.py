"""Which Avro type may become which column, and how: one table.

Rows are Avro's types, with known logical types as types of their own; columns are
those of a table. A cell that is not there is a mismatch, found before any record is
read. This file must not know fields, records or unions; FORMATS.md shows the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hotset.decode.avro.avro_program import Op
from hotset.decode.avro.avro_schema import Scalar
from hotset.errors import UnsupportedFormatError

_INT: Final = (-(1 << 31), (1 << 31) - 1)
_LONG: Final = (-(1 << 63), (1 << 63) - 1)
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_UNIT: Final = {"millis": "ms", "micros": "us", "nanos": "ns"}
_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Reading:
    """How a value is read: the operation, its numbers, and for an enum its symbols."""

    op: Op
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    symbols: tuple[str, ...] = ()


# None means that the types fit, but not these sizes of them.
Conversion = Callable[[Scalar, pa.DataType], Reading | None]


def column_kind(wanted: pa.DataType) -> str:
    """Return the name by which the table knows a column's type.

    Raises:
        UnsupportedFormatError: Avro has no form for it.
    """
    for name, matches in _COLUMNS.items():
        if matches(wanted):
            return name
    raise UnsupportedFormatError(f"Avro has no form for a column of type {wanted}; use another format")


_COLUMNS: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "boolean": pa.types.is_boolean,
    "int": pa.types.is_int32,
    "long": pa.types.is_int64,
    "float": pa.types.is_float32,
    "double": pa.types.is_float64,
    "decimal": pa.types.is_decimal128,
    "date": pa.types.is_date32,
    "time": lambda wanted: wanted == pa.time64("us"),
    "timestamp": lambda wanted: wanted == pa.timestamp("us"),
    "timestamptz": lambda wanted: wanted == pa.timestamp("us", tz="UTC"),
    "timestamp_ns": lambda wanted: wanted == pa.timestamp("ns"),
    "timestamptz_ns": lambda wanted: wanted == pa.timestamp("ns", tz="UTC"),
    "string": pa.types.is_string,
    "binary": pa.types.is_binary,
    "fixed": pa.types.is_fixed_size_binary,
    "uuid": lambda wanted: wanted == pa.uuid(),
    "struct": pa.types.is_struct,
    "list": pa.types.is_list,
    "map": pa.types.is_map,
}

# Decimals are of one family with fixed binary for Arrow, so the order above counts.


def _plain(op: Op) -> Conversion:
    return lambda _avro, _wanted: Reading(op)


def _bounds(avro: Scalar) -> tuple[int, int]:
    return _INT if avro.kind == "int" else _LONG


def _number(avro: Scalar, wanted: pa.DataType) -> Reading:
    low, high = _bounds(avro)
    if pa.types.is_int32(wanted):
        low, high = _INT
    return Reading(Op.INTEGER, low, high, 1, 1)


def _rounded(avro: Scalar, _wanted: pa.DataType) -> Reading:
    return Reading(Op.NUMBER, *_bounds(avro))


def _days(_avro: Scalar, _wanted: pa.DataType) -> Reading:
    return Reading(Op.INTEGER, *_INT, 1, 1)


def _of_day(avro: Scalar, wanted: pa.DataType) -> Reading:
    times = _times(avro, wanted)
    return Reading(Op.INTEGER, 0, 86_400 * _PER_SECOND[_unit(avro)] - 1, times, 1)


def _instant(avro: Scalar, wanted: pa.DataType) -> Reading:
    times = _times(avro, wanted)
    if times:
        return Reading(Op.INTEGER, -(_LONG[1] // times) - (times == 1), _LONG[1] // times, times, 1)
    return Reading(Op.INTEGER, *_LONG, 1, _PER_SECOND[_unit(avro)] // _PER_SECOND[wanted.unit])


def _unit(avro: Scalar) -> str:
    return _UNIT[(avro.logical or "").rpartition("-")[2]]


def _times(avro: Scalar, wanted: pa.DataType) -> int:
    return _PER_SECOND[wanted.unit] // _PER_SECOND[_unit(avro)]


def _decimal(avro: Scalar, wanted: pa.DataType) -> Reading:
    size = avro.size if avro.kind == "fixed" else -1
    return Reading(Op.DECIMAL, size, wanted.scale - avro.scale, wanted.precision)


def _fixed(avro: Scalar, wanted: pa.DataType) -> Reading | None:
    if not pa.types.is_binary(wanted) and wanted.byte_width != avro.size:
        return None
    return Reading(Op.FIXED, avro.size)


def _uuid(_avro: Scalar, wanted: pa.DataType) -> Reading | None:
    return Reading(Op.UUID_TEXT) if wanted.byte_width == _UUID_BYTES else None


def _symbols(avro: Scalar, _wanted: pa.DataType) -> Reading:
    return Reading(Op.ENUM, symbols=avro.symbols)


_TEXT: Final = ("as it is", _plain(Op.TEXT))
_BINARY: Final = ("as it is", _plain(Op.BYTES))
_IF_UTF8: Final = ("if it is UTF-8", _plain(Op.TEXT))
_IF_AS_LONG: Final = ("if it has as many bytes", _plain(Op.BYTES))
_IN_FIXED: Final = ("of the same size", _fixed)
_IF_UUID: Final = ("if it is one", _plain(Op.UUID_TEXT))
_AS_IT_IS: Final = ("as it is", _number)
_IF_IN_RANGE: Final = ("if in range", _number)
_NEAREST: Final = ("the nearest", _rounded)
_IF_EXACT: Final = ("if exact", _decimal)
_LOCAL: Final = {
    "timestamp": ("if exact", _instant),
    "timestamp_ns": ("if in range", _instant),
    "long": ("the bare number", _number),
}
_UTC: Final = {
    "timestamp": ("if exact, in UTC", _instant),
    "timestamptz": ("if exact", _instant),
    "timestamp_ns": ("if in range, in UTC", _instant),
    "timestamptz_ns": ("if in range", _instant),
    "long": ("the bare number", _number),
}

CONVERSIONS: Final[Mapping[str, Mapping[str, tuple[str, Conversion]]]] = {
    "boolean": {"boolean": ("as it is", _plain(Op.BOOLEAN))},
    "int": {"int": _AS_IT_IS, "long": _AS_IT_IS, "float": _NEAREST, "double": ("as it is", _rounded)},
    "long": {"int": _IF_IN_RANGE, "long": _AS_IT_IS, "float": _NEAREST, "double": _NEAREST},
    "float": {"float": ("as it is", _plain(Op.FLOAT)), "double": ("as it is", _plain(Op.FLOAT))},
    "double": {"float": ("if exact", _plain(Op.DOUBLE)), "double": ("as it is", _plain(Op.DOUBLE))},
    "bytes": {
        "binary": _BINARY,
        "string": _IF_UTF8,
        "fixed": _IF_AS_LONG,
        "uuid": ("if it has 16 bytes", _plain(Op.BYTES)),
    },
    "string": {"string": _TEXT, "binary": _BINARY, "uuid": _IF_UUID},
    "fixed": {"fixed": _IN_FIXED, "binary": ("as it is", _fixed), "uuid": ("of 16 bytes", _fixed)},
    "enum": {"string": ("the symbol", _symbols)},
    "decimal (bytes)": {"decimal": _IF_EXACT},
    "decimal (fixed)": {"decimal": _IF_EXACT},
    "date": {
        "date": ("as it is", _days),
        "int": ("the bare number", _number),
        "long": ("the bare number", _number),
    },
    "time-millis": {
        "time": ("if of a day", _of_day),
        "int": ("the bare number", _number),
        "long": ("the bare number", _number),
    },
    "time-micros": {"time": ("if of a day", _of_day), "long": ("the bare number", _number)},
    "timestamp-millis": _UTC,
    "timestamp-micros": _UTC,
    "timestamp-nanos": _UTC,
    "local-timestamp-millis": _LOCAL,
    "local-timestamp-micros": _LOCAL,
    "local-timestamp-nanos": _LOCAL,
    "uuid (string)": {
        "uuid": _IF_UUID,
        "string": _TEXT,
        "fixed": ("if it is one, in a fixed of 16", _uuid),
    },
    "uuid (fixed)": {
        "uuid": ("as it is", _fixed),
        "string": ("as text", _plain(Op.UUID_BYTES)),
        "fixed": _IN_FIXED,
        "binary": ("as it is", _fixed),
    },
    "duration": {},
}


def reading_of(avro: Scalar, wanted: pa.DataType) -> Reading | None:
    """Return how a value of an Avro type becomes one of a column, or None if it cannot.

    Raises:
        UnsupportedFormatError: The column's type has no form in Avro.
    """
    if avro.kind == "null":
        return Reading(Op.NULL)
    cell = CONVERSIONS[avro.label].get(column_kind(wanted))
    return cell[1](avro, wanted) if cell else None
