"""Tables of which an expired commit may have been another query's.

A partition that no commit tells of is empty only while all commits are known. Once some are gone for
good, a union that took it for empty would read its committed records from the topic once more.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.errors import BoundaryUnknownError
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.boundary.histories import expire, forget

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


def commit(lake: Lake, query: str, epoch: int, *, partition: int, seqs: range) -> None:
    """What a query of one partition leaves, in the table and in its checkpoint."""
    folder = lake.directory / query
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text(json.dumps({"id": query}))
    vector = json.dumps({lake.topic: {str(partition): seqs.stop}})
    (folder / "offsets" / str(epoch)).write_text(f"v1\n{{}}\n{vector}\n")
    rows = pa.Table.from_pylist([{"seq": seq} for seq in seqs], schema=ROWS)
    lake.load().append(rows, snapshot_properties={SPARK_QUERY_ID: query, SPARK_EPOCH_ID: str(epoch)})


def test_a_partition_that_only_expired_commits_told_of_is_an_error(lake: MakeLake) -> None:
    made = lake(partitions=3, schema=ROWS)
    for partition in (0, 1):
        produce(made.bootstrap, made.topic, [{"seq": seq} for seq in range(10)], partition=partition)
    commit(made, "idle", 0, partition=1, seqs=range(10))
    commit(made, "busy", 0, partition=0, seqs=range(4))
    expire(made)
    both = made.having(checkpointLocation=f"{made.directory / 'idle'},{made.directory / 'busy'}")
    # An older metadata file still tells of the commit.
    assert [r.start for r in both.open().cut().ranges] == [4, 10, 0]

    forget(made)
    commit(made, "busy", 1, partition=0, seqs=range(4, 6))
    expire(made)
    forget(made)
    with pytest.raises(BoundaryUnknownError, match=r"do not tell of partitions \[1\]"):
        both.open().cut()

    # Partition 2 never had a record: nothing needs to tell of it.
    commit(made, "idle", 1, partition=1, seqs=range(10, 10))
    assert [r.start for r in both.open().cut().ranges] == [6, 10, 0]


def test_the_first_snapshot_after_an_upgrade_of_the_format_is_not_the_tables_first(lake: MakeLake) -> None:
    made = lake(partitions=2, schema=ROWS, properties={"format-version": "1"})
    for partition in (0, 1):
        produce(made.bootstrap, made.topic, [{"seq": seq} for seq in range(10)], partition=partition)
    commit(made, "idle", 0, partition=1, seqs=range(10))
    with made.load().transaction() as change:
        change.upgrade_table_version(2)
    commit(made, "busy", 0, partition=0, seqs=range(4))
    assert [snapshot.sequence_number for snapshot in made.load().snapshots()][1:] == [1]
    expire(made)
    forget(made)

    both = made.having(checkpointLocation=f"{made.directory / 'idle'},{made.directory / 'busy'}")
    with pytest.raises(BoundaryUnknownError, match=r"do not tell of partitions \[1\]"):
        both.open().cut()
