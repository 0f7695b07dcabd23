"""Columns of a table, and what a value in them is for Spark and in a JSON answer.

This is the first table of FORMATS.md as code; nothing here knows a format.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


def same(value: Any) -> Any:
    return value


def in_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def local(value: dt.datetime) -> dt.datetime:
    """What PySpark makes of an instant: a time of this process's zone that does not say so."""
    return value.astimezone().replace(tzinfo=None)


@dataclass(frozen=True)
class Column:
    """A kind of column.

    Attributes:
        arrow: Its type in Arrow.
        spark: Its type in Spark, or None if Spark refuses it.
        in_json: A value as the gateway writes it.
        in_spark: A value as Spark returns it.
    """

    arrow: pa.DataType
    spark: str | None
    in_json: Callable[[Any], Any] = same
    in_spark: Callable[[Any], Any] = same


COLUMNS: dict[str, Column] = {
    "boolean": Column(pa.bool_(), "boolean"),
    "int": Column(pa.int32(), "int"),
    "long": Column(pa.int64(), "bigint"),
    "float": Column(pa.float32(), "float"),
    "double": Column(pa.float64(), "double"),
    "decimal": Column(pa.decimal128(38, 9), "decimal(38,9)", str),
    "date": Column(pa.date32(), "date", dt.date.isoformat),
    "time": Column(pa.time64("us"), None, dt.time.isoformat),
    "timestamp": Column(pa.timestamp("us"), "timestamp_ntz", dt.datetime.isoformat),
    "timestamptz": Column(pa.timestamp("us", tz="UTC"), "timestamp", dt.datetime.isoformat, local),
    "timestamp_ns": Column(pa.timestamp("ns"), None, dt.datetime.isoformat),
    "timestamptz_ns": Column(pa.timestamp("ns", tz="UTC"), None, dt.datetime.isoformat),
    "string": Column(pa.string(), "string"),
    "uuid": Column(pa.uuid(), "string", str, str),
    "binary": Column(pa.binary(), "binary", in_base64, bytearray),
    "fixed": Column(pa.binary(16), "binary", in_base64, bytearray),
    "struct": Column(pa.struct([("a", pa.int32())]), "struct<a:int>", same, lambda value: (value["a"],)),
    "list": Column(pa.list_(pa.int32()), "array<int>"),
    "map": Column(
        pa.map_(pa.string(), pa.int32()), "map<string,int>", lambda value: [[*e] for e in value], dict
    ),
}


@dataclass(frozen=True)
class Cell:
    """A type of a format that becomes a column.

    Attributes:
        kind: The type, as FORMATS.md calls it.
        column: One of `COLUMNS`.
        written: The field's type and value, as the format's own tools take them.
        value: What it is in the column, in Arrow's Python.
    """

    kind: str
    column: str
    written: Any
    value: Any
