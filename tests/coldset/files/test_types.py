"""Every type a table may have comes back as it was written, in one fixed Arrow form.

pyiceberg varies between 32-bit and 64-bit lengths and between names of one zone;
engines refuse batches that differ so.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.coldset.tables import TABLE, make_catalog, read_now

ITEM = pa.field("element", pa.int32())

TYPES: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), True),
    (pa.int32(), -(2**31)),
    (pa.int64(), 2**63 - 1),
    (pa.float32(), 1.5),
    (pa.float64(), float("-inf")),
    (pa.decimal128(38, 9), Decimal("12345678901234567890123456789.000000001")),
    (pa.string(), "é\0"),
    (pa.binary(), b"\x00\xff"),
    (pa.binary(3), b"\x00\x01\xff"),
    (pa.date32(), dt.date(1, 1, 1)),
    (pa.time64("us"), dt.time(23, 59, 59, 999999)),
    (pa.timestamp("us"), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
    (pa.timestamp("us", tz="UTC"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)),
    (pa.list_(ITEM), [1, None]),
    (pa.list_(ITEM), []),
    (pa.map_(pa.string(), pa.int64()), [("k", 1), ("l", None)]),
    (
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.field("element", pa.struct([("c", pa.string())]))))]),
        {"a": None, "b": [{"c": "x"}, None]},
    ),
]


@pytest.mark.parametrize(("kind", "value"), TYPES, ids=str)
def test_a_value_comes_back_in_the_fixed_form(tmp_path: Path, kind: pa.DataType, value: Any) -> None:
    schema = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", kind)])
    table = make_catalog(tmp_path).create_table(TABLE, schema=schema)
    table.append(pa.table({"id": [1, 2], "v": [value, None]}, schema=schema))

    found = read_now(make_catalog(tmp_path))

    assert found.schema == schema
    assert found.column("v").to_pylist() == [value, None]
