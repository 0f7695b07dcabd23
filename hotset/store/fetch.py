"""Records from Kafka in parts that can be kept: of one partition each, and of a size worth a file.

A drain gives partitions as they come; a part says for its range `[start, end)` that these are all visible
records of it. Little is held back, whatever the ranges are. The file must not know where parts are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from foundation.deadline import Deadline
from hotset.drain import drain
from hotset.kafka import DrainLimits, Isolation, KafkaClient, OffsetRange, Wanted, require_topic_id
from hotset.store.housekeeping import CHUNK_BYTES, CHUNK_ROWS

T = TypeVar("T")

_HELD_BACK_BYTES: Final = 4 * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A topic and how its records are read.

    `starts` has the offset of each partition below which whoever reads this topic asks for nothing.
    `epochs` has the epoch of each partition's leader when the ranges were planned, where it is known.
    `times_ms` are the first and the last timestamp of records that are asked for, if there are such: kept
    chunks of other times are not looked at. `saw` is shown each batch that Kafka gave. Values are read
    always; `needs_values` says whether they are asked for when all that they tell is decoded already. Who
    reads `may_store_later` is a process that goes on, or ends as processes should.
    """

    client: KafkaClient = field(repr=False)
    topic: str
    topic_id: str
    isolation: Isolation
    starts: Mapping[int, int]
    epochs: Mapping[int, int]
    limits: DrainLimits
    has_keys: bool
    has_headers: bool
    needs_values: bool
    deadline: Deadline
    guard: Callable[[], None] = field(repr=False)
    saw: Callable[[pa.RecordBatch], None] = field(repr=False)
    times_ms: tuple[int | None, int | None] = (None, None)
    may_store_later: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        """What is wanted of each record beside what its value tells, as a drain names it."""
        values = ("value",) if self.needs_values else ()
        keys = ("key",) if self.has_keys else ()
        headers = ("timestamp_type", "headers") if self.has_headers else ()
        return (*values, *keys, *headers)

    @property
    def schema(self) -> pa.Schema:
        """The schema of what is read."""
        wanted = Wanted(
            self.topic,
            (),
            self.isolation,
            self.limits,
            has_keys=self.has_keys,
            has_headers=self.has_headers,
        )
        return wanted.schema


@dataclass(frozen=True, slots=True)
class Part:
    """All visible records of a range of one partition."""

    range: OffsetRange
    batch: pa.RecordBatch = field(repr=False)


@dataclass(slots=True)
class _Pending:
    """Records of one partition that are not handed out yet."""

    start: int
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.size_bytes += batch.nbytes

    def take(self, partition: int, end: int, schema: pa.Schema) -> Part:
        whole = pa.concat_batches(self.batches) if self.batches else _nothing(schema)
        part = Part(OffsetRange(partition, self.start, end), whole)
        self.start, self.batches, self.rows, self.size_bytes = end, [], 0, 0
        return part


def fetch_parts(
    source: TopicSource,
    ranges: Sequence[OffsetRange],
    decode: Callable[[Sequence[Part]], list[T]],
    note_ms: Callable[[float], None],
) -> Iterator[list[tuple[Part, T]]]:
    """Read ranges from Kafka, at most one of each partition, some parts at a time.

    The topic's identity has been checked after reading each part. What a part is decoded to
    comes with it, because that is done while the cluster answers.

    Args:
        source: The topic.
        ranges: What to read.
        decode: Makes something of each part.
        note_ms: Told of milliseconds that were spent, on decoding also.

    Raises:
        HotsetError: The ranges could not be read to their end; see `drain_ranges`.
    """
    pending = {r.partition: _Pending(r.start) for r in ranges}
    schema: pa.Schema | None = None
    batches = drain(
        source.client,
        source.topic,
        tuple(ranges),
        source.isolation,
        source.deadline,
        source.limits,
        has_keys=source.has_keys,
        leader_epoch=source.epochs,
        has_headers=source.has_headers,
        guard=source.guard,
        identity=source.topic_id,
    )
    began_s = time.monotonic()
    for batch in batches:
        schema = batch.schema
        source.saw(batch)
        for partition, records in _by_partition(batch):
            pending[partition].add(records)
        full = _full(pending)
        if full:
            ends = {p: pending[p].batches[-1].column("offset")[-1].as_py() + 1 for p in full}
            parts = [pending[partition].take(partition, end, schema) for partition, end in ends.items()]
            found = _checked(source, parts, decode)
            note_ms((time.monotonic() - began_s) * 1000)
            yield found
            began_s = time.monotonic()
    schema = schema or source.schema
    left = [r for r in ranges if pending[r.partition].start < r.end]
    found = _checked(source, [pending[r.partition].take(r.partition, r.end, schema) for r in left], decode)
    note_ms((time.monotonic() - began_s) * 1000)
    yield found


def _checked(
    source: TopicSource, parts: Sequence[Part], decode: Callable[[Sequence[Part]], list[T]]
) -> list[tuple[Part, T]]:
    """Decode parts while the cluster says whether the topic is still the one that they are of."""
    decoded: Future[list[T]] = Future()

    def work() -> None:
        try:
            decoded.set_result(decode(parts))
        except BaseException as exc:  # noqa: BLE001 - raised below, unless the topic explains it
            decoded.set_exception(exc)

    # Offsets of a topic that was recreated meanwhile mean other records.
    require_topic_id(source.client, source.topic, source.topic_id, source.deadline, work)
    return list(zip(parts, decoded.result(), strict=True))


def _full(pending: Mapping[int, _Pending]) -> list[int]:
    full = [p for p, each in pending.items() if each.rows >= CHUNK_ROWS or each.size_bytes >= CHUNK_BYTES]
    held_back = sum(each.size_bytes for p, each in pending.items() if p not in full)
    if held_back > _HELD_BACK_BYTES:
        full += [p for p, each in pending.items() if p not in full and each.rows]
    return full


def _by_partition(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    partitions = batch.column("partition")
    found = pc.unique(partitions).to_pylist()
    if len(found) == 1:
        yield found[0], batch
        return
    for partition in found:
        yield partition, batch.filter(pc.equal(partitions, partition))


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
