"""The vocabulary of tests: topics, tables, records and commits, each made by one call.

Tests read as what happened to a table, so everything that is only plumbing (admin clients, catalog
properties, waiting for the broker) is here. Commits go through `pipeline.freeze.commit`, the real one;
only the reading and writing of files is done in this process instead of on Spark's executors.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from coldset.table.catalog import open_catalog
from coldset.write.data_writer import write_files
from federation.cut.take import TakenCut, take_cut
from federation.engine.run.answer import Answer
from federation.engine.run.query import run_query
from federation.options.config import Config
from federation.options.secrets import resolve
from federation.options.table_definition import merge_options
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from federation.table import FederatedTable, open_table
from hotset.kafka.offsets import OffsetRange
from pipeline.freeze import Staged, commit

HANG_S = 60.0

# What the journal's producers send: a record says who it is.
EVENTS = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("producer", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("txn", pa.string()),
    ]
)


@dataclass(frozen=True)
class Lake:
    """One federated table: its catalog, its Iceberg table and its topic."""

    bootstrap: str
    directory: Path
    table: str
    topic: str
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def catalog_properties(self) -> dict[str, str]:
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.directory}/catalog.db",
            "warehouse": self.directory.as_uri(),
        }

    @property
    def options(self) -> dict[str, str]:
        """Read options that name everything; what `load()` and `open_table` take."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": self.topic,
            "catalog.name": "lake",
            # Where there is a store, it is this lake's own.
            "hotStorePath": str(self.directory / "store"),
            **{f"catalog.{key}": value for key, value in self.catalog_properties.items()},
            **self.extra,
        }

    @property
    def catalog(self) -> Catalog:
        return open_catalog("lake", self.catalog_properties)

    def load(self) -> Table:
        """The Iceberg table as the catalog has it now."""
        return self.catalog.load_table(self.table)

    def merged(self, **options: str) -> dict[str, str]:
        return merge_options(self.table, {**self.options, **options}, {})

    def open(self, **options: str) -> FederatedTable:
        return open_table(self.table, {**self.options, **options}, config=Config())

    def sql(self, statement: str, **options: str) -> Answer:
        return run_query(statement, {self.table: self.merged(**options)})

    def having(self, **options: str) -> Lake:
        """The same lake with other read options in everything it does."""
        return replace(self, extra={**self.extra, **options})


@dataclass(frozen=True)
class RestLake(Lake):
    """A lake whose catalog answers over HTTP."""

    uri: str = ""
    timeout_ms: int = 60_000

    @property
    def catalog_properties(self) -> dict[str, str]:
        return {"type": "rest", "uri": self.uri, "rest.client.socket-timeout-ms": str(self.timeout_ms)}


def new_lake(
    bootstrap: str,
    directory: Path,
    *,
    partitions: int = 2,
    schema: pa.Schema = EVENTS,
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    **topic_config: str,
) -> Lake:
    """A catalog, a table and a topic of their own."""
    name = name or unique("events")
    made = Lake(bootstrap, directory, f"lake.{name}", name)
    make_table(made.catalog, made.table, schema, properties)
    if partitions:
        make_topic(bootstrap, name, partitions=partitions, **topic_config)
    return made


def unique(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def make_topic(bootstrap: str, name: str, *, partitions: int = 2, **config: str) -> str:
    client = admin(bootstrap)
    settings = {key.replace("_", "."): value for key, value in config.items()}

    def is_made() -> bool:
        try:
            client.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(HANG_S)
            return True
        except KafkaException:
            return False  # its earlier namesake is still being deleted

    wait_until(is_made, f"topic {name} to be made")
    wait_until(lambda: _partitions(client, name) == partitions, f"topic {name} to be seen")
    return name


def delete_topic(bootstrap: str, name: str) -> None:
    client = admin(bootstrap)
    client.delete_topics([name])[name].result(HANG_S)
    wait_until(lambda: _partitions(client, name) is None, f"topic {name} to be gone")


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    client = admin(bootstrap)
    client.create_partitions([NewPartitions(topic, total)])[topic].result(HANG_S)
    wait_until(lambda: _partitions(client, topic) == total, f"topic {topic} to have {total} partitions")


def delete_records(bootstrap: str, topic: str, before: Mapping[int, int]) -> None:
    """Move log starts up to the given offsets, as retention does."""
    wanted = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
    client = admin(bootstrap)  # Without a name of its own it would end before its answer comes.
    for future in client.delete_records(wanted).values():
        future.result(HANG_S)


def produce(
    bootstrap: str, topic: str, values: Iterable[Any], *, partition: int = 0, timestamp_ms: int = 0
) -> list[tuple[int, int]]:
    """Send values (bytes as they are, the rest as JSON) and return where each one landed."""
    bodies = (v if v is None or isinstance(v, bytes) else json.dumps(v).encode() for v in values)
    records = ((None, body, []) for body in bodies)
    return send(bootstrap, topic, records, partition=partition, timestamp_ms=timestamp_ms)


def send(
    bootstrap: str,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]],
    *,
    partition: int = 0,
    timestamp_ms: int = 0,
) -> list[tuple[int, int]]:
    """Send records of now, or of another time, each a key, a value and headers; return where each landed."""
    landed: list[tuple[int, int]] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1, "log_level": 0})

    def on_delivery(error: Any, message: Any) -> None:
        assert error is None, error
        landed.append((message.partition(), message.offset()))

    for key, value, headers in records:
        producer.produce(
            topic,
            value,
            key,
            partition=partition,
            on_delivery=on_delivery,
            headers=headers or None,
            timestamp=timestamp_ms,
        )
    assert producer.flush(HANG_S) == 0, "records were not acknowledged"
    return landed


def make_table(
    catalog: Catalog, name: str, schema: pa.Schema = EVENTS, properties: Mapping[str, str] | None = None
) -> Table:
    catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
    return catalog.create_table(name, schema=schema, properties=dict(properties or {}))


def in_version_3(lake: Lake) -> Lake:
    """The same lake, whose table, of which nothing is committed, is of format version 3 and has nanoseconds.

    pyiceberg makes and writes no such tables, but reads them.
    """
    made = lake.load()
    path = Path(made.metadata_location.removeprefix("file://"))
    told = json.loads(path.read_text("utf-8"))
    text = re.sub(
        r'"(timestamp(?:tz)?)"', r'"\1_ns"', json.dumps({**told, "format-version": 3, "next-row-id": 0})
    )
    path.with_name("v3.metadata.json").write_text(text, encoding="utf-8")
    lake.catalog.drop_table(lake.table)
    lake.catalog.register_table(lake.table, path.with_name("v3.metadata.json").as_uri())
    return lake


def stage_rows(taken: TakenCut) -> Staged:
    """Write the hot rows of a cut into data files, as the executors of a freeze do."""
    schema = answer_schema(taken)
    properties = resolve(taken.definition.catalog_properties)
    files: list[Any] = []
    for split in plan_hot(taken, schema, spread=True):
        rows = pa.Table.from_batches(list(read_split(replace(split, store=None))), schema=schema)
        if rows.num_rows:
            files.extend(write_files(taken.pinned.layout, rows, properties))
    return Staged(taken, tuple(files), sum(file.record_count for file in files))


def clip(taken: TakenCut, ends: Mapping[int, int]) -> TakenCut:
    """The same cut, ending earlier in some partitions."""
    ranges = tuple(
        OffsetRange(r.partition, r.start, max(r.start, min(r.end, ends.get(r.partition, r.end))))
        for r in taken.cut.ranges
    )
    return replace(taken, cut=replace(taken.cut, ranges=ranges))


def commit_until(lake: Lake, ends: Mapping[int, int] | None = None) -> int:
    """Freeze what is hot, up to the given end of each partition (all of it by default)."""
    return commit(stage_rows(clip(take_cut(lake.merged()), ends or {})))


def write_config(lake: Lake, path: Path, *, port: int | None = None, **gateway: str) -> Path:
    """Write a `kafkaiceberg.toml` for the command line and the gateway."""
    settings = {**({} if port is None else {"port": str(port)}), **gateway}
    lines = [
        f'[tables."{lake.table}"]',
        *(f"{key} = {json.dumps(value)}" for key, value in lake.options.items()),
        "[gateway]",
        *(f"{key} = {json.dumps(value)}" for key, value in settings.items()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def wait_until(is_met: Callable[[], bool], what: str, within_s: float = HANG_S) -> None:
    until = time.monotonic() + within_s
    while not is_met():
        assert time.monotonic() < until, f"waited {within_s:g} s in vain for {what}"
        time.sleep(0.02)


def _partitions(client: AdminClient, topic: str) -> int | None:
    described = client.describe_topics(TopicCollection([topic]))[topic]
    try:
        return len(described.result(HANG_S).partitions)
    except KafkaException:
        return None
