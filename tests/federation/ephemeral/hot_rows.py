"""Hot rows for any table: records in JSON that fill all of its columns, with a boundary that is declared.

Tables that Iceberg's runtime has made are filled by no topic. Whoever asks gives them one, and says that the
table has nothing of it, so that all of the topic is hot.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from federation.options.table_definition import merge_options
from tests.builders import make_topic, produce, unique
from tests.coldset.agreement import SparkTable

# Which rows of the examples have no value for a column.
_NULL_EVERY = 5


def give_topic(table: SparkTable, bootstrap: str, rows: int = 12) -> dict[str, str]:
    """Fill a topic of the table's own and return options that read both."""
    topic = make_topic(bootstrap, unique("hot"), partitions=2)
    schema = table.pin().arrow_schema
    records = [{field.name: example(field, number) for field in schema} for number in range(rows)]
    for partition in (0, 1):
        produce(bootstrap, topic, records[partition::2], partition=partition)
    return union_options(table, bootstrap, topic)


def union_options(table: SparkTable, bootstrap: str, topic: str, **more: str) -> dict[str, str]:
    """Return merged options of a table, no record of whose topic is in its pinned snapshot."""
    pinned = table.pin()
    declared = {"snapshot_id": pinned.snapshot_id, "partitions": {"0": 0, "1": 0}}
    given = {
        **{name: value for name, value in table.options.items() if name != "read"},
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "kafkaColumns": "none",
        "merge": "append",
        "hotStorePath": str(table.directory / "store"),
        **({} if pinned.snapshot_id is None else {"committedOffsets": json.dumps(declared)}),
        **({} if pinned.snapshot_id is None else {"boundary": "declared"}),
        **more,
    }
    return merge_options(table.name, given, {})


def example(field: pa.Field, number: int) -> Any:
    """Return the value of a column in one of some records, as JSON has it; sometimes none, if it may be."""
    if field.nullable and number % _NULL_EVERY == _NULL_EVERY - 1:
        return None
    return _value(field.type, number)


def _value(kind: pa.DataType, number: int) -> Any:
    types = pa.types
    if types.is_struct(kind):
        return {child.name: example(child, number + at) for at, child in enumerate(kind)}
    if types.is_list(kind):
        return [example(kind.value_field, number + at) for at in range(number % 3)]
    if types.is_map(kind):
        keys = range(number % 3) if types.is_string(kind.key_type) else ()
        return {f"k{at}": example(kind.item_field, number + at) for at in keys}
    if kind == pa.uuid():
        return f"f81d4fae-7dec-11d0-a765-00a0c91e6b{number % 200:02x}"
    return next(make for matches, make in _PLAIN.items() if matches(kind))(kind, number)


_TIMES = ("1969-12-31T23:59:59.999999", "2024-02-29T12:00:00", "2100-01-01T00:00:00.000001")
_PLAIN: Mapping[Callable[[pa.DataType], bool], Callable[[Any, int], Any]] = {
    pa.types.is_boolean: lambda _, n: n % 2 == 0,
    pa.types.is_integer: lambda _, n: 1000 + (n - 2) * 3,
    pa.types.is_float32: lambda _, n: [0.5, -0.0, 0.0, math.nan, -2.25, math.inf][n % 6],
    pa.types.is_float64: lambda _, n: [1.5, 0.1, -0.0, -7.25, math.nan, -math.inf, 1e300][n % 7],
    pa.types.is_decimal: lambda kind, n: f"{'-' * (n % 2)}{n % 9}.{'5' * kind.scale}".rstrip("."),
    pa.types.is_string: lambda _, n: ["h", "h\u00e9", "\U0001f600" * 20, "", "a value longer than bounds"][
        n % 5
    ],
    pa.types.is_binary: lambda _, n: _base64([b"", b"\xff" * 40, b"\x00h"][n % 3]),
    pa.types.is_fixed_size_binary: lambda kind, n: _base64(bytes([n] * kind.byte_width)),
    pa.types.is_date: lambda _, n: ["1969-12-31", "2024-02-29", "0001-01-01"][n % 3],
    pa.types.is_time: lambda _, n: f"{n:02}:00:00.000001",
    pa.types.is_timestamp: lambda kind, n: _TIMES[n % 3] + ("Z" if kind.tz else ""),
}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
