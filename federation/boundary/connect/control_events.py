"""What the Iceberg Kafka Connect sink writes to its control topic, as values.

Tasks of the sink tell their coordinator there which files they have written
and how far they have read; each event brings its own Avro schema. The layout
is that of Apache Iceberg's `connect/events`; the file performs no input or
output.
"""

from __future__ import annotations

import functools
import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import fastavro

MAGIC: Final = b"\xc2\x01"
DATA_WRITTEN: Final = 1
DATA_COMPLETE: Final = 2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """One event of the control topic.

    Attributes:
        partition, offset: Where it stands in the control topic.
        sender: Which producer sent it; one task's events share it.
        kind: `DATA_WRITTEN` and `DATA_COMPLETE` are those that matter here.
        group_id: The consumer group of the sink it belongs to.
        commit_id: The round of commits it belongs to.
        table, table_uuid: Of `DATA_WRITTEN`: the table that files were written for.
        rows: Of `DATA_WRITTEN`: how many rows the files have.
        topics: Of `DATA_COMPLETE`: the topics that the task reads.
        positions: Of `DATA_COMPLETE`: (topic, partition) to the next offset to be read.
        newest_ms: Of `DATA_COMPLETE`: the same to the timestamp of the record before (epoch milliseconds).
    """

    partition: int
    offset: int
    sender: bytes
    kind: int
    group_id: str
    commit_id: bytes
    table: str | None
    table_uuid: str | None
    rows: int
    topics: frozenset[str]
    positions: Mapping[tuple[str, int], int]
    newest_ms: Mapping[tuple[str, int], int]


def decode_event(record: Mapping[str, Any]) -> ControlEvent | None:
    """Return the event of a control topic's record, or None if it is not one.

    Args:
        record: `partition`, `offset`, `key` and `value` of the record.

    Raises:
        ValueError: It begins like an event and cannot be read.
    """
    value = record["value"]
    if value is None or not value.startswith(MAGIC):
        return None
    length = int.from_bytes(value[2:4], "big")
    header, body = value[4 : 4 + length], value[4 + length :]
    try:
        event: Any = fastavro.schemaless_reader(io.BytesIO(body), _schema(header), None)
        payload = event["payload"]
        table = payload.get("table_reference")
        assigned = payload.get("assignments") or ()
        return ControlEvent(
            partition=record["partition"],
            offset=record["offset"],
            sender=record["key"] or b"",
            kind=event["type"],
            group_id=event["group_id"],
            commit_id=bytes(payload["commit_id"]),
            table=".".join([*table["namespace"], table["name"]]) if table else None,
            table_uuid=table["table_uuid"].hex() if table and table.get("table_uuid") else None,
            rows=sum(file["record_count"] for file in payload.get("data_files") or ()),
            topics=frozenset(found["topic"] for found in assigned),
            positions={
                (found["topic"], found["partition"]): found["offset"]
                for found in assigned
                if found["offset"] is not None
            },
            newest_ms={
                (found["topic"], found["partition"]): (found["timestamp"] - _EPOCH)
                // timedelta(milliseconds=1)
                for found in assigned
                if found["offset"] is not None and found["timestamp"] is not None
            },
        )
    except (
        EOFError,
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        struct.error,
        fastavro.schema.SchemaParseException,
    ) as exc:
        raise ValueError(
            f"control event at {record['partition']}:{record['offset']} cannot be read: {exc!r}"
        ) from exc


def decode_files(record: Mapping[str, Any]) -> list[str]:
    """Return the paths of the data files that an event of the control topic announces.

    Args:
        record: The record of an event that `decode_event` has read.
    """
    value = record["value"]
    length = int.from_bytes(value[2:4], "big")
    body, schema = io.BytesIO(value[4 + length :]), _schema(value[4 : 4 + length])
    event: Any = fastavro.schemaless_reader(body, schema, None)
    return [file["file_path"] for file in event["payload"].get("data_files") or ()]


@functools.lru_cache(maxsize=256)
def _schema(header: bytes) -> Any:
    return fastavro.parse_schema(_by_simple_names(json.loads(header)))


def _by_simple_names(node: Any) -> Any:
    # The sink defines a type in one namespace and uses it unqualified in another, which Java's
    # reader lets pass and the specification does not. Its names are unique without namespaces.
    if isinstance(node, list):
        return [_by_simple_names(item) for item in node]
    if isinstance(node, str):
        return node.rsplit(".", 1)[-1]
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if key != "namespace"}
        for key in ("name", "type", "items", "values", "fields"):
            if key in kept:
                kept[key] = _by_simple_names(kept[key])
        return kept
    return node
