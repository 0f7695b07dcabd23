"""How fast Avro records of a topic become rows, against the deserializer that people call per message.

Both read the same records, which Confluent's serializer wrote and registered, from the same broker in
turn. The loop must not be worse than its users would write it: one deserializer, batches, no group.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from benchmarks.harness import Lab, Report, interleave, median, note, open_lab, run
from federation.cut.take import TakenCut, take_cut
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from stack.orders import PARTITIONS, SCHEMA, TABLE, TOPIC, order
from stack.registry import SchemaRegistryServer

_FIELDS: Final[dict[str, Any]] = {
    "order_id": "long",
    "customer": "string",
    "region": "string",
    "amount": "double",
    "items": "int",
    "placed_at": {"type": "long", "logicalType": "timestamp-micros"},
    "note": ["null", "string"],
}
_CONTEXT: Final = SerializationContext(TOPIC, MessageField.VALUE)
_FLUSH_DEADLINE_S: Final = 120.0
_AIM: Final = 15.0


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure both ways of reading the whole topic."""
    records, runs = (2_000, 1) if small else (400_000, 5)
    with (
        open_lab("avro-read", PARTITIONS) as lab,
        SchemaRegistryServer.start(lab.folder / "registry") as registry,
    ):
        lab.add_table(TABLE)
        note(f"avro_read: producing {records} records")
        size = _produce(lab, registry.url, records)
        options = lab.options(TABLE, valueFormat="avro", **{"schema.registry.url": registry.url})
        taken = take_cut(options)
        ways = {
            "all_columns": lambda: _expect(records, _read(taken, None)),
            "two_columns": lambda: _expect(records, _read(taken, ("order_id", "amount"))),
            "deserializer": lambda: _expect(records, _deserialize(lab, registry.url, records).num_rows),
        }
        note("avro_read: reading")
        times = interleave(ways, runs)
        rates = {name: records / median(found) * 1000 for name, found in times.items()}
        for name, rate in rates.items():
            report.case(f"avro_read_{name}", rate, "rows/s", runs=runs, records=records, record_bytes=size)
        ratio = rates["all_columns"] / rates["deserializer"]
        report.case("avro_read_against_deserializer", ratio, "ratio", aim=_AIM, runs=runs)


def _produce(lab: Lab, url: str, records: int) -> int:
    """Send orders as Confluent's serializer writes them, and return how long the last one is."""
    fields = [{"name": name, "type": kind} for name, kind in _FIELDS.items()]
    text = json.dumps({"type": "record", "name": "Order", "fields": fields})
    serialize = AvroSerializer(SchemaRegistryClient({"url": url}), text)
    producer = Producer({"bootstrap.servers": lab.bootstrap, "linger.ms": 50, "log_level": 0})
    value = b""
    for number in range(records):
        made = order(number, datetime.fromtimestamp(1_700_000_000 + number / 1000, UTC))
        made["placed_at"] = datetime.fromisoformat(made["placed_at"])
        value = serialize(made, _CONTEXT)
        producer.produce(TOPIC, value, key=made["customer"])
        if number % 1000 == 999:
            producer.flush()
    if producer.flush(_FLUSH_DEADLINE_S):
        raise RuntimeError("records were not acknowledged")
    return len(value)


def _read(taken: TakenCut, columns: tuple[str, ...] | None) -> int:
    schema = answer_schema(taken, columns)
    return sum(
        batch.num_rows for split in plan_hot(taken, schema, spread=False) for batch in read_split(split)
    )


def _deserialize(lab: Lab, url: str, records: int) -> pa.Table:
    """Read the topic as people do: consume in batches, deserialize each message, `from_pylist`."""
    deserialize = AvroDeserializer(SchemaRegistryClient({"url": url}))
    settings = {"bootstrap.servers": lab.bootstrap, "group.id": "plain", "enable.auto.commit": False}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    # Assigned, not subscribed: joining a group would cost the loop seconds.
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    tables, seen = [], 0
    try:
        while seen < records:
            messages = consumer.consume(min(1000, records - seen), 1.0)
            rows = [deserialize(message.value(), _CONTEXT) for message in messages]
            seen += len(rows)
            tables.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    finally:
        consumer.close()
    return pa.concat_tables(tables)


def _expect(records: int, found: int) -> None:
    if found != records:
        raise RuntimeError(f"{found} records were read, not {records}")


if __name__ == "__main__":
    sys.exit(run(main))
