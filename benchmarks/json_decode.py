"""What decoding JSON costs: flat and nested records, and records among which some are bad.

Raw batches are made in memory, so that nothing but decoding is measured, and processor time is
counted instead of time, so that a figure is one of a single core. It needs no broker.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from benchmarks.harness import Report, interleave, median, note, run
from hotset.decode.bad_records import BadRecords
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import RowDecoder
from hotset.kafka.record_source import RAW_SCHEMA
from hotset.native.availability import PURE

_FLAT: Final = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        ("customer_id", pa.int64()),
        ("region", pa.string()),
        ("amount", pa.float64()),
        ("quantity", pa.int32()),
        ("status", pa.string()),
        ("is_paid", pa.bool_()),
        ("placed_at", pa.timestamp("us", tz="UTC")),
        ("note", pa.string()),
    ]
)
_THREE: Final = pa.schema([_FLAT.field(name) for name in ("order_id", "region", "amount")])
_DECIMAL: Final = _FLAT.set(3, pa.field("amount", pa.decimal128(12, 2)))
_NESTED: Final = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        ("buyer", pa.struct([("id", pa.int64()), ("name", pa.string())])),
        ("items", pa.list_(pa.struct([("sku", pa.string()), ("price", pa.decimal128(12, 2))]))),
        ("tags", pa.list_(pa.string())),
        ("more", pa.map_(pa.string(), pa.int64())),
    ]
)


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Decode each kind of batch in turn."""
    records, runs = (2_000, 1) if small else (65_536, 9)
    note(f"json_decode: batches of {records} records")
    flat = [_encoded(_order(number)) for number in range(records)]
    nested = [_encoded(_basket(number)) for number in range(records)]
    one = [*flat[: records // 2], b'{"order_id": 1.5}', *flat[records // 2 + 1 :]]
    cut = [*flat[: records // 2], flat[0][:-2], *flat[records // 2 + 1 :]]
    some = [payload if n % 100 else b'{"order_id": "x"}' for n, payload in enumerate(flat)]
    ways: dict[str, Callable[[], int]] = {
        "flat": _decoding(flat, _FLAT),
        "flat_python": _decoding(flat, _FLAT, pure="1"),
        "flat_three_columns": _decoding(flat, _THREE),
        "flat_decimal": _decoding(flat, _DECIMAL),
        "nested": _decoding(nested, _NESTED),
        "nested_python": _decoding(nested, _NESTED, pure="1"),
        "one_misfit": _decoding(one, _FLAT),
        "one_cut_short": _decoding(cut, _FLAT),
        "one_percent_bad": _decoding(some, _FLAT),
        "loads": lambda: _loads(flat),
    }
    spent_s = {name: median(found) for name, found in interleave(ways, runs, _cpu_s).items()}
    sizes = {
        "bytes": round(sum(map(len, flat)) / records),
        "nested_bytes": round(sum(map(len, nested)) / records),
    }
    for name in ("flat", "flat_python", "flat_three_columns", "flat_decimal", "nested", "nested_python"):
        rate = records / spent_s[name]
        report.case(f"json_decode_{name}", rate, "rows per processor second", runs=runs, **sizes)
    for name in ("one_misfit", "one_cut_short", "one_percent_bad"):
        cost = spent_s[name] / spent_s["flat"]
        report.case(f"json_decode_{name}_cost", cost, "ratio", runs=runs, records=records)
    for name, other in (("against_loads", "loads"), ("against_python", "flat_python")):
        gain = spent_s[other] / spent_s["flat"]
        report.case(f"json_decode_{name}", gain, "ratio", runs=runs, records=records)


def _order(number: int) -> dict[str, Any]:
    return {
        "order_id": number,
        "customer_id": number * 7919 % 1_000_000,
        "region": ("eu-west", "us-east", "ap-south")[number % 3],
        "amount": number * 7919 % 100_000 / 100,
        "quantity": number % 9 + 1,
        "status": "shipped",
        "is_paid": number % 2 == 0,
        "placed_at": f"2026-01-02T03:04:05.{number % 1_000_000:06d}Z",
        "note": "leave it at the door, x",
    }


def _basket(number: int) -> dict[str, Any]:
    items = [{"sku": f"s{number}", "price": number % 1000 / 4}, {"sku": "t", "price": "2.50"}]
    buyer = {"id": number, "name": f"buyer {number}"}
    return {"order_id": number, "buyer": buyer, "items": items, "tags": ["a", "b"], "more": {"k": number}}


def _encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def _decoding(payloads: Sequence[bytes], schema: pa.Schema, *, pure: str = "") -> Callable[[], int]:
    count = len(payloads)
    columns = [
        pa.array([0] * count, pa.int32()),
        pa.array(range(count), pa.int64()),
        pa.array([0] * count, pa.int64()),
        pa.array(payloads, pa.binary()),
    ]
    raw = pa.RecordBatch.from_arrays(columns, schema=RAW_SCHEMA)
    decoder = RowDecoder(RecordFormat("json", bad_records=BadRecords.SKIP), schema, {}, "orders")

    def decode() -> int:
        os.environ[PURE] = pure
        return decoder.decode(raw).rows.num_rows

    return decode


def _loads(payloads: Sequence[bytes]) -> int:
    rows = [json.loads(payload) for payload in payloads]
    for row in rows:
        row["placed_at"] = datetime.fromisoformat(row["placed_at"])
    return pa.Table.from_pylist(rows, schema=_FLAT).num_rows


def _cpu_s(way: Callable[[], object]) -> float:
    began_s = time.process_time()
    way()
    return time.process_time() - began_s


if __name__ == "__main__":
    sys.exit(run(main))
