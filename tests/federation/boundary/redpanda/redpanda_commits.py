"""Commits as Redpanda makes them, into a real table.

What its proxy tells of them is for the tests.
"""

from __future__ import annotations

import pyarrow as pa

from federation.boundary.redpanda.redpanda_resolver import REDPANDA_MARK
from federation.table import FederatedTable
from tests.builders import Lake

ROW = pa.schema([("seq", pa.int64())])


def commit(lake: Lake, first: int, end: int, **summary: str) -> int:
    """Append records of partition 0 as Redpanda would, and return the snapshot's id."""
    rows = pa.table({"seq": range(first, end)}, schema=ROW)
    lake.load().append(rows, snapshot_properties={REDPANDA_MARK: '{"offset":7}', **summary})
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def seqs(table: FederatedTable) -> list[int]:
    return sorted(table.scan().to_arrow()["seq"].to_pylist())
