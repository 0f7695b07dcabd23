"""Every way to ask for all records of a table, each returning what its reader would see.

The oracle holds all ways to the same truth, so a difference between them is a fault in one of them. A way
reports only what it was given: where there is no receipt, none is made up.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from federation.cut.cut import Cut
from federation.receipt import TableReceipt
from foundation.errors import KafkaIcebergError
from sql_gateway.protocol import ARROW_STREAM, RECEIPT_KEY
from tests.builders import HANG_S, Lake
from tests.oracle.checker import IDENTITY, DeclaredError, Observed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = ", ".join(IDENTITY)


def library(lake: Lake, cut: Cut | None = None) -> Observed:
    scan = lake.open().scan(IDENTITY, cut=cut)
    rows = scan.to_arrow()
    return observed(rows, scan.receipt)


def engine(lake: Lake) -> Observed:
    answer = lake.sql(f"SELECT {_COLUMNS} FROM {lake.table}")
    return observed(answer.rows, answer.receipts[0])


def resident(lake: Lake) -> Observed:
    """Through the hot store, which has what the way before it has read."""
    return engine(lake.having(hotStore="on_demand"))


def engine_twice(lake: Lake) -> Observed:
    """The table twice in one statement: both must be the same cut."""
    answer = lake.sql(twice(lake.table))
    assert len(answer.receipts) == 1
    return observed(answer.rows, answer.receipts[0], copies=2)


def gateway(base: str, lake: Lake, *, is_twice: bool = False) -> Observed:
    sql = twice(lake.table) if is_twice else f"SELECT {_COLUMNS} FROM {lake.table}"
    headers = {"Accept": ARROW_STREAM, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base}/v1/sql", json.dumps({"sql": sql}).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=HANG_S) as response:
            body = response.read()
    except urllib.error.HTTPError as exc:
        with exc:
            raise DeclaredError(json.loads(exc.read())["error"]) from exc
    rows = pa.ipc.open_stream(body).read_all()
    receipt = json.loads(rows.schema.metadata[RECEIPT_KEY])["tables"][0]
    return observed(rows, receipt, copies=2 if is_twice else 1)


def spark(session: SparkSession, lake: Lake, *, is_twice: bool = False, **options: str) -> Observed:
    """One `load()`; Spark shows no receipt, so the rows must speak for themselves."""
    try:
        loaded = session.read.format("kafkaiceberg").options(**lake.options, **options).load(lake.table)
        chosen = loaded.select(*IDENTITY)
        rows = (chosen.unionAll(loaded.select(*IDENTITY)) if is_twice else chosen).toArrow()
    except Exception as exc:
        if any(name in str(exc) for name in _error_names()):
            raise DeclaredError(str(exc)[:500]) from exc
        raise
    return Observed(rows, copies=2 if is_twice else 1)


def observed(rows: pa.Table, receipt: TableReceipt | Mapping[str, Any], *, copies: int = 1) -> Observed:
    """What was read, with what its receipt says of it; the receipt must agree with itself."""
    said = receipt.to_dict() if isinstance(receipt, TableReceipt) else receipt
    ends = {p["partition"]: p["end"] for p in said["partitions"]}
    assert ends == {r.partition: r.end for r in Cut.from_token(said["cut"]).ranges}
    return Observed(
        rows=rows,
        ends=ends,
        held_back={p["partition"]: p["held_back"] for p in said["partitions"]},
        gaps=tuple((gap["partition"], gap["start"], gap["end"]) for gap in said["gaps"]),
        cut=said["cut"],
        rows_hot=said["rows_hot"],
        rows_cold=said["rows_cold"],
        copies=copies,
        confidence=None if said["boundary"] is None else said["boundary"]["confidence"],
        assumed=frozenset(said["assumed"]),
    )


def twice(table: str) -> str:
    return f"SELECT {_COLUMNS} FROM {table} UNION ALL SELECT {_COLUMNS} FROM {table}"


def _error_names() -> set[str]:
    pending, names = [KafkaIcebergError], set[str]()
    while pending:
        kind = pending.pop()
        names.add(kind.__name__)
        pending.extend(kind.__subclasses__())
    return names
