"""Where the network and the warehouse would be: a client library, a catalog and files made of a `World`.

Everything above these edges is the real code: pinning, walking, resolving, asking for bounds, deciding,
planning again, draining and reading. They answer as librdkafka, pyiceberg and a file store do, and each call
is one step of the question. Time does not pass by itself either: it moves where somebody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pyarrow as pa
from confluent_kafka import IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from coldset.errors import ColdReadError
from hotset.decode.decoded import Decoded
from hotset.kafka.offsets import Isolation
from tests.oracle.model.catalog import Catalog
from tests.oracle.model.run import Run
from tests.oracle.model.state import TOPIC, DataFile, World, row_of, topic_id

ROWS: Final = pa.schema([pa.field("id", pa.int64())])
_FETCHED: Final = 2  # offsets that one fetch brings, so that a range takes several


class Clock:
    """Stands for the module `time`: moves where somebody sleeps or waits, and nowhere else."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return int(self.now_s * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Edges:
    """The outside of the code under test, all of one run."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.run: Run

    def construct(self, cls: Any, settings: dict[str, Any]) -> Any:
        """Instead of librdkafka's classes."""
        return Consumer(self, settings) if cls.__name__ == "Consumer" else Admin(self)

    def load_catalog(self, name: str, **properties: str) -> Catalog:
        """Instead of pyiceberg's catalogs."""
        return Catalog(self, name)

    def plan_cold(
        self, pinned: Any, *, split_bytes: int, files: None = None, where: None = None
    ) -> tuple[Any, ...]:
        """Instead of reading manifests."""
        if pinned.snapshot is None:
            return ()
        number = pinned.snapshot.snapshot_id
        snap = self.run.step(f"lists the files of snapshot {number}", lambda world: world.snap(number))
        if snap is None:
            raise ColdReadError(f"the manifests of snapshot {number} are gone")
        return (SimpleNamespace(identifier=pinned.identifier, files=snap.files),)

    def read_cold(
        self, task: Any, columns: tuple[str, ...], _properties: Any, _done: Any = None
    ) -> Iterator[pa.RecordBatch]:
        """Instead of reading data files."""
        for file in task.files:
            is_there = partial(_has_file, file)
            if not self.run.step(f"reads data file {file.number}", is_there):
                raise ColdReadError(f"data file {file.number} is gone")
            yield pa.RecordBatch.from_arrays([pa.array(file.rows, pa.int64())], schema=ROWS)


def decode(payloads: pa.Array, schema: pa.Schema, headers: pa.Array | None = None) -> Decoded:
    """Instead of a value format: how values are decoded is no matter of steps."""
    values = [int(value) for value in payloads.to_pylist()]
    return Decoded(pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=schema))


class Admin:
    """librdkafka's admin client."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    def describe_topics(self, _topics: Any, **_limit: Any) -> dict[str, _Done]:
        topic, count = self._edges.run.step("describes the topic", lambda w: (w.topic, len(w.logs)))
        parts = [SimpleNamespace(id=p) for p in range(count)]
        return {TOPIC: _Done(SimpleNamespace(topic_id=topic_id(topic), partitions=parts))}

    def list_offsets(
        self, wanted: dict[TopicPartition, Any], *, isolation_level: Any, **_limit: Any
    ) -> dict[TopicPartition, _Done]:
        is_committed = isolation_level is IsolationLevel.READ_COMMITTED
        specs = list(wanted.values())
        latest = "last stable" if is_committed else "high watermarks"
        what = "log starts" if specs[0] is OffsetSpec.earliest() else latest
        offset = _OFFSETS[what]
        found = self._edges.run.step(
            f"asks for {what}",
            lambda w: tuple(offset(w, tp.partition) if tp.partition < len(w.logs) else -1 for tp in wanted),
        )
        answers = zip(wanted, found, strict=True)
        return {tp: _Done(SimpleNamespace(offset=o, leader_epoch=0)) for tp, o in answers}

    def poll(self, _timeout: float) -> int:
        return 0


_OFFSETS: Final[dict[str, Callable[[World, int], int]]] = {
    "log starts": lambda world, partition: world.logs[partition].start,
    "high watermarks": lambda world, partition: world.logs[partition].high_watermark,
    "last stable": World.last_stable,
}


class _Done(NamedTuple):
    """A future that is already there; a real one is a lock too, which costs more than the step."""

    value: Any

    def result(self, timeout: float) -> Any:
        return self.value


class Message(SimpleNamespace):
    """One record, or an event, as a consumer hands it out."""

    def error(self) -> KafkaError | None:
        return self.cause

    def partition(self) -> int:
        return self.place[0]

    def offset(self) -> int:
        return self.place[1]

    def value(self) -> bytes:
        return str(self.row).encode()

    def timestamp(self) -> tuple[int, int]:
        return (1, self.place[1])


class Consumer:
    """librdkafka's consumer: fetches a little at a time, and hides what the isolation hides."""

    def __init__(self, edges: Edges, settings: dict[str, Any]) -> None:
        self._edges = edges
        self._level = Isolation(settings["isolation.level"])
        self._reset = settings["auto.offset.reset"]
        self._position: dict[int, int] = {}

    def assign(self, places: list[TopicPartition]) -> None:
        self._position = {tp.partition: tp.offset for tp in places}

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, p) for p in self._position]

    def position(self, places: list[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(TOPIC, tp.partition, self._position[tp.partition]) for tp in places]

    def consume(self, _count: int, timeout: float) -> list[Message]:
        places = tuple(self._position.items())
        fetches = self._edges.run.step(
            "fetches from " + ", ".join(f"{p}@{o}" for p, o in places),
            lambda world: tuple(self._fetch(world, p, at) for p, at in places),
        )
        messages = []
        for (partition, at), (offsets, position) in zip(places, fetches, strict=True):
            if position is None:
                cause = KafkaError(KafkaError._AUTO_OFFSET_RESET)
                messages.append(Message(place=(partition, at), row=None, cause=cause))
                continue
            messages.extend(Message(place=(partition, o), row=row, cause=None) for o, row in offsets)
            self._position[partition] = position
        if not messages:
            self._edges.clock.sleep(10.0)
        return messages

    def pause(self, places: list[TopicPartition]) -> None:
        for tp in places:
            del self._position[tp.partition]

    def commit(self, offsets: list[TopicPartition], **_: Any) -> None:
        self._edges.run.wrote(f"offsets of the consumer group: {offsets[0].offset}")

    def close(self) -> None:
        self._position = {}

    def _fetch(self, world: World, partition: int, at: int) -> tuple[tuple[tuple[int, int], ...], int | None]:
        """Offsets with their records, and the position after them; None if the offset is out of range."""
        log = world.logs[partition] if partition < len(world.logs) else None
        if log is None or not log.start <= at <= log.high_watermark:
            if log is None or self._reset == "error":
                return (), None
            at = log.start if self._reset == "earliest" else log.high_watermark
        is_committed = self._level is Isolation.READ_COMMITTED
        readable = world.last_stable(partition) if is_committed else log.high_watermark
        to = max(at, min(at + _FETCHED, readable))
        seen = (o for o in range(at, to) if world.is_visible(world.topic, partition, o, self._level))
        return tuple((o, row_of(world.topic, partition, o)) for o in seen), to


def _has_file(file: DataFile, world: World) -> bool:
    return any(file in snap.files for snap in world.snaps)
