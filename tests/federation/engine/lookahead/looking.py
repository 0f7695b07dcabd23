"""What a statement looks at, as its plan says.

Tests of plans and of conditions ask it here.
"""

from __future__ import annotations

import pyarrow as pa

from coldset.prune.predicate import Predicate
from federation.engine.lookahead.lookahead import Lookout, Outlook
from federation.engine.run.instance import open_cursor

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int32()),
        ("note", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("weight", pa.float64()),
        ("share", pa.float32()),
        ("day", pa.date32()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("flag", pa.bool_()),
        ("in", pa.struct([("x", pa.int32())])),
    ]
)


def look(sql: str, *tables: str) -> dict[str, Outlook]:
    cursor = open_cursor()
    try:
        cursor.begin()
        return Lookout(cursor, dict.fromkeys(tables or ("t",), SCHEMA)).look(sql)[1]
    finally:
        cursor.close()


def where(condition: str) -> Predicate | None:
    return look(f"SELECT id FROM t WHERE {condition}")["t"].where
