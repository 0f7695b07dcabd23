"""Rows that Spark has deleted with position deletes stay deleted, whichever columns are asked for.

pyiceberg cannot write such delete files, so Iceberg's own runtime on Spark writes them. A projection
of no columns must count the rows that are left, and not those that the data files hold.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("id", pa.int64()), ("grp", pa.string())])


def test_rows_under_position_deletes_are_not_read(lake: MakeLake, spark_writer: StagedSpark) -> None:
    made = lake(schema=ROWS, properties={"write.delete.mode": "merge-on-read"}).having(read="cold")
    made.load().append(pa.table({"id": list(range(100)), "grp": ["a", "b"] * 50}, schema=ROWS))
    catalog_file = made.directory / "catalog.db"
    spark_writer.sql(catalog_file, f"DELETE FROM lake.{made.table} WHERE id % 10 = 3")
    left = [i for i in range(100) if i % 10 != 3]

    scan = made.open().scan(["id"])

    assert sorted(scan.to_arrow()["id"].to_pylist()) == left
    assert any(task.delete_files for task in made.load().scan().plan_files())
    assert made.open().scan([]).to_arrow().num_rows == len(left)
    counted = made.sql(f"SELECT count(*) AS n, sum(id) AS total FROM {made.table}").rows.to_pylist()
    assert [(row["n"], int(row["total"])) for row in counted] == [(len(left), sum(left))]
