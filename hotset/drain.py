"""Read exact offset ranges of a topic into Arrow columns of raw bytes.

A range is done when the consumer's *position* has reached its end, by a
record, by a control record or by the end of the log; never because a poll came
back empty and never by counting, since control and aborted records occupy
offsets too. Anything else raises. The file does not look inside a value.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from hotset.client import KafkaClient
from hotset.deadline import Deadline
from hotset.errors import (
    HotReadTimeoutError,
    HotsetError,
    KafkaProtocolError,
    KafkaUnavailableError,
    OffsetOutOfRangeError,
)
from hotset.offsets import Isolation, OffsetRange
from hotset.translate import GROUP_REFUSED, PARTITION_EOF, TRANSIENT, translate

_POLL_RECORDS: Final = 1000
_POLL_S: Final = 0.02

# A consumer is not told of a topic that is gone or denied to it: its partitions fall silent.
_SILENCE_MS: Final = 2000

RAW_SCHEMA: Final = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("value", pa.binary()),
    ]
)
_KEY: Final = (pa.field("key", pa.binary()),)
_HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
HEADERS_TYPE: Final = pa.list_(pa.field("element", _HEADER, nullable=False))
_HEADERS: Final = (
    # As the protocol numbers them: 0 for the producer's time, 1 for the broker's.
    pa.field("timestamp_type", pa.int32()),
    pa.field("headers", HEADERS_TYPE, nullable=False),
)
KEYED_SCHEMA: Final = pa.schema([*RAW_SCHEMA, *_KEY])


@dataclass(frozen=True, slots=True)
class DrainLimits:
    """Bounds of one drain.

    Attributes:
        chunk_rows: Records per chunk handed out, at most.
        chunk_bytes: Value bytes per chunk handed out, about at most.
        no_progress_ms: Longest wait without any position moving.
    """

    chunk_rows: int = 65536
    chunk_bytes: int = 64 * 1024 * 1024
    no_progress_ms: int = 30_000


@dataclass(slots=True)
class _Columns:
    """Records gathered so far, column by column."""

    has_keys: bool
    has_headers: bool
    partition: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    timestamp_ms: list[int] = field(default_factory=list)
    value: list[bytes | None] = field(default_factory=list)
    key: list[bytes | None] = field(default_factory=list)
    timestamp_type: list[int | None] = field(default_factory=list)
    headers: list[list[dict[str, Any]]] = field(default_factory=list)
    value_bytes: int = 0

    def add(self, message: Any) -> None:
        value = message.value()
        self.partition.append(message.partition())
        self.offset.append(message.offset())
        kind, timestamp_ms = message.timestamp()
        self.timestamp_ms.append(timestamp_ms)
        self.value.append(value)
        self.value_bytes += len(value) if value is not None else 0
        if self.has_keys:
            self.key.append(message.key())
        if self.has_headers:
            self.timestamp_type.append(kind - 1 if kind else None)
            self.headers.append([{"key": k, "value": v} for k, v in message.headers() or ()])

    def take(self) -> pa.RecordBatch:
        arrays = [
            pa.array(self.partition, pa.int32()),
            pa.array(self.offset, pa.int64()),
            pa.array(self.timestamp_ms, pa.int64()),
            pa.array(self.value, pa.binary()),
        ]
        fields = [*RAW_SCHEMA]
        if self.has_keys:
            arrays.append(pa.array(self.key, pa.binary()))
            fields.extend(_KEY)
        if self.has_headers:
            arrays.append(pa.array(self.timestamp_type, pa.int32()))
            arrays.append(pa.array(self.headers, HEADERS_TYPE))
            fields.extend(_HEADERS)
        self.__init__(self.has_keys, self.has_headers)  # type: ignore[misc]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def drain(
    client: KafkaClient,
    topic: str,
    ranges: tuple[OffsetRange, ...],
    isolation: Isolation,
    deadline: Deadline,
    limits: DrainLimits = DrainLimits(),
    *,
    has_keys: bool = False,
    leader_epoch: Mapping[int, int] = MappingProxyType({}),
    has_headers: bool = False,
    guard: Callable[[], None] = lambda: None,
) -> Iterator[pa.RecordBatch]:
    """Yield the visible records of the ranges, each exactly once, as `RAW_SCHEMA` batches.

    Records of one partition come in offset order; partitions interleave.

    Args:
        client: The cluster to read.
        topic: Topic name.
        ranges: At most one range per partition; empty ones are skipped.
        isolation: Which transactional records are visible.
        deadline: When to give up altogether.
        limits: Sizes of chunks, and the longest wait without progress.
        has_keys: Whether the batches have the records' keys too (`KEYED_SCHEMA`).
        leader_epoch: Partition to epoch of the leader when the ranges were planned, where known.
        has_headers: Whether they also have headers and timestamp types.
        guard: Called often while waiting; what it raises ends the read.

    Raises:
        OffsetOutOfRangeError: Kafka no longer holds part of a range.
        TopicChangedError, TopicNotFoundError: The topic was replaced or deleted.
        LogTruncatedError: The log was cut back below the start of a range since it was planned.
        HotReadTimeoutError: A range was not finished in time.
        KafkaAccessError, KafkaUnavailableError, KafkaProtocolError: The cluster refused,
            went away or sent what cannot be trusted.
    """
    wanted = tuple(r for r in ranges if not r.is_empty)
    if not wanted:
        return
    consumer = client.consume(topic, wanted, isolation, leader_epoch)
    try:
        yield from _Drain(client, consumer, topic, wanted, deadline, limits).chunks(
            _Columns(has_keys, has_headers), guard
        )
    finally:
        consumer.close()


class _Drain:
    """One pass over a set of ranges; holds how far each partition has come."""

    def __init__(
        self,
        client: KafkaClient,
        consumer: Any,
        topic: str,
        ranges: tuple[OffsetRange, ...],
        deadline: Deadline,
        limits: DrainLimits,
    ) -> None:
        self._client = client
        self._consumer = consumer
        self._topic = topic
        self._deadline = deadline
        self._limits = limits
        self._ends = {r.partition: r.end for r in ranges}
        self._next = {r.partition: r.start for r in ranges}
        self._open = set(self._ends)
        self._moved_at_s = time.monotonic()
        self._ask_after_ms = _SILENCE_MS

    def chunks(self, columns: _Columns, guard: Callable[[], None]) -> Iterator[pa.RecordBatch]:
        while self._open:
            guard()
            messages = self._consumer.consume(_POLL_RECORDS, self._wait_s())
            for message in messages:
                self._take(message, columns)
            if len(messages) < _POLL_RECORDS:
                self._note_positions()
            if (
                len(columns.offset) >= self._limits.chunk_rows
                or columns.value_bytes >= self._limits.chunk_bytes
            ):
                yield columns.take()
                self._moved_at_s = time.monotonic()  # whoever took the chunk had the time since
            if self._open:
                self._require_time()
        if columns.offset:
            yield columns.take()

    def _wait_s(self) -> float:
        # consume() waits for a full batch or its whole timeout, so near the end of the
        # ranges it must not be asked to wait for records that will never come.
        missing = sum(self._ends[p] - self._next[p] for p in self._open)
        return min(_POLL_S, self._deadline.remaining_s) if missing >= _POLL_RECORDS else 0.002

    def _take(self, message: Any, columns: _Columns) -> None:
        error = message.error()
        if error is not None:
            self._take_event(message, error)
            return
        partition, offset = message.partition(), message.offset()
        if partition not in self._open:
            return
        if offset < self._next[partition]:
            raise KafkaProtocolError(
                f"topic {self._topic!r} partition {partition} delivered offset {offset} again "
                f"(expected {self._next[partition]} or later); ask again",
                topic=self._topic,
                partition=partition,
            )
        if offset < self._ends[partition]:
            columns.add(message)
        self._advance(partition, offset + 1)

    def _take_event(self, message: Any, error: Any) -> None:
        partition = message.partition()
        if error.code() == PARTITION_EOF:
            if partition in self._open:
                self._advance(partition, message.offset())
            return
        if error.code() in TRANSIENT or error.code() == GROUP_REFUSED:
            return
        cause = translate(error, doing=f"reading topic {self._topic!r} partition {partition}")
        if isinstance(cause, OffsetOutOfRangeError):
            cause = OffsetOutOfRangeError(
                f"topic {self._topic!r} partition {partition} no longer holds offset "
                f"{self._next.get(partition)} of the planned range ending at {self._ends.get(partition)}; "
                "ask again: a new cut takes what is left",
                topic=self._topic,
                partition=partition,
                start=self._next.get(partition),
                end=self._ends.get(partition),
            )
        raise cause

    def _note_positions(self) -> None:
        # Only the position moves over control records, which are never delivered.
        assigned = [tp for tp in self._consumer.assignment() if tp.partition in self._open]
        for position in self._consumer.position(assigned):
            if position.offset > self._next[position.partition]:
                self._advance(position.partition, position.offset)

    def _advance(self, partition: int, next_offset: int) -> None:
        if next_offset > self._next[partition]:
            self._next[partition] = next_offset
            self._moved_at_s = time.monotonic()
        if next_offset >= self._ends[partition]:
            self._open.discard(partition)

    def _require_time(self) -> None:
        waited_ms = (time.monotonic() - self._moved_at_s) * 1000
        if self._deadline.has_passed or waited_ms >= self._limits.no_progress_ms:
            raise self._too_late(waited_ms)
        if waited_ms < _SILENCE_MS:
            self._ask_after_ms = _SILENCE_MS
        elif waited_ms >= self._ask_after_ms:
            self._ask_after_ms += _SILENCE_MS
            self._require_topic()

    def _require_topic(self) -> None:
        with contextlib.suppress(KafkaUnavailableError):  # then it is not known, and waiting may help
            at_most_ms = min(_SILENCE_MS, int(self._deadline.remaining_s * 1000))
            self._client.describe(self._topic, Deadline.after_ms(at_most_ms))

    def _too_late(self, waited_ms: float) -> HotsetError:
        left = ", ".join(f"{p}[{self._next[p]},{self._ends[p]})" for p in sorted(self._open))
        reason = (
            f"{self._deadline.budget_ms} ms were not enough"
            if self._deadline.has_passed
            else f"nothing arrived for {waited_ms:.0f} ms"
        )
        return HotReadTimeoutError(
            f"topic {self._topic!r} was not read to the end of the planned ranges: {reason}; "
            f"left: {left}; check the brokers or raise readTimeoutMs",
            topic=self._topic,
            left=left,
        )
