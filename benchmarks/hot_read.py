"""How fast records of a topic become Arrow, in memory that is bounded, against what else reads them.

All ways read the same 212-byte records with nine fields in turn, from a real broker on the same cores, with
checksums where nothing else is said. Spark comes after the others, because its JVM would disturb them. It
must not tune the others worse than their users would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, TopicPartition

from benchmarks import flat
from benchmarks.harness import Report, interleave, median, note, open_folder, run, time_ms
from federation.cut.take import take_cut
from federation.options.table_definition import merge_options
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.kafka.client import connect
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits
from hotset.native.availability import PURE, native_available
from stack import KafkaBroker
from stack.java import ROOT
from stack.orders import create_topic
from stack.spark_writer import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC: Final = "flat"
LONG_TOPIC: Final = "long"
PARTITIONS: Final = 4
READ_MS: Final = 600_000
# The least that a ratio should be on two quiet cores. Printed and not asserted: it depends on the machine.
AIMS: Final = {
    "hot_read_drain_against_consume": 2.0,
    "hot_read_json_against_spark": 5.0,
}
MEMORY_AIM: Final = 1.1  # and at most this


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure each way of reading the whole topic."""
    records, runs, long = (16_384, 1, 16_384) if small else (819_200, 5, 10_010_624)
    with open_folder("hot-read") as folder, KafkaBroker.start(folder / "broker") as broker:
        note(f"hot_read: producing {records} records; records taken {native_available().reason}")
        create_topic(broker.bootstrap, TOPIC, PARTITIONS)
        flat.produce(broker.bootstrap, TOPIC, records, PARTITIONS)
        rates = _measure_python(broker.bootstrap, report, records, runs)
        _measure_spark(broker.bootstrap, report, records, runs, rates)
        note(f"hot_read: producing {long} records")
        create_topic(broker.bootstrap, LONG_TOPIC, PARTITIONS)
        flat.produce(broker.bootstrap, LONG_TOPIC, long, PARTITIONS)
        _measure_memory(broker.bootstrap, report, long)


def _measure_python(bootstrap: str, report: Report, records: int, runs: int) -> dict[str, float]:
    ways: dict[str, Callable[[], int]] = {
        "drain_native": lambda: _drain(bootstrap, records, pure=""),
        "drain_python": lambda: _drain(bootstrap, records, pure="1"),
        "consume": lambda: _consume(bootstrap, records, {"check.crcs": True, "fetch.queue.backoff.ms": 1}),
        "consume_without_checksums": lambda: _consume(bootstrap, records, {"fetch.queue.backoff.ms": 1}),
        "consume_as_it_comes": lambda: _consume(bootstrap, records, {}),
        "json_native": lambda: _decode(bootstrap),
    }
    note("hot_read: reading")
    times = interleave({name: _expecting(records, way) for name, way in ways.items()}, runs)
    rates = {name: records / median(found) * 1000 for name, found in times.items()}
    for name, rate in rates.items():
        report.case(f"hot_read_{name}", rate, "rows/s", runs=runs, records=records)
    drained = rates["drain_native"]
    _ratio(report, "hot_read_drain_against_consume", drained / rates["consume"])
    for name in ("consume_without_checksums", "consume_as_it_comes"):
        _ratio(report, f"hot_read_drain_against_{name}", drained / rates[name])
    return rates


def _measure_spark(
    bootstrap: str, report: Report, records: int, runs: int, rates: Mapping[str, float]
) -> None:
    note("hot_read: Spark")
    spark = open_session()
    try:
        frame = _from_json(spark, bootstrap)
        ways: dict[str, Callable[[], object]] = {
            "spark": lambda: frame.write.format("noop").mode("overwrite").save(),
            "spark_to_arrow": _expecting(records, lambda: frame.toArrow().num_rows),
        }
        for name, way in ways.items():
            way()  # The JVM compiles what it runs.
            rate = records / median([time_ms(way) for _ in range(runs)]) * 1000
            report.case(f"hot_read_{name}", rate, "rows/s", runs=runs, records=records)
            _ratio(report, f"hot_read_json_against_{name}", rates["json_native"] / rate)
    finally:
        spark.stop()


def _measure_memory(bootstrap: str, report: Report, records: int) -> None:
    bound = DrainLimits().memory_bytes
    for way in ("drained", "decoded"):
        for pure, name in (("", "native"), ("1", "python")):
            note(f"hot_read: memory of reading {records} records, {way}, {name}")
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.drain_memory", bootstrap, LONG_TOPIC, str(bound), way],
                cwd=ROOT,
                env={**os.environ, PURE: pure},
                stdout=subprocess.PIPE,
                check=True,
                text=True,
            )
            found = json.loads(done.stdout)
            if found["records"] != records:
                raise RuntimeError(f"{found['records']} records were read, not {records}")
            case, share = f"hot_read_peak_memory_{way}_{name}", found["bytes"] / bound
            aim = MEMORY_AIM
            report.case(case, share, "of maxDrainBytes", bytes=found["bytes"], bound=bound, aim=aim)
            note(f"{case:45} {share:6.2f}  of {bound} bytes, at most {aim}")


def _ratio(report: Report, case: str, value: float) -> None:
    aim = AIMS.get(case)
    report.case(case, value, "ratio", **({} if aim is None else {"aim": aim}))
    note(f"{case:45} {value:6.2f}  {'' if aim is None else f'aim {aim}'}")


def _expecting(records: int, way: Callable[[], int]) -> Callable[[], None]:
    def read() -> None:
        found = way()
        if found != records:
            raise RuntimeError(f"{found} records were read, not {records}")

    return read


def _drain(bootstrap: str, records: int, *, pure: str) -> int:
    os.environ[PURE] = pure
    client = connect({"bootstrap.servers": bootstrap})
    ranges = tuple(OffsetRange(p, 0, records // PARTITIONS) for p in range(PARTITIONS))
    batches = drain(client, TOPIC, ranges, Isolation.READ_COMMITTED, Deadline.after_ms(READ_MS))
    return sum(batch.num_rows for batch in batches)


def _decode(bootstrap: str) -> int:
    os.environ[PURE] = ""
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": TOPIC,
        "read": "hot",
        "schema": flat.DDL,
        "readTimeoutMs": str(READ_MS),
    }
    taken = take_cut(merge_options(TOPIC, options, {}))
    [split] = plan_hot(taken, answer_schema(taken), spread=False)
    return sum(batch.num_rows for batch in read_split(split))


def _consume(bootstrap: str, records: int, settings: Mapping[str, Any]) -> int:
    """Read values and offsets as people do, a thousand messages at a time."""
    given = {"bootstrap.servers": bootstrap, "group.id": "plain", "enable.auto.commit": False, **settings}
    consumer = Consumer(given)
    # Assigned, not subscribed: joining a group would cost it seconds.
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    seen = 0
    try:
        while seen < records:
            values, offsets = [], []
            for message in consumer.consume(min(1000, records - seen), 1.0):
                if message.error() is not None:
                    raise RuntimeError(str(message.error()))
                values.append(message.value())
                offsets.append(message.offset())
            seen += len(values)
    finally:
        consumer.close()
    return seen


def _from_json(spark: SparkSession, bootstrap: str) -> DataFrame:
    from pyspark.sql.functions import col, from_json

    records = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .load()
    )
    return records.select(from_json(col("value").cast("string"), flat.DDL).alias("v")).select("v.*")


if __name__ == "__main__":
    sys.exit(run(main))
