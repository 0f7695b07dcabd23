"""What goes over the wire: requests parsed, answers rendered.

Rows are arrays. Values that JSON has no form for are strings: decimals, times,
binary (base64), and NaN and infinities, which strict parsers refuse as numbers.
Arrow answers carry the same receipt in their schema's metadata. This file knows
no routes.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from federation.engine import Answer
from sql_gateway.errors import BadRequestError

ARROW_STREAM: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
RECEIPT_KEY: Final = b"kafkaiceberg.receipt"


@dataclass(frozen=True, slots=True)
class SqlRequest:
    """A statement to run, and cut tokens for tables that must not be read as of now."""

    sql: str
    cuts: Mapping[str, str]


def parse_body(body: Any) -> SqlRequest:
    """Read the JSON body of a request.

    Raises:
        BadRequestError: It is not `{"sql": text, "cuts": {table: token}}`.
    """
    if not isinstance(body, dict) or not isinstance(body.get("sql"), str):
        raise BadRequestError('the body must be JSON of the form {"sql": "SELECT ..."}')
    unknown = set(body) - {"sql", "cuts"}
    if unknown:
        raise BadRequestError(f"the body has unknown keys: {', '.join(sorted(unknown))}")
    cuts = body.get("cuts", {})
    if not isinstance(cuts, dict) or not all(isinstance(token, str) for token in cuts.values()):
        raise BadRequestError('"cuts" must map table names to cut tokens')
    return SqlRequest(body["sql"], cuts)


def render_json(answer: Answer, query_id: str) -> str:
    """Return an answer as JSON text.

    Raises:
        SqlError: A value is outside of what a time of Python can be.
    """
    columns = [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in answer.rows.schema]
    # Column names may repeat, so values are taken by position.
    values = [[_json_value(v) for v in column] for column in answer.values()]
    body = {
        "query_id": query_id,
        "columns": columns,
        "rows": [list(row) for row in zip(*values, strict=True)],
        "row_count": answer.rows.num_rows,
        "receipt": render_receipt_dict(answer),
    }
    return json.dumps(body, ensure_ascii=False, allow_nan=False)


def render_arrow(answer: Answer, query_id: str) -> bytes:
    """Return an answer as an Arrow IPC stream with the receipt in its metadata."""
    receipt = json.dumps({"query_id": query_id, **render_receipt_dict(answer)})
    metadata = {**(answer.rows.schema.metadata or {}), RECEIPT_KEY: receipt.encode()}
    table = answer.rows.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def render_receipt_dict(answer: Answer) -> dict[str, Any]:
    """Return the receipt of a whole answer."""
    return {
        "tables": [receipt.to_dict() for receipt in answer.receipts],
        "stages_ms": {stage: round(ms, 3) for stage, ms in answer.stages_ms.items()},
    }


def _json_value(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return str(value)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
