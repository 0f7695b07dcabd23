"""What all benchmarks share: services of their own, rows, clocks, and one form of output.

A benchmark has a broker, a catalog and tables that nobody else uses, and removes them at its end.
This file must not know what is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import math
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import KafkaError, Producer

from coldset.write.data_writer import write_files
from federation.cut.take import take_cut
from federation.options.secrets import resolve
from federation.options.table_definition import merge_options
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from pipeline.freeze import Staged, commit
from stack import KafkaBroker
from stack.gateway import local_catalog
from stack.java import ROOT
from stack.orders import NAMESPACE, TOPIC, create_table, create_topic, encode, order

_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
_PACKAGES: Final = ("confluent-kafka", "duckdb", "pyarrow", "pyiceberg", "pyspark")


@dataclass(slots=True)
class Report:
    """Prints cases as they are measured, one JSON object a line; `failed` counts missed targets."""

    failed: int = 0
    lines: list[dict[str, Any]] = field(default_factory=list)

    def case(
        self, case: str, value: float, unit: str, *, at_least: float | None = None, **extra: object
    ) -> None:
        """Print one result; `at_least` is its target, if it has one."""
        ok = None if at_least is None else value >= at_least
        self.failed += ok is False
        line = {
            "case": case,
            "value": round(value, 3),
            "unit": unit,
            "target": at_least,
            "ok": ok,
            **extra,
        }
        self.lines.append(line)
        print(json.dumps(line), flush=True)


@dataclass(frozen=True, slots=True)
class Lab:
    """One broker, one topic, one catalog; tables are added by name."""

    folder: Path
    bootstrap: str
    catalog: dict[str, str]
    _producer: Producer = field(repr=False)

    def add_table(self, table: str) -> None:
        """Create an empty table of orders, filled from the topic."""
        create_table(self.catalog, table)

    def options(self, table: str, **options: str) -> dict[str, str]:
        """Return merged read options of a table."""
        return merge_options(
            table,
            {
                "kafka.bootstrap.servers": self.bootstrap,
                "subscribe": TOPIC,
                "catalog.name": NAMESPACE,
                **{f"catalog.{key}": value for key, value in self.catalog.items()},
                **options,
            },
            {},
        )

    def produce(self, first: int, count: int) -> None:
        """Produce that many orders and wait until all are acknowledged."""
        failures: list[KafkaError] = []

        def note(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        for number in range(first, first + count):
            record = order(number, _EPOCH + timedelta(milliseconds=number))
            while True:
                try:
                    self._producer.produce(TOPIC, encode(record), key=record["customer"], on_delivery=note)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            if number % 1000 == 0:
                self._producer.poll(0)
        if self._producer.flush(120) or failures:
            raise RuntimeError(f"records were not acknowledged: {failures[:1]}")

    def send(self, number: int) -> float:
        """Produce one order and return the moment at which its acknowledgement came (monotonic seconds)."""
        acknowledged_s: list[float] = []

        def note(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                raise RuntimeError(f"Kafka refused a record: {error}")
            acknowledged_s.append(time.monotonic())

        record = order(number)
        self._producer.produce(TOPIC, encode(record), key=record["customer"], on_delivery=note)
        while not acknowledged_s:
            self._producer.poll(0.1)
        return acknowledged_s[0]

    def freeze(self, table: str) -> int:
        """Freeze what is hot, in this process instead of on Spark; the commit is the real one."""
        taken = take_cut(self.options(table))
        schema, properties = answer_schema(taken), resolve(taken.definition.catalog_properties)
        metadata = taken.pinned.layout
        files: list[Any] = []
        for split in plan_hot(taken, schema, spread=True):
            rows = pa.Table.from_batches(list(read_split(split)), schema=schema)
            files.extend(write_files(metadata, rows, properties))
        staged = Staged(taken, tuple(files), sum(file.record_count for file in files))
        commit(staged)
        return staged.rows


@contextlib.contextmanager
def open_folder(name: str) -> Iterator[Path]:
    """Make a folder that is removed at the end."""
    base = ROOT / "build" / "bench"
    base.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def open_lab(name: str, partitions: int = 4) -> Iterator[Lab]:
    """Start a broker with an empty topic, in a folder that is removed at the end."""
    with open_folder(name) as folder, KafkaBroker.start(folder / "broker") as broker:
        create_topic(broker.bootstrap, TOPIC, partitions)
        # No linger: a record that is waited for alone must not wait for company.
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 0})
        yield Lab(folder, broker.bootstrap, local_catalog(folder), producer)


def time_ms(action: Callable[[], object]) -> float:
    """Return how long one call takes."""
    began_s = time.perf_counter()
    action()
    return (time.perf_counter() - began_s) * 1000


def interleave(
    actions: Mapping[str, Callable[[], object]],
    runs: int,
    clock: Callable[[Callable[[], object]], float] = time_ms,
) -> dict[str, list[float]]:
    """Time the actions in turn, so that what disturbs the machine disturbs all; each runs once before.

    Args:
        actions: What to time, by name.
        runs: How often each is timed.
        clock: Calls an action and returns how long it took.

    Returns:
        What the clock said of each run, by name; milliseconds by default.
    """
    for action in actions.values():
        action()
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(runs):
        # Back and forth, so that nobody always comes after the same neighbour.
        names = list(actions) if turn % 2 == 0 else list(actions)[::-1]
        for name in names:
            taken[name].append(clock(actions[name]))
    return taken


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def note(text: str) -> None:
    """Say what is being done; on standard error, so that standard output is JSON only."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def machine(report: Report) -> None:
    """Print what the figures depend on."""
    versions: dict[str, Any] = {name: importlib.metadata.version(name) for name in _PACKAGES}
    load = round(os.getloadavg()[0], 2)
    report.case(
        "machine",
        os.cpu_count() or 0,
        "cores",
        system=platform.platform(terse=True),
        python=platform.python_version(),
        load_1min=load,
        kafka=_kafka_version(),
        **versions,
    )


def run(main: Callable[[Report, bool], None]) -> int:
    """Run one benchmark, or several, from the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Prints one JSON object per case on standard output.")
    parser.add_argument(
        "--small", action="store_true", help="tiny sizes: shows that it works, measures nothing"
    )
    parsed = parser.parse_args()
    report = Report()
    machine(report)
    try:
        main(report, parsed.small)
    except KeyboardInterrupt:
        return 130
    return 1 if report.failed else 0


def _kafka_version() -> str:
    jars = sorted((ROOT / "build" / "jars" / "kafka").glob("kafka-clients-*.jar"))
    return jars[0].stem.removeprefix("kafka-clients-") if jars else "unknown"
