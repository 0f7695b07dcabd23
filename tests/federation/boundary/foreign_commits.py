"""Commits of foreign writers, each with the mark that it leaves.

The rows say themselves which records they are.
"""

from __future__ import annotations

import json

import pyarrow as pa

from tests.builders import Lake, produce

ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])


def append(lake: Lake, starts: dict[int, int], ends: dict[int, int], **summary: str) -> None:
    """Put the records of `[start, end)` into the table, as any foreign writer may."""
    rows = [
        {"seq": 1000 * p + i, "kafka_partition": p, "kafka_offset": i}
        for p, end in ends.items()
        for i in range(starts.get(p, 0), end)
    ]
    lake.load().append(pa.Table.from_pylist(rows, schema=ROWS), snapshot_properties=summary)


def held(lake: Lake) -> dict[int, int]:
    """How far each partition is in the table, by its own columns."""
    rows = lake.load().scan().to_arrow().to_pylist()
    return {p: sum(row["kafka_partition"] == p for row in rows) for p in (0, 1)}


def commit_and_declare(lake: Lake, ends: dict[int, int]) -> None:
    append(lake, held(lake), ends)
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    partitions = {str(p): end for p, end in ends.items()}
    declared = json.dumps({"snapshot_id": snapshot.snapshot_id, "partitions": partitions})
    (lake.directory / f"declared-{snapshot.snapshot_id}.json").write_text(declared)


def declared(lake: Lake, snapshot_id: int) -> str:
    return (lake.directory / f"declared-{snapshot_id}.json").read_text()


def fill(lake: Lake, counts: dict[int, int]) -> None:
    for partition, count in counts.items():
        start = lake_ends(lake).get(partition, 0)
        values = [{"seq": 1000 * partition + start + i} for i in range(count)]
        produce(lake.bootstrap, lake.topic, values, partition=partition)


def lake_ends(lake: Lake) -> dict[int, int]:
    path = lake.directory / "ends.json"
    return {int(p): end for p, end in json.loads(path.read_text()).items()} if path.exists() else {}


def send(lake: Lake, counts: dict[int, int]) -> None:
    fill(lake, counts)
    ends = {p: lake_ends(lake).get(p, 0) + count for p, count in counts.items()}
    (lake.directory / "ends.json").write_text(json.dumps({**lake_ends(lake), **ends}))
