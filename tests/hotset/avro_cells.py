"""Avro types, columns, and what bytes of the one are in the other: the cells of the table of types.

Written down by hand from the specification, so that the code's own table is held against it.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_records import record_of

UTC = dt.UTC
NAIVE, INSTANT = pa.timestamp("us"), pa.timestamp("us", tz="UTC")
DECIMAL = pa.decimal128(6, 2)
UUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")

COLUMNS: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": DECIMAL,
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": NAIVE,
    "timestamptz": INSTANT,
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", tz="UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed": pa.binary(16),
    "uuid": pa.uuid(),
    "struct": pa.struct([("a", pa.int32())]),
    "list": pa.list_(pa.int32()),
    "map": pa.map_(pa.string(), pa.int32()),
}


def logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def fixed(size: int, name: str | None = None, **more: int) -> dict[str, Any]:
    plain = {"type": "fixed", "name": "f", "size": size, **more}
    return plain if name is None else {**plain, "logicalType": name}


AVRO: dict[str, Any] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "bytes",
    "string": "string",
    "fixed": fixed(16),
    "enum": {"type": "enum", "name": "e", "symbols": ["RED", "GREEN"]},
    "decimal (bytes)": logical("bytes", "decimal", precision=20, scale=2),
    "decimal (fixed)": fixed(9, "decimal", precision=20, scale=2),
    "date": logical("int", "date"),
    "time-millis": logical("int", "time-millis"),
    "time-micros": logical("long", "time-micros"),
    "timestamp-millis": logical("long", "timestamp-millis"),
    "timestamp-micros": logical("long", "timestamp-micros"),
    "timestamp-nanos": logical("long", "timestamp-nanos"),
    "local-timestamp-millis": logical("long", "local-timestamp-millis"),
    "local-timestamp-micros": logical("long", "local-timestamp-micros"),
    "local-timestamp-nanos": logical("long", "local-timestamp-nanos"),
    "uuid (string)": logical("string", "uuid"),
    "uuid (fixed)": fixed(16, "uuid"),
    "duration": fixed(12, "duration"),
    "array": {"type": "array", "items": "int"},
    "map": {"type": "map", "values": "int"},
    "record": record_of(("a", "int"), name="inner"),
}
NESTED = {"array": "list", "map": "map", "record": "struct"}


def at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


NO_UUID = "holds text that is no UUID"
RANGE, ROUNDED, SIZE, UTF8 = "outside its range", "have to be rounded", "and holds 3 bytes", "not UTF-8"
MILLIS, MICROS = 1_700_000_000_123, 1_700_000_000_123_456
LARGE = 2**53 + 1

# Avro type, column, bytes, and the value or what is wrong with it.
CELLS: list[tuple[str, str, bytes, Any]] = [
    ("boolean", "boolean", b"\1", True),
    ("boolean", "boolean", b"\0", False),
    ("boolean", "boolean", b"\2", "holds byte 2, which is neither true nor false"),
    ("int", "int", number(2**31 - 1), 2**31 - 1),
    ("int", "int", number(-(2**31)), -(2**31)),
    ("int", "int", number(2**31), RANGE),
    ("int", "long", number(-5), -5),
    ("int", "long", number(2**31), RANGE),
    ("int", "float", number(2**24 + 1), 2.0**24),
    ("int", "double", number(2**31 - 1), 2.0**31 - 1),
    ("int", "double", number(2**31), RANGE),
    ("long", "int", number(-(2**31)), -(2**31)),
    ("long", "int", number(-(2**31) - 1), RANGE),
    ("long", "long", number(2**63 - 1), 2**63 - 1),
    ("long", "long", number(-(2**63)), -(2**63)),
    ("long", "long", b"\x80\x80\0", 0),
    ("long", "float", number(2**62), 2.0**62),
    # Rounded once: by way of a double this would be the even neighbour below.
    ("long", "float", number(2**54 + 2**30 + 1), 2.0**54 + 2.0**31),
    ("long", "double", number(LARGE), 2.0**53),
    ("float", "float", struct.pack("<f", 0.1), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ("float", "double", struct.pack("<f", 1.5), 1.5),
    ("float", "double", struct.pack("<f", -math.inf), -math.inf),
    ("double", "float", struct.pack("<d", 1.5), 1.5),
    ("double", "float", struct.pack("<d", 0.1), ROUNDED),
    ("double", "float", struct.pack("<d", 1e39), RANGE),
    ("double", "float", struct.pack("<d", math.inf), math.inf),
    ("double", "double", struct.pack("<d", 0.1), 0.1),
    ("bytes", "binary", counted(b"\0\xff"), b"\0\xff"),
    ("bytes", "string", counted("é".encode()), "é"),
    ("bytes", "string", counted(b"\xff"), UTF8),
    ("bytes", "fixed", counted(UUID.bytes), UUID.bytes),
    ("bytes", "fixed", counted(b"abc"), SIZE),
    ("bytes", "uuid", counted(UUID.bytes), UUID),
    ("bytes", "uuid", counted(b"abc"), SIZE),
    ("bytes", "uuid", counted(str(UUID).encode()), "and holds 36 bytes"),
    ("string", "string", counted("é€😀\0".encode()), "é€😀\0"),
    ("string", "string", counted(b""), ""),
    ("string", "string", counted(b"\xed\xa0\x80"), UTF8),
    ("string", "string", counted(b"\xc0\x80"), UTF8),
    ("string", "string", counted(b"\xf4\x90\x80\x80"), UTF8),
    ("string", "string", counted(b"seven..\xe2\x82"), UTF8),
    ("string", "binary", counted(b"\xff"), b"\xff"),
    ("string", "uuid", counted(str(UUID).encode()), UUID),
    ("string", "uuid", counted(UUID.bytes), NO_UUID),
    ("string", "uuid", counted(str(UUID).encode() + b"\n"), NO_UUID),
    ("string", "uuid", counted(str(UUID).encode()[:-1] + b"\xff"), NO_UUID),
    ("string", "uuid", counted(str(UUID).replace("0", "g").encode()), NO_UUID),
    ("string", "uuid", counted(str(UUID).replace("-", "_").encode()), NO_UUID),
    ("string", "uuid", counted(b""), NO_UUID),
    ("fixed", "uuid", UUID.bytes, UUID),
    ("fixed", "fixed", UUID.bytes, UUID.bytes),
    ("fixed", "binary", UUID.bytes, UUID.bytes),
    ("enum", "string", number(1), "GREEN"),
    ("enum", "string", number(2), "holds symbol 2 of an enum that has no such symbol"),
    ("enum", "string", number(-1), "holds symbol -1 of an enum that has no such symbol"),
    ("decimal (bytes)", "decimal", counted(b"\xff\x85"), Decimal("-1.23")),
    ("decimal (bytes)", "decimal", counted(b""), Decimal("0.00")),
    ("decimal (bytes)", "decimal", counted(b"\0" * 40 + b"\x7b"), Decimal("1.23")),
    ("decimal (bytes)", "decimal", counted((10**6 - 1).to_bytes(3)), Decimal("9999.99")),
    ("decimal (bytes)", "decimal", counted((10**6).to_bytes(3)), RANGE),
    ("decimal (bytes)", "decimal", counted(b"\x7f" + bytes(64)), RANGE),
    ("decimal (fixed)", "decimal", (-(10**6) + 1).to_bytes(9, signed=True), Decimal("-9999.99")),
    ("decimal (fixed)", "decimal", (-(10**6)).to_bytes(9, signed=True), RANGE),
    ("date", "date", number(-1), dt.date(1969, 12, 31)),
    ("date", "date", number(2**31), RANGE),
    ("date", "int", number(20_000), 20_000),
    ("date", "long", number(20_000), 20_000),
    ("time-millis", "time", number(86_399_999), dt.time(23, 59, 59, 999_000)),
    ("time-millis", "time", number(86_400_000), RANGE),
    ("time-millis", "int", number(86_400_000), 86_400_000),
    ("time-millis", "long", number(-1), -1),
    ("time-micros", "time", number(1), dt.time(0, 0, 0, 1)),
    ("time-micros", "time", number(-1), RANGE),
    ("time-micros", "long", number(1), 1),
    ("timestamp-millis", "timestamptz", number(MILLIS), utc(2023, 11, 14, 22, 13, 20, 123_000)),
    ("timestamp-millis", "timestamptz", number(-1), utc(1969, 12, 31, 23, 59, 59, 999_000)),
    ("timestamp-millis", "timestamptz", number(2**63 - 1), RANGE),
    ("timestamp-millis", "timestamp", number(MILLIS), at(2023, 11, 14, 22, 13, 20, 123_000)),
    ("timestamp-millis", "timestamptz_ns", number(MILLIS), utc(2023, 11, 14, 22, 13, 20, 123_000)),
    ("timestamp-millis", "timestamptz_ns", number(9_223_372_036_855), RANGE),
    ("timestamp-millis", "timestamp_ns", number(-9_223_372_036_855), RANGE),
    ("timestamp-millis", "long", number(MILLIS), MILLIS),
    ("timestamp-micros", "timestamptz_ns", number(MICROS), utc(2023, 11, 14, 22, 13, 20, 123_456)),
    ("timestamp-micros", "timestamp_ns", number(9_223_372_036_854_776), RANGE),
    ("timestamp-micros", "timestamptz", number(MICROS), utc(2023, 11, 14, 22, 13, 20, 123_456)),
    ("timestamp-micros", "timestamp", number(MICROS), at(2023, 11, 14, 22, 13, 20, 123_456)),
    ("timestamp-micros", "long", number(MICROS), MICROS),
    ("timestamp-nanos", "timestamptz", number(-1000), utc(1969, 12, 31, 23, 59, 59, 999_999)),
    ("timestamp-nanos", "timestamptz", number(-1), ROUNDED),
    ("timestamp-nanos", "timestamp", number(1000), at(1970, 1, 1, 0, 0, 0, 1)),
    ("timestamp-nanos", "timestamptz_ns", number(-1000), utc(1969, 12, 31, 23, 59, 59, 999_999)),
    ("timestamp-nanos", "timestamp_ns", number(1000), at(1970, 1, 1, 0, 0, 0, 1)),
    ("timestamp-nanos", "long", number(1), 1),
    ("local-timestamp-millis", "timestamp", number(MILLIS), at(2023, 11, 14, 22, 13, 20, 123_000)),
    ("local-timestamp-millis", "timestamp_ns", number(MILLIS), at(2023, 11, 14, 22, 13, 20, 123_000)),
    ("local-timestamp-millis", "long", number(MILLIS), MILLIS),
    ("local-timestamp-micros", "timestamp", number(MICROS), at(2023, 11, 14, 22, 13, 20, 123_456)),
    ("local-timestamp-micros", "timestamp_ns", number(-9_223_372_036_854_776), RANGE),
    ("local-timestamp-micros", "long", number(MICROS), MICROS),
    ("local-timestamp-nanos", "timestamp", number(999), ROUNDED),
    ("local-timestamp-nanos", "timestamp_ns", number(-1000), at(1969, 12, 31, 23, 59, 59, 999_999)),
    ("local-timestamp-nanos", "long", number(999), 999),
    ("uuid (string)", "string", counted(str(UUID).upper().encode()), str(UUID).upper()),
    ("uuid (string)", "fixed", counted(str(UUID).upper().encode()), UUID.bytes),
    ("uuid (string)", "fixed", counted(UUID.hex.encode()), NO_UUID),
    ("uuid (string)", "fixed", counted(b"{%b}" % UUID.hex.encode()), NO_UUID),
    ("uuid (string)", "uuid", counted(str(UUID).upper().encode()), UUID),
    ("uuid (string)", "uuid", counted(UUID.hex.encode()), NO_UUID),
    ("uuid (fixed)", "uuid", UUID.bytes, UUID),
    ("uuid (fixed)", "string", UUID.bytes, str(UUID)),
    ("uuid (fixed)", "fixed", UUID.bytes, UUID.bytes),
    ("uuid (fixed)", "binary", UUID.bytes, UUID.bytes),
    ("array", "list", number(2) + number(1) + number(-1) + b"\0", [1, -1]),
    ("array", "list", b"\0", []),
    ("array", "list", number(-2) + number(2) + b"\2\4" + number(1) + b"\6\0", [1, 2, 3]),
    ("map", "map", number(1) + counted(b"k") + number(7) + b"\0", [("k", 7)]),
    ("map", "map", number(2) + 2 * (counted(b"k") + number(7)) + b"\0", "holds a key twice"),
    ("record", "struct", number(7), {"a": 7}),
]
