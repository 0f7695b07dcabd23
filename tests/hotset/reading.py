"""Sending records with all they can have, and reading them whole, for tests of drains.

A record sent here was acknowledged, and a table read here is valid Arrow; what is in it is for the tests.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from importlib.metadata import files
from typing import Any

import pyarrow as pa
from confluent_kafka import Producer

from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.kafka.client import KafkaClient
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits, Wanted
from stack import KafkaBroker

COMMITTED = Isolation.READ_COMMITTED
LIMITS = DrainLimits()


def chunks_of(
    client: KafkaClient, topic: str, *ranges: OffsetRange, limits: DrainLimits = LIMITS, **how: bool
) -> Iterator[pa.RecordBatch]:
    return drain(client, topic, ranges, COMMITTED, Deadline.after_ms(60_000), limits, **how)


def everything(
    client: KafkaClient,
    topic: str,
    *ranges: OffsetRange,
    limits: DrainLimits = LIMITS,
    has_headers: bool = True,
) -> pa.Table:
    chunks = list(chunks_of(client, topic, *ranges, limits=limits, has_keys=True, has_headers=has_headers))
    for chunk in chunks:
        data = [chunk.column(name).drop_null() for name in ("value", "key")]
        size = sum(len(each) for column in data for each in column.to_pylist())
        assert chunk.num_rows <= limits.chunk_rows
        assert size <= limits.chunk_bytes or chunk.num_rows == 1
    schema = Wanted(topic, ranges, COMMITTED, limits, has_keys=True, has_headers=has_headers).schema
    table = pa.Table.from_batches(chunks, schema)
    table.validate(full=True)
    return table.sort_by([("partition", "ascending"), ("offset", "ascending")])


def send(broker: KafkaBroker, topic: str, records: list[dict[str, Any]], **config: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "linger.ms": 5, **config})
    failures: list[Any] = []

    def note(error: Any, _message: Any) -> None:
        failures.extend([error] if error is not None else [])

    for record in records:
        producer.produce(topic, **{"partition": 0, **record}, on_delivery=note)
    assert (producer.flush(60), failures) == (0, [])


def send_header_name(broker: KafkaBroker, topic: str, name: bytes) -> None:
    """Produce a record with a header whose name Python's client would not send."""
    [path] = [f for f in files("confluent-kafka") or () if f.match("confluent_kafka.libs/librdkafka*")]
    library = ctypes.CDLL(str(path.locate()))
    for function in ("conf_new", "new", "headers_new"):
        getattr(library, f"rd_kafka_{function}").restype = ctypes.c_void_p
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(conf, b"bootstrap.servers", broker.bootstrap.encode(), None, ctypes.c_size_t(0))
    producer = ctypes.c_void_p(library.rd_kafka_new(0, conf, None, ctypes.c_size_t(0)))
    headers = ctypes.c_void_p(library.rd_kafka_headers_new(ctypes.c_size_t(1)))
    library.rd_kafka_header_add(headers, name, ctypes.c_ssize_t(len(name)), b"x", ctypes.c_ssize_t(1))
    to_topic, to_partition, with_headers, end = 1, 3, 10, 0
    sent = (to_topic, topic.encode(), to_partition, ctypes.c_int32(0), with_headers, headers, end)
    assert library.rd_kafka_producev(producer, *sent) == 0
    assert library.rd_kafka_flush(producer, 60_000) == 0
    library.rd_kafka_destroy(producer)
