"""Which files a snapshot is made of, and which it has taken out, by what manifests and summaries say.

Writers differ in what they leave there: files without rows, summaries without counts.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from coldset.read.file_bounds import may_take_out_rows
from tests.coldset.tables import TABLE, make_catalog, read_now

SCHEMA = pa.schema([("id", pa.int32())])


def test_files_without_rows_are_files_like_others(tmp_path: Path) -> None:
    """Imports leave them, and what counts the files of a snapshot counts them, too."""
    catalog = make_catalog(tmp_path)
    two, none = (pa.table({"id": pa.array(ids, pa.int32())}) for ids in ([1, 2], []))
    catalog.create_table(TABLE, schema=SCHEMA).append(two)
    empty = tmp_path / "empty.parquet"
    pq.write_table(none, empty)
    catalog.load_table(TABLE).add_files([str(empty)])

    assert read_now(catalog) == two


@pytest.mark.parametrize(
    ("operation", "said", "may"),
    [
        (Operation.APPEND, {}, False),
        (Operation.DELETE, {}, True),
        (Operation.OVERWRITE, {"engine-name": "x"}, True),
        (Operation.DELETE, {"added-position-deletes": "2", "total-records": "9"}, False),
        (Operation.DELETE, {"deleted-data-files": "1", "deleted-records": "3"}, True),
        (Operation.REPLACE, {"deleted-data-files": "2", "deleted-records": "3", "added-records": "3"}, False),
        (Operation.REPLACE, {"deleted-data-files": "2", "deleted-records": "3", "added-records": "2"}, True),
        (Operation.REPLACE, {"deleted-data-files": "2"}, True),
    ],
)
def test_a_snapshot_that_counts_nothing_may_have_taken_out_rows(
    operation: Operation, said: dict[str, str], may: bool
) -> None:
    snapshot = Snapshot(
        snapshot_id=1, timestamp_ms=1, manifest_list="m.avro", summary=Summary(operation, **said)
    )

    assert may_take_out_rows(snapshot) is may


def test_a_table_of_format_version_1_is_read(tmp_path: Path) -> None:
    """Its list of manifests does not say that they are of data."""
    catalog = make_catalog(tmp_path)
    two = pa.table({"id": pa.array([1, 2], pa.int32())})
    table = catalog.create_table(TABLE, schema=SCHEMA, properties={"format-version": "1"})
    table.append(two)

    assert table.metadata.format_version == 1
    assert read_now(catalog) == two
