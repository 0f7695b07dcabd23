"""Random Avro types, each with a column that it may become and its meaning in that column.

A shape has two schemas for the same bytes: the one that is registered, and a plain one
for fastavro, in which whatever fastavro would convert, forgive or forget is spelt out: a
union's branches and a map's entries are records, an enum is a number, a boolean a byte.
What a raw value means is said here in the slowest words there are.
"""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tests.fuzz.avro_bytes import counted, number, some_double, some_float, some_int, some_text
from tests.fuzz.frame import plain_float


class MisfitError(Exception):
    """The value is not one of the column."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A type, and all that is known about it.

    Attributes:
        avro: As it is registered.
        plain: The same bytes for fastavro.
        skipped: The same bytes for fastavro if nobody wants the value, so that it is not looked at.
        wanted: The column's type.
        write: Makes a value's bytes; mostly one that fits.
        mean: The column's value of a raw one.
    """

    avro: Any
    plain: Any
    skipped: Any
    wanted: pa.DataType
    write: Callable[[random.Random], bytes]
    mean: Callable[[Any], Any]


class Names:
    """Fresh names for named types."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def within(low: int, high: int, value: int) -> int:
    """The value, if it is not outside of these."""
    if not low <= value <= high:
        raise MisfitError("range")
    return value


def _int(value: int) -> int:
    return within(-(1 << 31), (1 << 31) - 1, value)


def _long(value: int) -> int:
    return within(-(1 << 63), (1 << 63) - 1, value)


def _nearest_float(value: int) -> str:
    [near] = struct.unpack("<i", struct.pack("<f", abs(value)))
    found = [
        (struct.unpack("<f", struct.pack("<i", bits))[0], bits)
        for bits in (near - 1, near, near + 1)
        if bits >= 0
    ]
    best = min(found, key=lambda each: (abs(Fraction(each[0]) - abs(value)), each[1] & 1))[0]
    return plain_float(-best if value < 0 else best)


def _exact_float(value: float) -> str:
    if value - value == 0:
        try:
            narrow = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            raise MisfitError("range") from None
        if narrow != value:
            raise MisfitError("rounded")
    return plain_float(value)


def _scaled(times: int, over: int) -> Callable[[int], int]:
    def mean(value: int) -> int:
        if value * times % over:
            raise MisfitError("rounded")
        return _long(_long(value) * times // over)

    return mean


def _day(per_day: int, times: int) -> Callable[[int], int]:
    return lambda value: within(0, per_day - 1, value) * times


# Avro type, logical type, column, meaning, bits of a value.
_WHOLE: list[tuple[str, str | None, pa.DataType, Callable[[int], Any], int]] = [
    ("int", None, pa.int32(), _int, 32),
    ("int", None, pa.int64(), _int, 32),
    ("int", None, pa.float64(), lambda value: plain_float(float(_int(value))), 32),
    ("int", None, pa.float32(), lambda value: _nearest_float(_int(value)), 32),
    ("int", "date", pa.date32(), _int, 32),
    ("int", "date", pa.int64(), _int, 32),
    ("int", "timestamp-micros", pa.int32(), _int, 32),
    ("int", "time-millis", pa.time64("us"), _day(86_400_000, 1000), 28),
    ("long", None, pa.int64(), _long, 64),
    ("long", None, pa.int32(), _int, 34),
    ("long", None, pa.float64(), lambda value: plain_float(float(_long(value))), 64),
    ("long", None, pa.float32(), lambda value: _nearest_float(_long(value)), 64),
    ("long", "time-micros", pa.time64("us"), _day(86_400_000_000, 1), 38),
    ("long", "timestamp-millis", pa.timestamp("us", tz="UTC"), _scaled(1000, 1), 55),
    ("long", "timestamp-millis", pa.timestamp("ns", tz="UTC"), _scaled(1_000_000, 1), 46),
    ("long", "timestamp-micros", pa.timestamp("us", tz="UTC"), _scaled(1, 1), 64),
    ("long", "timestamp-micros", pa.timestamp("us"), _scaled(1, 1), 64),
    ("long", "timestamp-micros", pa.int64(), _long, 64),
    ("long", "timestamp-nanos", pa.timestamp("us"), _scaled(1, 1000), 64),
    ("long", "timestamp-nanos", pa.timestamp("ns"), _scaled(1, 1), 64),
    ("long", "timestamp-micros", pa.timestamp("ns", tz="UTC"), _scaled(1000, 1), 56),
    ("long", "local-timestamp-nanos", pa.timestamp("ns"), _scaled(1, 1), 64),
    ("long", "local-timestamp-millis", pa.timestamp("ns"), _scaled(1_000_000, 1), 46),
    ("long", "local-timestamp-millis", pa.timestamp("us"), _scaled(1000, 1), 55),
    ("long", "local-timestamp-micros", pa.timestamp("us"), _scaled(1, 1), 64),
]


def whole(rng: random.Random, names: Names) -> Shape:
    kind, logical, wanted, mean, bits = rng.choice(_WHOLE)
    avro = {"type": kind, "logicalType": logical} if logical else kind
    return Shape(avro, "long", "long", wanted, lambda rng: number(some_int(rng, bits)), mean)


def other(rng: random.Random, names: Names) -> Shape:
    """Booleans, floats, strings and bytes."""
    return rng.choice([_boolean, _floating, _text, _bytes, _fixed, _enum, _uuid, _decimal])(rng, names)


def _boolean(rng: random.Random, names: Names) -> Shape:
    def mean(value: bytes) -> bool:
        return within(0, 1, value[0]) == 1

    byte = {"type": "fixed", "name": names.fresh("byte"), "size": 1}
    unread = {**byte, "name": names.fresh("byte")}
    return Shape("boolean", byte, unread, pa.bool_(), lambda rng: bytes([rng.random() < 0.5]), mean)


def _floating(rng: random.Random, names: Names) -> Shape:
    if rng.random() < 0.5:
        wanted = rng.choice([pa.float32(), pa.float64()])
        return Shape("float", "float", "float", wanted, some_float, plain_float)
    if rng.random() < 0.5:
        return Shape("double", "double", "double", pa.float64(), some_double, plain_float)
    return Shape("double", "double", "double", pa.float32(), some_double, _exact_float)


def _text(rng: random.Random, names: Names) -> Shape:
    avro: Any = rng.choice(["string", "string", {"type": "string", "logicalType": "nobody-knows"}, "bytes"])
    return Shape(avro, "string", "bytes", pa.string(), lambda rng: counted(some_text(rng)), str)


def _bytes(rng: random.Random, names: Names) -> Shape:
    if rng.random() < 0.3:
        return Shape("bytes", "bytes", "bytes", pa.binary(3), lambda rng: counted(rng.randbytes(3)), _three)
    avro = rng.choice(["string", "bytes"])
    return Shape(
        avro, "bytes", "bytes", pa.binary(), lambda rng: counted(rng.randbytes(rng.randrange(9))), bytes
    )


def _three(value: bytes) -> bytes:
    within(3, 3, len(value))
    return value


def _fixed(rng: random.Random, names: Names) -> Shape:
    size = rng.randint(1, 20)
    avro = {"type": "fixed", "name": names.fresh("fixed"), "size": size}
    wanted = rng.choice([pa.binary(size), pa.binary()])
    unread = {**avro, "name": names.fresh("fixed")}
    return Shape(avro, avro, unread, wanted, lambda rng: rng.randbytes(size), bytes)


def _enum(rng: random.Random, names: Names) -> Shape:
    symbols = ["RED", "GREEN", "A_VERY_LONG_NAME_OF_A_COLOUR"][: rng.randint(1, 3)]
    avro = {"type": "enum", "name": names.fresh("enum"), "symbols": symbols}

    def mean(value: int) -> str:
        return symbols[within(0, len(symbols) - 1, value)]

    return Shape(avro, "long", "long", pa.string(), lambda rng: number(rng.randrange(len(symbols))), mean)


def _uuid(rng: random.Random, names: Names) -> Shape:
    fixed = {"type": "fixed", "name": names.fresh("uuid"), "size": 16}
    if rng.random() < 0.4:
        unread = {**fixed, "name": names.fresh("uuid")}
        avro, wanted = {**fixed, "logicalType": "uuid"}, rng.choice([pa.string(), pa.binary(16), pa.uuid()])
        mean: Callable[[Any], Any] = _uuid_text if pa.types.is_string(wanted) else bytes
        return Shape(avro, fixed, unread, wanted, lambda rng: rng.randbytes(16), mean)
    if rng.random() < 0.2:
        unread = {**fixed, "name": names.fresh("uuid")}
        return Shape(fixed, fixed, unread, pa.uuid(), lambda rng: rng.randbytes(16), bytes)
    if rng.random() < 0.2:
        return Shape("bytes", "bytes", "bytes", pa.uuid(), lambda rng: counted(rng.randbytes(16)), _sixteen)
    text = {"type": "string", "logicalType": "uuid"}
    avro, wanted = rng.choice([(text, pa.binary(16)), (text, pa.uuid()), ("string", pa.uuid())])
    return Shape(avro, "bytes", "bytes", wanted, lambda rng: counted(some_uuid(rng)), uuid_bytes)


def _sixteen(value: bytes) -> bytes:
    within(16, 16, len(value))
    return value


def some_uuid(rng: random.Random) -> bytes:
    text = _uuid_text(rng.randbytes(16))
    return (text.upper() if rng.random() < 0.3 else text).encode()


def _uuid_text(value: bytes) -> str:
    return str(uuid.UUID(bytes=value))


def uuid_bytes(value: bytes) -> bytes:
    try:
        found = uuid.UUID(value.decode("ascii"))
    except ValueError:
        raise MisfitError("uuid") from None
    if _uuid_text(found.bytes) != value.decode("ascii").lower():
        raise MisfitError("uuid")
    return found.bytes


def _decimal(rng: random.Random, names: Names) -> Shape:
    precision = rng.randint(1, 38)
    wanted = pa.decimal128(rng.randint(precision, 38), scale := rng.randint(0, precision))
    theirs = {"logicalType": "decimal", "precision": 38, "scale": max(0, scale + rng.choice([0, 0, -2, 2]))}
    theirs["scale"] = min(theirs["scale"], 38)
    size = rng.randint(16, 30)
    fixed = {"type": "fixed", "name": names.fresh("decimal"), "size": size}

    def write(rng: random.Random) -> bytes:
        value = rng.randrange(-(10**precision), 10**precision) // 10 ** rng.randrange(precision + 1)
        return value.to_bytes(rng.randint(_least(value), size) if is_counted else size, signed=True)

    def mean(value: bytes) -> Decimal:
        exact = Fraction(int.from_bytes(value, signed=True)) / 10 ** theirs["scale"] * 10**scale
        if exact.denominator != 1 or abs(exact) >= 10**wanted.precision:
            raise MisfitError("decimal")
        with localcontext(prec=60):
            return Decimal(int(exact)).scaleb(-scale)

    is_counted = rng.random() < 0.5
    if is_counted:
        return Shape(
            {"type": "bytes", **theirs}, "bytes", "bytes", wanted, lambda rng: counted(write(rng)), mean
        )
    return Shape({**fixed, **theirs}, fixed, {**fixed, "name": names.fresh("decimal")}, wanted, write, mean)


def _least(value: int) -> int:
    return (value if value >= 0 else ~value).bit_length() // 8 + 1
