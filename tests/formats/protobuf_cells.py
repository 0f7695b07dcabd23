"""Protobuf fields and the columns they fill; what is written is a declaration and a value."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tests.formats.columns import Cell
from tests.hotset.proto import message_class, registered

UUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
MS = 1_700_000_000_123
AT = dt.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=dt.UTC)
LOCAL = AT.replace(tzinfo=None)
SMALL, UNSIGNED = "int32, sint32, sfixed32", "uint32, fixed32"
LARGE, LARGEST = "int64, sint64, sfixed64", "uint64, fixed64"
INSTANT = ("google.protobuf.Timestamp", {"seconds": 1_700_000_000, "nanos": 123_000_000})

WRAPPER = ("google.protobuf.Int32Value", {"value": 7})
DATE = ("google.type.Date", {"year": 2026, "month": 1, "day": 2})


def decimal(value: int) -> Decimal:
    return Decimal(f"{value}.000000000")


PROTOBUF_CELLS = [
    Cell("bool", "boolean", ("bool", True), True),
    Cell(SMALL, "int", ("sint32", -(2**31)), -(2**31)),
    Cell(SMALL, "long", ("int32", -1), -1),
    Cell(SMALL, "decimal", ("sfixed32", -7), decimal(-7)),
    Cell(UNSIGNED, "int", ("uint32", 2**31 - 1), 2**31 - 1),
    Cell(UNSIGNED, "long", ("fixed32", 2**32 - 1), 2**32 - 1),
    Cell(UNSIGNED, "decimal", ("uint32", 2**32 - 1), decimal(2**32 - 1)),
    Cell(LARGE, "int", ("sint64", -5), -5),
    Cell(LARGE, "long", ("int64", -(2**63)), -(2**63)),
    Cell(LARGE, "decimal", ("sfixed64", -(2**63)), decimal(-(2**63))),
    Cell(LARGE, "timestamp", ("int64", MS), LOCAL),
    Cell(LARGE, "timestamptz", ("int64", MS), AT),
    Cell(LARGE, "timestamp_ns", ("sint64", MS), LOCAL),
    Cell(LARGE, "timestamptz_ns", ("sfixed64", MS), AT),
    Cell(LARGEST, "int", ("uint64", 5), 5),
    Cell(LARGEST, "long", ("fixed64", 2**63 - 1), 2**63 - 1),
    Cell(LARGEST, "decimal", ("uint64", 2**64 - 1), decimal(2**64 - 1)),
    Cell("float, double", "float", ("float", 1.5), 1.5),
    Cell("float, double", "double", ("double", 0.1), 0.1),
    Cell("string", "string", ("string", "é\n"), "é\n"),
    Cell("string", "uuid", ("string", str(UUID).upper()), UUID),
    Cell("bytes", "binary", ("bytes", b"\0\xff"), b"\0\xff"),
    Cell("bytes", "fixed", ("bytes", bytes(range(16))), bytes(range(16))),
    Cell("bytes", "uuid", ("bytes", UUID.bytes), UUID),
    Cell("enum", "string", ("E", 1), "ONE"),
    Cell("enum", "int", ("E", 1), 1),
    Cell("enum", "long", ("E", 1), 1),
    Cell("message", "struct", ("S", {"a": 1}), {"a": 1}),
    Cell("repeated", "list", ("repeated int32", [1, -1]), [1, -1]),
    Cell("map", "map", ("map<string, int32>", {"k": 1}), [("k", 1)]),
    Cell("google.protobuf.Timestamp", "timestamp", INSTANT, LOCAL),
    Cell("google.protobuf.Timestamp", "timestamptz", INSTANT, AT),
    Cell("google.protobuf.Timestamp", "timestamp_ns", INSTANT, LOCAL),
    Cell("google.protobuf.Timestamp", "timestamptz_ns", INSTANT, AT),
    Cell(
        "google.protobuf.Int32Value and other wrappers",
        "int",
        ("google.protobuf.Int32Value", {"value": 7}),
        7,
    ),
    Cell(
        "google.type.Date",
        "date",
        ("google.type.Date", {"year": 2026, "month": 1, "day": 2}),
        dt.date(2026, 1, 2),
    ),
    Cell(
        "google.type.TimeOfDay",
        "time",
        ("google.type.TimeOfDay", {"hours": 3, "minutes": 4, "seconds": 5, "nanos": 6000}),
        dt.time(3, 4, 5, 6),
    ),
    Cell(
        "confluent.type.Decimal",
        "decimal",
        ("confluent.type.Decimal", {"value": b"\xff\x85", "precision": 6, "scale": 2}),
        Decimal("-1.230000000"),
    ),
]
_IMPORTS = (
    "google/protobuf/timestamp.proto",
    "google/protobuf/wrappers.proto",
    "google/type/date.proto",
    "google/type/timeofday.proto",
    "confluent/type/decimal.proto",
)


def message_of(cells: Sequence[Cell]) -> Any:
    """One message whose fields are the cells, c0 and so on."""
    imports = "".join(f'import "{name}"; ' for name in _IMPORTS)
    fields = "".join(f"{cell.written[0]} c{n} = {n + 1}; " for n, cell in enumerate(cells))
    around = "enum E { ZERO = 0; ONE = 1; } message S { int32 a = 1; }"
    schema = registered(f'syntax = "proto3"; {imports} message Row {{ {fields} }} {around}')
    return message_class(schema, "Row")(**{f"c{n}": cell.written[1] for n, cell in enumerate(cells)})
