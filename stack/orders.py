"""The table, the topic and the stream of orders that the demo and the benchmarks are about.

One place makes them, so that what is shown and what is measured have the same rows. It must not
know how orders are queried or frozen; it creates, produces, and keeps count of acknowledgements.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

import pyarrow as pa
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.errors import StackError

NAMESPACE: Final = "lake"
TABLE: Final = "lake.orders"
TOPIC: Final = "orders"
PARTITIONS: Final = 4

SCHEMA: Final = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer", pa.string()),
        pa.field("region", pa.string()),
        pa.field("amount", pa.float64()),
        pa.field("items", pa.int32()),
        pa.field("placed_at", pa.timestamp("us", tz="UTC")),
        pa.field("note", pa.string()),
    ]
)

_REGIONS: Final = ("north", "east", "south", "west")
_NOTES: Final = (None, "leave at the door", "ring twice", "a gift")
_SEND_DEADLINE_S: Final = 30.0


def order(order_id: int, placed_at: datetime | None = None) -> dict[str, Any]:
    """Return the order of that number: always the same one, but for its time (now by default)."""
    when = datetime.now(UTC) if placed_at is None else placed_at
    return {
        "order_id": order_id,
        "customer": f"customer-{order_id * 31 % 997:03d}",
        "region": _REGIONS[order_id * 7 % 11 % len(_REGIONS)],
        "amount": order_id * 7919 % 50_000 / 100,
        "items": order_id % 5 + 1,
        "placed_at": when.isoformat(timespec="microseconds"),
        "note": _NOTES[order_id % len(_NOTES)],
    }


def encode(record: Mapping[str, Any]) -> bytes:
    """Return an order as the value of a Kafka record."""
    return json.dumps(record, separators=(",", ":")).encode()


def create_topic(bootstrap: str, topic: str = TOPIC, partitions: int = PARTITIONS) -> None:
    """Create a topic.

    Raises:
        KafkaException: It exists, or the broker refused or did not answer.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result(30)


def create_table(properties: Mapping[str, str], table: str = TABLE) -> Any:
    """Create the empty Iceberg table, as its owner would, and return it.

    Args:
        properties: pyiceberg's catalog properties.
        table: Namespace and name.

    Raises:
        Exception: pyiceberg's own, if it exists or the catalog refuses.
    """
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog(NAMESPACE, **properties)
    catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
    return catalog.create_table(table, schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What Kafka said about one record, and how long it took to say so."""

    partition: int
    offset: int
    elapsed_ms: float
    at_s: float


class OrderStream:
    """A producer that sends orders at a steady rate, and can be handed one more by anyone.

    It is the only writer of its topic and is idempotent, so the offsets that are acknowledged count
    up from zero without a hole. That is checked at every acknowledgement, because whoever compares
    an answer with `acknowledged` relies on it.
    """

    def __init__(self, bootstrap: str, rate_per_s: float, topic: str = TOPIC) -> None:
        """Describe a stream; use `start`."""
        self._topic = topic
        self._rate_per_s = rate_per_s
        self._failure: str | None = None
        self._next_id = 1
        self._ends: dict[int, int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orders", daemon=True)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, "log_level": 0}
        )

    @classmethod
    def start(cls, bootstrap: str, rate_per_s: float, topic: str = TOPIC) -> Self:
        """Begin to produce.

        Raises:
            KafkaException: The producer could not be made.
        """
        stream = cls(bootstrap, rate_per_s, topic)
        stream._thread.start()
        return stream

    def acknowledged(self) -> dict[int, int]:
        """Return how many records of each partition Kafka has acknowledged.

        Raises:
            StackError: A record was refused, or an offset was not the next one.
        """
        if self._failure is not None:
            raise StackError(f"the stream of orders is broken: {self._failure}")
        return dict(self._ends)

    def send(self, record: Mapping[str, Any]) -> Acknowledged:
        """Produce one record and wait until Kafka has acknowledged it.

        Raises:
            StackError: It was refused, or not acknowledged in time.
        """
        answered = threading.Event()
        found: list[Acknowledged] = []
        began_s = time.monotonic()

        def note(error: KafkaError | None, message: Any) -> None:
            self._note(error, message)
            if error is None:
                at_s = time.monotonic()
                elapsed_ms = (at_s - began_s) * 1000
                found.append(Acknowledged(message.partition(), message.offset(), elapsed_ms, at_s))
            answered.set()

        self._produce(record, note)
        # The stream's thread alone polls: two would hand out acknowledgements in any order.
        if not answered.wait(_SEND_DEADLINE_S):
            raise StackError("Kafka did not acknowledge a record in time")
        if not found:
            raise StackError(f"Kafka refused a record: {self._failure}")
        return found[0]

    def stop(self, deadline_s: float = 5.0) -> int:
        """Stop producing and wait for what is under way.

        Returns:
            Records that were still not acknowledged at the deadline.
        """
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(deadline_s)
        return int(self._producer.flush(deadline_s))

    def _run(self) -> None:
        began_s = time.monotonic()
        while not self._stopping.is_set():
            due = int((time.monotonic() - began_s) * self._rate_per_s) + 1
            while self._next_id <= due:
                self._produce(order(self._next_id), self._note)
                self._next_id += 1
            self._producer.poll(0.01)

    def _produce(self, record: Mapping[str, Any], note: Callable[[KafkaError | None, Any], None]) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, encode(record), key=str(record["customer"]), on_delivery=note
                )
                return
            except BufferError:  # The queue is full: let acknowledgements make room.
                self._producer.poll(0.1)

    def _note(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._failure = str(error)
            return
        partition, offset = message.partition(), message.offset()
        if offset != self._ends.get(partition, 0):
            self._failure = f"partition {partition}: offset {offset} after {self._ends.get(partition)}"
        self._ends[partition] = offset + 1
