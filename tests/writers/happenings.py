"""What may happen to a topic and its table while a foreign writer is at work.

Tests of real writers share these words, whichever writer it is; none of them is about boundaries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table

from tests.builders import produce
from tests.fixtures.stages import StagedLake
from tests.transactions import transaction

ROWS = pa.schema([("seq", pa.int64())])


def send(lake: StagedLake, values: Iterable[Any], *, partition: int) -> None:
    """Send numbers as rows, other values as they are."""
    body = [{"seq": value} if isinstance(value, int) else value for value in values]
    produce(lake.bootstrap, lake.topic, body, partition=partition, timestamp_ms=lake.stage.time_ms())


def abort(lake: StagedLake, values: range, *, partition: int) -> None:
    _transact(lake, values, partition, commits=False)


def send_in_transaction(lake: StagedLake, values: range, *, partition: int) -> None:
    _transact(lake, values, partition, commits=True)


def _transact(lake: StagedLake, values: range, partition: int, *, commits: bool) -> None:
    rows, time_ms = [json.dumps({"seq": value}).encode() for value in values], lake.stage.time_ms()
    with transaction(
        lake.bootstrap, lake.topic, rows, partition=partition, commits=commits, timestamp_ms=time_ms
    ):
        pass


def compact(table: Table) -> None:
    """Write all rows anew into other files, in one commit, as a foreign engine's compaction does."""
    rows, files = table.scan().to_arrow(), [task.file for task in table.scan().plan_files()]
    with table.transaction() as changes, changes.update_snapshot().overwrite() as commit:
        for file in files:
            commit.delete_data_file(file)
        for file in _dataframe_to_data_files(table.metadata, rows, table.io):
            commit.append_data_file(file)
