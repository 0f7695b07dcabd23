"""Protobuf values and what they are in columns of each type, or words of why they are refused.

Written by hand from the table of `hotset/decode/protobuf/plan.py`. Nothing here decodes.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa

UTC = dt.UTC
NAIVE = pa.timestamp("us")
INSTANT = pa.timestamp("us", tz="UTC")
OUTSIDE = "outside its range"
ROUNDED = "would have to be rounded"
UUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
NO_UUID = "holds text that is no UUID"

# Type of the field, what is set in it, the column, and what it becomes; a text in a tuple is a refusal's.
SCALARS: list[tuple[str, Any, pa.DataType, Any]] = [
    ("bool", True, pa.bool_(), True),
    ("bool", False, pa.bool_(), False),
    ("int32", -(2**31), pa.int32(), -(2**31)),
    ("int32", -1, pa.int64(), -1),
    ("sint32", -5, pa.int32(), -5),
    ("sfixed32", -5, pa.int32(), -5),
    ("uint32", 2**31 - 1, pa.int32(), 2**31 - 1),
    ("uint32", 2**31, pa.int32(), (OUTSIDE,)),
    ("uint32", 2**32 - 1, pa.int64(), 2**32 - 1),
    ("fixed32", 2**32 - 1, pa.int64(), 2**32 - 1),
    ("int64", 2**31, pa.int32(), (OUTSIDE,)),
    ("int64", -(2**63), pa.int64(), -(2**63)),
    ("sint64", -(2**63), pa.int64(), -(2**63)),
    ("sfixed64", 2**63 - 1, pa.int64(), 2**63 - 1),
    ("uint64", 2**63 - 1, pa.int64(), 2**63 - 1),
    ("uint64", 2**63, pa.int64(), (OUTSIDE,)),
    ("fixed64", 2**63, pa.int64(), (OUTSIDE,)),
    ("uint64", 2**64 - 1, pa.decimal128(20, 0), Decimal(2**64 - 1)),
    ("int32", -7, pa.decimal128(6, 2), Decimal("-7.00")),
    ("int32", 10_000, pa.decimal128(6, 2), (OUTSIDE,)),
    ("int64", 9_999, pa.decimal128(6, 2), Decimal("9999.00")),
    ("int64", 1_700_000_000_000, INSTANT, dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    ("int64", -1, NAIVE, dt.datetime(1969, 12, 31, 23, 59, 59, 999000)),  # noqa: DTZ001
    ("int64", 2**62, INSTANT, (OUTSIDE,)),
    ("float", 1.5, pa.float32(), 1.5),
    ("float", 1.5, pa.float64(), 1.5),
    ("double", 0.1, pa.float64(), 0.1),
    ("double", 0.1, pa.float32(), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ("double", 1e39, pa.float32(), (OUTSIDE,)),
    ("double", math.inf, pa.float32(), math.inf),
    ("string", "é\0", pa.string(), "é\0"),
    ("string", str(UUID), pa.uuid(), UUID),
    ("string", str(UUID).upper(), pa.uuid(), UUID),
    ("string", UUID.hex, pa.uuid(), (NO_UUID,)),
    ("string", f"{{{UUID}}}", pa.uuid(), (NO_UUID,)),
    ("string", f"{UUID}\n", pa.uuid(), (NO_UUID,)),
    ("string", str(UUID).replace("a", "g"), pa.uuid(), (NO_UUID,)),
    ("bytes", UUID.bytes, pa.uuid(), UUID),
    ("bytes", UUID.bytes_le[1:], pa.uuid(), ("holds 15 bytes",)),
    ("bytes", b"\0\xff", pa.binary(), b"\0\xff"),
    ("bytes", b"\0\xff", pa.binary(2), b"\0\xff"),
    ("bytes", b"\0\xff", pa.binary(3), ("holds 2 bytes",)),
    ("E", 1, pa.string(), "ONE"),
    ("E", 1, pa.int32(), 1),
    ("E", 7, pa.string(), ("holds 7, for which E has no name",)),
    ("E", -7, pa.int64(), -7),
]
ENUM = "enum E { ZERO = 0; ONE = 1; }"


WELL_KNOWN = "google/protobuf/timestamp.proto google/protobuf/wrappers.proto"


def seconds(number: int, nanos: int = 0) -> dict[str, int]:
    return {"seconds": number, "nanos": nanos}


MESSAGES: list[tuple[str, dict[str, Any], pa.DataType, Any]] = [
    ("google.protobuf.Timestamp", {}, INSTANT, dt.datetime(1970, 1, 1, tzinfo=UTC)),
    (
        "google.protobuf.Timestamp",
        seconds(-1, 999_999_000),
        NAIVE,
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
    ),
    ("google.protobuf.Timestamp", seconds(0, 1), INSTANT, (ROUNDED,)),
    ("google.protobuf.Timestamp", seconds(0, -1000), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(0, 10**9), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(253_402_300_800), INSTANT, (OUTSIDE,)),
    ("google.protobuf.Timestamp", seconds(5), pa.struct([("seconds", pa.int64())]), {"seconds": 5}),
    ("google.protobuf.Duration", seconds(5), pa.struct([("seconds", pa.int64())]), {"seconds": 5}),
    ("google.protobuf.Int32Value", {}, pa.int32(), 0),
    ("google.protobuf.UInt64Value", {"value": 2**63}, pa.int64(), (OUTSIDE,)),
    ("google.protobuf.StringValue", {"value": "x"}, pa.string(), "x"),
    ("google.protobuf.BytesValue", {"value": b"x"}, pa.binary(), b"x"),
    ("google.protobuf.Any", {"value": b"x"}, pa.struct([("value", pa.binary())]), {"value": b"x"}),
    ("google.type.Date", {"year": 2026, "month": 2, "day": 28}, pa.date32(), dt.date(2026, 2, 28)),
    ("google.type.Date", {"year": 2026, "month": 2, "day": 29}, pa.date32(), (OUTSIDE,)),
    ("google.type.Date", {"year": 2026, "month": 2}, pa.date32(), (OUTSIDE,)),
    ("google.type.TimeOfDay", {"hours": 3, "nanos": 6000}, pa.time64("us"), dt.time(3, 0, 0, 6)),
    ("google.type.TimeOfDay", {"hours": 24}, pa.time64("us"), (OUTSIDE,)),
    ("google.type.TimeOfDay", {"nanos": 1}, pa.time64("us"), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\x03\xe7", "scale": 2}, pa.decimal128(6, 2), Decimal("9.99")),
    ("confluent.type.Decimal", {"value": b"\xff", "scale": 0}, pa.decimal128(6, 2), Decimal("-1.00")),
    ("confluent.type.Decimal", {"value": b"\x0a", "scale": 3}, pa.decimal128(6, 2), Decimal("0.01")),
    ("confluent.type.Decimal", {"value": b"\x0b", "scale": 3}, pa.decimal128(6, 2), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": -4}, pa.decimal128(6, 2), (OUTSIDE,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": -(2**31)}, pa.decimal128(6, 2), (OUTSIDE,)),
    ("confluent.type.Decimal", {"value": b"\x01", "scale": 2**31 - 1}, pa.decimal128(6, 2), (ROUNDED,)),
    ("confluent.type.Decimal", {"value": b"\0", "scale": 2**31 - 1}, pa.decimal128(6, 2), Decimal("0.00")),
    ("confluent.type.Decimal", {"scale": 1}, pa.decimal128(6, 2), ("without digits",)),
]
IMPORTS = (
    f"{WELL_KNOWN} google/protobuf/duration.proto google/protobuf/any.proto google/type/date.proto "
    "google/type/timeofday.proto confluent/type/decimal.proto confluent/meta.proto"
)
