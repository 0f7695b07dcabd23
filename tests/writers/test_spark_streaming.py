"""Tables that a real Spark Structured Streaming query fills, read exactly at each of its commits.

The marks that Spark leaves in summaries and checkpoints are Spark's own business; only Spark itself
can show that the resolver still understands them, across restarts and aborted transactions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from tests.builders import HANG_S, Lake, produce
from tests.conftest import MakeLake

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
ROWS = pa.schema([("seq", pa.int64())])


def stream_what_is_there(lake: Lake) -> None:
    argv = [sys.executable, "-m", "stack.spark_writer", lake.bootstrap, lake.topic]
    argv += [str(lake.directory / "catalog.db"), lake.table, str(lake.directory / "checkpoint")]
    argv += ["seq long", "60"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        argv, cwd=lake.directory, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def produce_transaction(lake: Lake, seqs: range, *, partition: int, commits: bool) -> None:
    producer = Producer({"bootstrap.servers": lake.bootstrap, "transactional.id": lake.topic, "log_level": 0})
    producer.init_transactions(HANG_S)
    producer.begin_transaction()
    for seq in seqs:
        producer.produce(lake.topic, json.dumps({"seq": seq}).encode(), partition=partition)
    producer.flush(HANG_S)
    if commits:
        producer.commit_transaction(HANG_S)
    else:
        producer.abort_transaction(HANG_S)


def test_the_union_is_exact_at_every_commit_of_a_spark_query(lake: MakeLake) -> None:
    made = lake(partitions=3, schema=ROWS)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(100)], partition=0)
    produce_transaction(made, range(900, 920), partition=1, commits=False)
    produce_transaction(made, range(100, 150), partition=1, commits=True)
    stream_what_is_there(made)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(150, 200)], partition=0)
    produce_transaction(made, range(920, 930), partition=1, commits=False)
    stream_what_is_there(made)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(200, 210)], partition=1)

    snapshots = made.load().snapshots()
    for snapshot in snapshots:
        scan = made.open(
            **{
                "checkpointLocation": str(made.directory / "checkpoint"),
                "snapshot-id": str(snapshot.snapshot_id),
            }
        ).scan()

        assert sorted(scan.to_arrow()["seq"].to_pylist()) == list(range(210))
        assert scan.receipt.boundary is not None
        assert scan.receipt.boundary["resolver"] == "spark"
    assert len(snapshots) > 3
