"""Flat records of 212 bytes with nine fields, which hot reads are measured with.

A record of a number is always the same, and those of a run of numbers are made once and sent again and again,
so that producing takes little of the machine. It must not know how they are read.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import KafkaError, Producer

RECORD_BYTES: Final = 212
DDL: Final = (
    "id bigint, user string, item string, price double, quantity int, country string, is_gift boolean, "
    "placed_at timestamp, note string"
)
SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("user", pa.string()),
        pa.field("item", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("quantity", pa.int32()),
        pa.field("country", pa.string()),
        pa.field("is_gift", pa.bool_()),
        pa.field("placed_at", pa.timestamp("us", tz="UTC")),
        pa.field("note", pa.string()),
    ]
)
_DISTINCT: Final = 4096
_COUNTRIES: Final = ("DE", "FR", "JP", "US")


def record(number: int) -> dict[str, Any]:
    """Return the record of that number."""
    second = number % 3600
    made = {
        "id": 1_000_000_000 + number,
        "user": f"user-{number * 31 % 99_991:05d}",
        "item": f"item-{number * 7 % 9973:04d}",
        "price": number * 7919 % 100_000 / 100,
        "quantity": number % 9 + 1,
        "country": _COUNTRIES[number % 4],
        "is_gift": number % 2 == 0,
        "placed_at": f"2026-01-01T12:{second // 60:02d}:{second % 60:02d}.{number % 1_000_000:06d}+00:00",
        "note": "",
    }
    made["note"] = "n" * (RECORD_BYTES - len(encode(made)))
    return made


def encode(made: dict[str, Any]) -> bytes:
    """Return a record as the value of a Kafka record."""
    return json.dumps(made, separators=(",", ":")).encode()


def produce(bootstrap: str, topic: str, count: int, partitions: int) -> None:
    """Produce that many records, as many into each partition, and wait until all are acknowledged."""
    if count % (_DISTINCT * partitions):
        raise ValueError(f"{count} records do not spread evenly")
    values = [encode(record(number)) for number in range(_DISTINCT)]
    if {len(value) for value in values} != {RECORD_BYTES}:
        raise RuntimeError(f"a record has not {RECORD_BYTES} bytes")
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            failures.append(error)

    settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "linger.ms": 20, "log_level": 0}
    producer = Producer(settings | {"batch.size": 256 * 1024})
    for number in range(count):
        while True:
            try:
                partition = number // _DISTINCT % partitions
                producer.produce(topic, values[number % _DISTINCT], partition=partition, on_delivery=note)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    if producer.flush(120) or failures:
        raise RuntimeError(f"records were not acknowledged: {failures[:1]}")
