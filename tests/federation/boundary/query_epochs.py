"""Epochs of a Spark query, as its checkpoint and its table have them.

No Spark runs; the layout is a real one's.
"""

from __future__ import annotations

import json

import pyarrow as pa

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from tests.builders import Lake

ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])


def append(lake: Lake, first: int, end: int, **summary: str) -> None:
    rows = [{"seq": seq, "kafka_partition": 0, "kafka_offset": seq} for seq in range(first, end)]
    lake.load().append(pa.Table.from_pylist(rows, schema=ROWS), snapshot_properties=summary)


def stream(lake: Lake, epoch: int, first: int, end: int, **others: int) -> None:
    """An epoch of a Spark query, in its checkpoint and in the table."""
    checkpoint = lake.directory / "checkpoint"
    for folder in ("offsets", "sources/0"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text('{"id":"the-query"}')
    (checkpoint / "sources/0/0").write_text(f"\0v1\n{json.dumps({lake.topic: {'0': 0}})}\n")
    vector = {lake.topic: {"0": end}} | {topic: {"0": reached} for topic, reached in others.items()}
    (checkpoint / "offsets" / str(epoch)).write_text(f"v1\n{{}}\n{json.dumps(vector)}\n")
    append(lake, first, end, **{SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: str(epoch)})
