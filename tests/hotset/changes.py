"""Records of change capture as Debezium and Maxwell write them, with all that they have in them.

Nothing here says what becomes of them.
"""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, Any] | None


def debezium(
    op: str | None, before: Row = None, after: Row = None, *, ts_ms: Any = 1_700_000_000_123, **others: Any
) -> dict[str, Any]:
    """An envelope of the PostgreSQL connector, schemas off; `others` take the place of its fields."""
    source = {
        "version": "3.7.0.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": 1_700_000_000_100,
        "snapshot": "false",
        "db": "shopdb",
        "sequence": '["24023128","24023128"]',
        "schema": "public",
        "table": "orders",
        "txId": 555,
        "lsn": 24023128,
        "xmin": None,
    }
    envelope = {"before": before, "after": after, "source": source, "transaction": None}
    return {**envelope, "op": op, "ts_ms": ts_ms, "ts_us": 1, "ts_ns": 1, **others}


def mysql_source() -> dict[str, Any]:
    return {
        "connector": "mysql",
        "name": "shop",
        "db": "inventory",
        "table": "orders",
        "server_id": 1,
        "row": 0,
    }


def with_schema(payload: Any) -> dict[str, Any]:
    """The same as Connect's JSON converter writes it with schemas on."""
    fields = [{"type": "struct", "optional": True, "field": "before"}, {"type": "string", "field": "op"}]
    return {"schema": {"type": "struct", "fields": fields, "name": "shop.Envelope"}, "payload": payload}


def maxwell(kind: str, data: Row, **others: Any) -> dict[str, Any]:
    known = {"database": "shop", "table": "orders", "type": kind, "ts": 1_449_786_310, "xid": 940752}
    return {**known, "commit": True, "data": data, **others}


def text(record: Any) -> bytes:
    return json.dumps(record).encode()
