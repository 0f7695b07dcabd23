"""Read exact offset ranges of a topic into Arrow columns of raw bytes.

A range is done when the consumer's *position* has reached its end, by a
record, by a control record or by the end of the log; never because a poll came
back empty and never by counting, since control and aborted records occupy
offsets too. Anything else raises. The file does not look inside a value.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from foundation.deadline import Deadline
from hotset.drain.python_source import ConsumedSource
from hotset.drain.reader_threads import Guard, read_ahead
from hotset.errors import (
    HotReadTimeoutError,
    HotsetError,
    KafkaProtocolError,
    KafkaUnavailableError,
    OffsetOutOfRangeError,
)
from hotset.kafka import (
    DEFAULT_LIMITS,
    GROUP_REFUSED,
    PARTITION_EOF,
    TRANSIENT,
    DrainLimits,
    Event,
    Isolation,
    KafkaClient,
    OffsetRange,
    RecordSource,
    Wanted,
    translate,
)
from hotset.native import native_available

# Fewer than this many offsets are worth no long wait: the end may be one that nothing is delivered for.
_FEW: Final = 1000
_POLL_S: Final = 0.02

# A consumer is not told of a topic that is gone or denied to it: its partitions fall silent.
_SILENCE_MS: Final = 2000

_MOST_LANES: Final = 4


def drain(
    client: KafkaClient,
    topic: str,
    ranges: tuple[OffsetRange, ...],
    isolation: Isolation,
    deadline: Deadline,
    limits: DrainLimits = DEFAULT_LIMITS,
    *,
    has_keys: bool = False,
    leader_epoch: Mapping[int, int] = MappingProxyType({}),
    has_headers: bool = False,
    guard: Guard = lambda: None,
    identity: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the visible records of the ranges, each exactly once, as `RAW_SCHEMA` batches.

    Records of one partition come in offset order; partitions interleave. While one batch is used, the next
    ones are read by threads, which end with the iterator; a short read needs none.

    Args:
        client: The cluster to read.
        topic: Topic name.
        ranges: At most one range per partition; empty ones are skipped.
        isolation: Which transactional records are visible.
        deadline: When to give up altogether.
        limits: Sizes of chunks, and the longest wait without progress.
        has_keys: Whether the batches have the records' keys too.
        leader_epoch: Partition to epoch of the leader when the ranges were planned, where known.
        has_headers: Whether they also have headers and timestamp types.
        guard: Called often while waiting, in the caller's thread; what it raises ends the read.
        identity: The topic's, if it will be read again soon.

    Raises:
        OffsetOutOfRangeError: Kafka no longer holds part of a range.
        TopicChangedError, TopicNotFoundError: The topic was replaced or deleted.
        LogTruncatedError: The log was cut back below the start of a range since it was planned.
        HotReadTimeoutError: A range was not finished in time.
        KafkaAccessError, KafkaUnavailableError, KafkaProtocolError: The cluster refused,
            went away or sent what cannot be trusted.
    """
    ranges = tuple(r for r in ranges if not r.is_empty)
    if not ranges:
        return
    wanted = Wanted(
        topic,
        ranges,
        isolation,
        limits,
        leader_epoch,
        has_keys=has_keys,
        has_headers=has_headers,
        identity=identity,
    )
    is_native = native_available().is_available
    shares = _shares(wanted, _cores() if is_native else 1)
    progress = _Progress(time.monotonic())
    reads = [partial(_read, client, share, deadline, progress, is_native=is_native) for share in shares]
    # What fits into one chunk is read before there is anything to do beside it.
    is_short = sum(r.span for r in ranges) <= limits.chunk_rows
    yield from reads[0](guard) if is_short else read_ahead(reads, guard, takes_turns=not is_native)


def _shares(wanted: Wanted, at_most: int) -> list[Wanted]:
    """Spread ranges over lanes, which wait for the broker and for librdkafka's thread in parallel."""
    worth = sum(r.span for r in wanted.ranges) // wanted.limits.chunk_rows
    count = max(1, min(len(wanted.ranges), at_most, worth, _MOST_LANES))
    shares: list[list[OffsetRange]] = [[] for _ in range(count)]
    for one in sorted(wanted.ranges, key=lambda r: -r.span):
        min(shares, key=lambda share: sum(r.span for r in share)).append(one)
    if count == 1:
        return [wanted]
    # So much is not read again soon, so no handle is worth keeping.
    limits = replace(wanted.limits, lanes=count)
    return [replace(wanted, ranges=tuple(share), limits=limits, identity=None) for share in shares]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read(
    client: KafkaClient,
    wanted: Wanted,
    deadline: Deadline,
    progress: _Progress,
    guard: Guard,
    *,
    is_native: bool,
) -> Generator[pa.RecordBatch, None, None]:
    source, is_done = _open(client, wanted, is_native=is_native), False
    try:
        yield from _Drain(client, source, wanted, deadline, progress).chunks(guard)
        is_done = True
    finally:
        source.close(is_done=is_done)


def _open(client: KafkaClient, wanted: Wanted, *, is_native: bool) -> RecordSource:
    if is_native:
        from hotset.drain.native_source import NativeSource

        return NativeSource(client, wanted)
    return ConsumedSource(client, wanted)


@dataclass(slots=True)
class _Progress:
    """When anything of a drain moved last, in whichever lane."""

    at_s: float


class _Drain:
    """One pass over a set of ranges; holds how far each partition has come."""

    def __init__(
        self,
        client: KafkaClient,
        source: RecordSource,
        wanted: Wanted,
        deadline: Deadline,
        progress: _Progress,
    ) -> None:
        self._client = client
        self._source = source
        self._topic = wanted.topic
        self._deadline = deadline
        self._limits = wanted.limits
        self._ends = {r.partition: r.end for r in wanted.ranges}
        self._next = {r.partition: r.start for r in wanted.ranges}
        self._open = set(self._ends)
        self._done: list[int] = []
        self._progress = progress
        self._ask_after_ms = _SILENCE_MS

    def chunks(self, guard: Guard) -> Iterator[pa.RecordBatch]:
        while self._open:
            guard()
            arrived = self._source.take(self._wait_s())
            for partition, next_offset in arrived.next_offsets:
                self._advance(partition, next_offset)
            for event in arrived.events:
                self._take_event(event)
            self._leave_done()
            if arrived.is_full:
                yield self._source.hand_out()
                self._progress.at_s = time.monotonic()  # whoever took the chunk had the time since
            elif not arrived.has_more:
                self._note_positions()
            if self._open:
                self._require_time()
        if self._source.rows:
            yield self._source.hand_out()

    def _wait_s(self) -> float:
        missing = sum(self._ends[p] - self._next[p] for p in self._open)
        return min(_POLL_S, self._deadline.remaining_s) if missing >= _FEW else 0.002

    def _take_event(self, event: Event) -> None:
        partition, error = event.partition, event.error
        if error is None:
            raise KafkaProtocolError(
                f"topic {self._topic!r} partition {partition} delivered offset {event.offset} again "
                f"(expected {self._next[partition]} or later); ask again",
                topic=self._topic,
                partition=partition,
            )
        if error.code() == PARTITION_EOF:
            if partition in self._open:
                self._pass_over(partition, event.offset)
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
        for partition, offset in self._source.positions(self._open):
            self._pass_over(partition, offset)
        self._leave_done()

    def _leave_done(self) -> None:
        """Fetch no more of what is done, unless all is: then all of it is left at once."""
        if self._open:
            for partition in self._done:
                self._source.leave(partition)
            self._done.clear()

    def _pass_over(self, partition: int, next_offset: int) -> None:
        self._source.pass_over(partition, next_offset)
        self._advance(partition, next_offset)

    def _advance(self, partition: int, next_offset: int) -> None:
        if next_offset > self._next[partition]:
            self._next[partition] = next_offset
            self._progress.at_s = time.monotonic()
        if next_offset >= self._ends[partition] and partition in self._open:
            self._open.discard(partition)
            self._done.append(partition)

    def _require_time(self) -> None:
        waited_ms = (time.monotonic() - self._progress.at_s) * 1000
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
