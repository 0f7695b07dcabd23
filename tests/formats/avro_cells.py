"""Avro types and the columns they fill; what is written is a schema, given a name, and a value."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from tests.formats.columns import Cell

Schema = Callable[[str], Any]

UUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
MILLIS = 1_700_000_000_123
MICROS, NANOS = MILLIS * 1000, MILLIS * 1_000_000
AT = dt.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=dt.UTC)
LOCAL = AT.replace(tzinfo=None)
MONEY, EXACT = Decimal("-1.23"), Decimal("-1.230000000")


def plain(kind: str) -> Schema:
    return lambda _name: kind


def logical(kind: str, name: str, **more: int) -> Schema:
    return lambda _name: {"type": kind, "logicalType": name, **more}


def named(kind: str, **more: Any) -> Schema:
    return lambda name: {"type": kind, "name": name, **more}


def instants(column: str, number: int) -> list[tuple[str, int, Any]]:
    times = [("timestamp", number, LOCAL), ("timestamp_ns", number, LOCAL), ("long", number, number)]
    if column == "timestamptz":
        times += [("timestamptz", number, AT), ("timestamptz_ns", number, AT)]
    return times


# Per type its schema, and per column what is written and what it becomes.
TYPES: dict[str, tuple[Schema, list[tuple[str, Any, Any]]]] = {
    "boolean": (plain("boolean"), [("boolean", True, True)]),
    "int": (
        plain("int"),
        [
            ("int", -(2**31), -(2**31)),
            ("long", -5, -5),
            ("float", 2**24 + 1, 2.0**24),
            ("double", 2**31 - 1, 2.0**31 - 1),
        ],
    ),
    "long": (
        plain("long"),
        [
            ("int", -5, -5),
            ("long", 2**63 - 1, 2**63 - 1),
            ("float", 2**62, 2.0**62),
            ("double", 2**53 + 1, 2.0**53),
        ],
    ),
    "float": (plain("float"), [("float", 1.5, 1.5), ("double", 1.5, 1.5)]),
    "double": (plain("double"), [("float", 1.5, 1.5), ("double", 0.1, 0.1)]),
    "bytes": (
        plain("bytes"),
        [
            ("binary", b"\0\xff", b"\0\xff"),
            ("string", b"ab", "ab"),
            ("fixed", UUID.bytes, UUID.bytes),
            ("uuid", UUID.bytes, UUID),
        ],
    ),
    "string": (
        plain("string"),
        [("string", "é\n", "é\n"), ("binary", "é", "é".encode()), ("uuid", str(UUID).upper(), UUID)],
    ),
    "fixed": (
        named("fixed", size=16),
        [("fixed", UUID.bytes, UUID.bytes), ("binary", UUID.bytes, UUID.bytes), ("uuid", UUID.bytes, UUID)],
    ),
    "enum": (named("enum", symbols=["RED", "GREEN"]), [("string", "GREEN", "GREEN")]),
    "decimal (bytes)": (logical("bytes", "decimal", precision=20, scale=2), [("decimal", MONEY, EXACT)]),
    "decimal (fixed)": (
        named("fixed", size=9, logicalType="decimal", precision=20, scale=2),
        [("decimal", MONEY, EXACT)],
    ),
    "date": (logical("int", "date"), [("date", -1, dt.date(1969, 12, 31)), ("int", 7, 7), ("long", 7, 7)]),
    "time-millis": (
        logical("int", "time-millis"),
        [("time", 86_399_999, dt.time(23, 59, 59, 999_000)), ("int", 7, 7), ("long", 7, 7)],
    ),
    "time-micros": (logical("long", "time-micros"), [("time", 1, dt.time(0, 0, 0, 1)), ("long", 7, 7)]),
    "timestamp-millis": (logical("long", "timestamp-millis"), instants("timestamptz", MILLIS)),
    "timestamp-micros": (logical("long", "timestamp-micros"), instants("timestamptz", MICROS)),
    "timestamp-nanos": (logical("long", "timestamp-nanos"), instants("timestamptz", NANOS)),
    "local-timestamp-millis": (logical("long", "local-timestamp-millis"), instants("timestamp", MILLIS)),
    "local-timestamp-micros": (logical("long", "local-timestamp-micros"), instants("timestamp", MICROS)),
    "local-timestamp-nanos": (logical("long", "local-timestamp-nanos"), instants("timestamp", NANOS)),
    "uuid (string)": (
        logical("string", "uuid"),
        [("uuid", str(UUID), UUID), ("string", str(UUID), str(UUID)), ("fixed", str(UUID), UUID.bytes)],
    ),
    "uuid (fixed)": (
        named("fixed", size=16, logicalType="uuid"),
        [
            ("uuid", UUID.bytes, UUID),
            ("string", UUID.bytes, str(UUID)),
            ("fixed", UUID.bytes, UUID.bytes),
            ("binary", UUID.bytes, UUID.bytes),
        ],
    ),
    "array": (lambda _name: {"type": "array", "items": "int"}, [("list", [1, -1], [1, -1])]),
    "map": (lambda _name: {"type": "map", "values": "int"}, [("map", {"k": 7}, [("k", 7)])]),
    "record": (named("record", fields=[{"name": "a", "type": "int"}]), [("struct", {"a": 7}, {"a": 7})]),
    "union with null": (lambda _name: ["null", "int"], [("int", 7, 7)]),
}

AVRO_CELLS = [
    Cell(kind, column, (schema, written), value)
    for kind, (schema, becomes) in TYPES.items()
    for column, written, value in becomes
]


def record_of(cells: Sequence[Cell]) -> tuple[str, dict[str, Any]]:
    """One record whose fields are the cells, c0 and so on: its schema and its values."""
    fields = [{"name": f"c{n}", "type": cell.written[0](f"t{n}")} for n, cell in enumerate(cells)]
    schema = {"type": "record", "name": "Row", "fields": fields}
    return json.dumps(schema), {f"c{n}": cell.written[1] for n, cell in enumerate(cells)}
