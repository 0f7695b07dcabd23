"""A Spark query whose commits a test writes itself, and what an answer says that it assumed.

A test may let the query leave out, repeat or lose what it likes. It must not know what is expected.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from federation.boundary import boundary_cache as cache
from federation.boundary.columns import topic_identity
from federation.boundary.evidence import settling
from tests.builders import Lake, produce
from tests.federation.query_checkpoint import QueryCheckpoint
from tests.transactions import transaction

ROWS = pa.schema([("seq", pa.int64())])
TIMES = ["record_times"]


class Query:
    """A Spark query as its checkpoint and its commits show it; what it commits is up to the test."""

    def __init__(self, lake: Lake) -> None:
        self._checkpoint = QueryCheckpoint(lake.directory / "checkpoint", {lake.topic: {0: 0}})
        self.lake = lake.having(checkpointLocation=str(self._checkpoint.folder))

    def commit(self, end: int, *seqs: int) -> None:
        """End an epoch at an offset of partition 0, with these rows."""
        append(self.lake, seqs, **self._checkpoint.end_epoch({self.lake.topic: {0: end}}))


def append(lake: Lake, seqs: tuple[int, ...], **summary: str) -> None:
    rows = pa.table({"seq": pa.array(seqs, pa.int64())}, schema=ROWS)
    lake.load().append(rows, snapshot_properties=summary)


def send(lake: Lake, *values: int | None) -> None:
    produce(lake.bootstrap, lake.topic, [None if value is None else {"seq": value} for value in values])


def transact(lake: Lake, *values: int, commits: bool) -> None:
    """A transaction, whose marker takes one offset more."""
    rows = [json.dumps({"seq": value}).encode() for value in values]
    with transaction(lake.bootstrap, lake.topic, rows, commits=commits):
        pass


def told(lake: Lake, **options: str) -> dict[str, Any]:
    scan = lake.open(**options).scan()
    scan.to_arrow()
    return scan.receipt.to_dict()


def assumed(lake: Lake, **options: str) -> list[str]:
    """What was assumed beside that the topic is the table's, which times show in all of these."""
    found = told(lake, **options)["assumed"]
    assert "record_times" in found
    return [name for name in found if name != "record_times"]


def expire(lake: Lake) -> None:
    """Take all commits but the last away, and what metadata files tell of them."""
    table = lake.load()
    with table.transaction() as change:
        change.set_properties(
            {
                "write.metadata.delete-after-commit.enabled": "true",
                "write.metadata.previous-versions-max": "1",
            }
        )
    old = [snapshot.snapshot_id for snapshot in lake.load().snapshots()][:-1]
    lake.load().maintenance.expire_snapshots().by_ids(old).commit()
    for number in range(3):
        with lake.load().transaction() as change:
            change.set_properties({"note": str(number)})
    forget()


def forget() -> None:
    """Forget what another process would not know."""
    cache._found.clear()
    topic_identity._older_seen.clear()
    settling._settled.clear()
    settling._counted.clear()
