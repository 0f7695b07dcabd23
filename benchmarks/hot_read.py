"""How fast records of a topic become rows, against the loop that people write.

All ways read the same records in turn: drained only, decoded whole, decoded in two columns, and by
the plain consumer. Spark comes last, because its JVM would disturb the others. It must not tune the
plain loop worse than its users would.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from benchmarks.harness import Lab, Report, interleave, median, note, open_lab, run, time_ms
from federation.plan import answer_schema, plan_hot
from federation.read import read_split
from federation.take import TakenCut, take_cut
from hotset import Deadline, connect, drain
from pipeline.session import open_session
from stack.orders import PARTITIONS, SCHEMA, TABLE, TOPIC

TWO_COLUMNS = ("order_id", "amount")
READ_DEADLINE_MS = 300_000


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure each way of reading the whole topic."""
    records, runs = (4_000, 1) if small else (400_000, 5)
    with open_lab("hot-read", PARTITIONS) as lab:
        lab.add_table(TABLE)
        note(f"hot_read: producing {records} records")
        lab.produce(1, records)
        taken = take_cut(lab.options(TABLE))
        ways = {
            "drain": lambda: _expect(records, _drain(lab, taken)),
            "decode_all_columns": lambda: _expect(records, _decode(taken, None)),
            "decode_two_columns": lambda: _expect(records, _decode(taken, TWO_COLUMNS)),
            "plain_consumer": lambda: _expect(records, _plain(lab, records).num_rows),
        }
        note("hot_read: reading")
        times = interleave(ways, runs)
        rates = {name: records / median(found) * 1000 for name, found in times.items()}
        for name, rate in rates.items():
            report.case(f"hot_read_{name}", rate, "rows/s", runs=runs, records=records)
        ratio = rates["decode_all_columns"] / rates["plain_consumer"]
        report.case("hot_read_against_plain_consumer", ratio, "ratio", runs=runs, records=records)
        note("hot_read: Spark")
        rate = records / median(_spark(lab, runs)) * 1000
        report.case("hot_read_spark", rate, "rows/s", runs=runs, records=records)


def _expect(records: int, found: int) -> None:
    if found != records:
        raise RuntimeError(f"{found} records were read, not {records}")


def _drain(lab: Lab, taken: TakenCut) -> int:
    client = connect({"bootstrap.servers": lab.bootstrap})
    deadline = Deadline.after_ms(READ_DEADLINE_MS)
    return sum(
        chunk.num_rows for chunk in drain(client, TOPIC, taken.cut.ranges, taken.cut.isolation, deadline)
    )


def _decode(taken: TakenCut, columns: tuple[str, ...] | None) -> int:
    schema = answer_schema(taken, columns)
    return sum(
        batch.num_rows for split in plan_hot(taken, schema, spread=False) for batch in read_split(split)
    )


def _plain(lab: Lab, records: int) -> pa.Table:
    """Read the topic as people do: consume in batches, `json.loads`, `from_pylist`."""
    settings: Mapping[str, Any] = {
        "bootstrap.servers": lab.bootstrap,
        "group.id": "plain",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(dict(settings))
    # Assigned, not subscribed: joining a group would cost the plain loop seconds.
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    tables, seen = [], 0
    try:
        while seen < records:
            rows = []
            for message in consumer.consume(min(1000, records - seen), 1.0):
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
                row = json.loads(message.value() or b"null")
                row["placed_at"] = datetime.fromisoformat(row["placed_at"])
                rows.append(row)
            seen += len(rows)
            tables.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    finally:
        consumer.close()
    return pa.concat_tables(tables)


def _spark(lab: Lab, runs: int) -> list[float]:
    options = lab.options(TABLE)
    path = options.pop("path")
    spark = open_session("benchmark hot_read")
    try:

        def read() -> None:
            frame = spark.read.format("kafkaiceberg").options(**options).load(path)
            frame.write.format("noop").mode("overwrite").save()

        read()  # The first one starts Python workers.
        return [time_ms(read) for _ in range(runs)]
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(run(main))
