"""Rows that Spark has deleted with position deletes stay deleted, whichever columns are asked for.

pyiceberg cannot write such delete files, so Iceberg's own runtime on Spark writes them. A projection
of no columns must count the rows that are left, and not those that the data files hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.builders import Lake
from tests.conftest import MakeLake

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
ROWS = pa.schema([("id", pa.int64()), ("grp", pa.string())])
SCRIPT = """
import sys
from stack.spark_writer import open_session
session = open_session(sys.argv[1])
session.sql(sys.argv[2])
session.stop()
"""


def run_on_spark(lake: Lake, statement: str) -> None:
    argv = [sys.executable, "-c", SCRIPT, str(lake.directory / "catalog.db"), statement]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        argv, cwd=lake.directory, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_rows_under_position_deletes_are_not_read(lake: MakeLake) -> None:
    made = lake(schema=ROWS, properties={"write.delete.mode": "merge-on-read"}).having(read="cold")
    made.load().append(pa.table({"id": list(range(100)), "grp": ["a", "b"] * 50}, schema=ROWS))
    run_on_spark(made, f"DELETE FROM lake.{made.table} WHERE id % 10 = 3")
    left = [i for i in range(100) if i % 10 != 3]

    scan = made.open().scan(["id"])

    assert sorted(scan.to_arrow()["id"].to_pylist()) == left
    assert any(task.delete_files for task in made.load().scan().plan_files())
    assert made.open().scan([]).to_arrow().num_rows == len(left)
    counted = made.sql(f"SELECT count(*) AS n, sum(id) AS total FROM {made.table}").rows.to_pylist()
    assert [(row["n"], int(row["total"])) for row in counted] == [(len(left), sum(left))]
