"""Records taken in Python, one object each: what runs where the native reader is not there.

It has the same results as the native source and is the reference for it. It must not know when a range is
done or what an error means.
"""

from __future__ import annotations

import itertools
import operator
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from hotset.kafka import Arrived, Event, KafkaClient, Wanted, unreadable_header

# More would begin a collection of garbage at every poll, and fall out of the cache.
_POLL_RECORDS: Final = 500

# Where a header's name is no text, the method returns a list with holes beside an exception. A call that
# the interpreter has specialised does not look for the exception, and a hole ends the process.
_headers: Final = operator.methodcaller("headers")
_LATTER: Final = operator.itemgetter(1)


class ConsumedSource:
    """A consumer's messages, made into columns chunk by chunk."""

    def __init__(self, client: KafkaClient, wanted: Wanted) -> None:
        self._wanted = wanted
        self._schema = wanted.schema
        self._next = {r.partition: r.start for r in wanted.ranges}
        self._ends = {r.partition: r.end for r in wanted.ranges}
        self._waiting: deque[Any] = deque()  # consumed, and not looked at yet
        self._has_more = False
        self._begin()
        # Objects of Python need room too: what is fetched ahead leaves it to them.
        limits = replace(wanted.limits, memory_bytes=wanted.limits.memory_bytes // 2)
        self._consumer = client.consume(
            wanted.topic, wanted.ranges, wanted.isolation, wanted.leader_epoch, limits
        )

    def _begin(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}

    @property
    def rows(self) -> int:
        """Records gathered since the last `hand_out`."""
        return self._rows

    def take(self, wait_s: float) -> Arrived:
        """Gather what is there; wait for it, so long at most, if nothing is."""
        messages = list(self._waiting) or self._consume(wait_s)
        self._waiting = deque(messages[self._take_runs(messages) :])
        events: list[Event] = []
        while self._waiting:
            message = self._waiting[0]
            if message.error() is not None:
                events.append(Event(message.partition(), message.offset(), message.error()))
            elif not self._take(message, events):
                self._gather()
                return Arrived(self._next.items(), events, is_full=True)
            self._waiting.popleft()
        self._gather()
        return Arrived(self._next.items(), events, has_more=self._has_more)

    def _consume(self, wait_s: float) -> list[Any]:
        messages: list[Any] = self._consumer.consume(_POLL_RECORDS, wait_s)
        self._has_more = len(messages) >= _POLL_RECORDS
        return messages

    def _take_runs(self, messages: list[Any]) -> int:
        """Gather consecutive records of one partition after another; return where a record needs a look."""
        room = self._wanted.limits.chunk_rows - self._rows
        if self._wanted.has_headers or not messages or room <= 0:
            return 0
        taken = 0
        for partition, found in itertools.groupby(map(type(messages[0]).partition, messages[:room])):
            run = messages[taken : taken + len(list(found))]
            fitting = self._take_run(partition, run)
            taken += fitting
            if fitting < len(run):
                break
        return taken

    def _take_run(self, partition: int, run: list[Any]) -> int:
        """Gather records of one partition, as many as the chunk takes; none if they need a look each."""
        # The methods unbound: bound to each message in turn they take twice the time.
        of = type(run[0])
        start = self._next.get(partition, 0)
        end = start + len(run)
        is_plain = (
            end <= self._ends.get(partition, 0)
            and not any(map(of.error, run))
            and list(map(of.offset, run)) == list(range(start, end))
        )
        if not is_plain:
            return 0
        columns = [list(map(of.value, run))]
        if self._wanted.has_keys:
            columns.append(list(map(of.key, run)))
        count, size = _fitting(columns, self._wanted.limits.chunk_bytes - self._bytes)
        if not count:
            return 0
        arrays = [
            pa.repeat(pa.scalar(partition, pa.int32()), count),
            pa.arange(start, start + count),
            pa.array(list(map(_LATTER, map(of.timestamp, run[:count]))), pa.int64()),
            *(pa.array(column[:count], pa.binary()) for column in columns),
        ]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows += count
        self._bytes += size
        self._next[partition] = start + count
        return count

    def _take(self, message: Any, events: list[Event]) -> bool:
        """Deal with one record, unless it belongs to the next chunk."""
        partition, offset = message.partition(), message.offset()
        next_offset, end = self._next.get(partition, 0), self._ends.get(partition, 0)
        if next_offset >= end:
            return True
        if offset < next_offset:
            events.append(Event(partition, offset, None))
            return True
        if offset < end and not self._add(message):
            return False
        self._next[partition] = offset + 1
        return True

    def _add(self, message: Any) -> bool:
        value = message.value()
        key = message.key() if self._wanted.has_keys else None
        headers = self._headers_of(message) if self._wanted.has_headers else []
        size = len(value or b"") + len(key or b"")
        if headers:
            size += sum(len(name.encode()) + len(content or b"") for name, content in headers)
        limits, columns = self._wanted.limits, self._columns
        if self._rows and (self._rows >= limits.chunk_rows or self._bytes + size > limits.chunk_bytes):
            return False
        self._rows += 1
        self._bytes += size
        kind, timestamp_ms = message.timestamp()
        columns["partition"].append(message.partition())
        columns["offset"].append(message.offset())
        columns["timestamp_ms"].append(timestamp_ms)
        columns["value"].append(value)
        if self._wanted.has_keys:
            columns["key"].append(key)
        if self._wanted.has_headers:
            columns["timestamp_type"].append(kind - 1 if kind else None)
            columns["headers"].append([{"key": name, "value": content} for name, content in headers])
        return True

    def _headers_of(self, message: Any) -> list[tuple[str, bytes | None]]:
        try:
            headers: list[tuple[str, bytes | None]] = _headers(message) or []
            return headers
        except SystemError as exc:
            raise unreadable_header(self._wanted.topic, message.partition(), message.offset()) from exc

    def positions(self, partitions: Iterable[int]) -> Iterable[tuple[int, int]]:
        """Return where fetching stands, behind what is never delivered too; below 0 if it does not say."""
        wanted = set(partitions)
        assigned = [tp for tp in self._consumer.assignment() if tp.partition in wanted]
        return [(tp.partition, tp.offset) for tp in self._consumer.position(assigned)]

    def pass_over(self, partition: int, next_offset: int) -> None:
        """Want nothing of a partition below an offset any more."""
        self._next[partition] = max(next_offset, self._next[partition])

    def leave(self, partition: int) -> None:
        """Fetch no more of a partition."""
        self._next[partition] = self._ends[partition]
        self._consumer.pause([tp for tp in self._consumer.assignment() if tp.partition == partition])

    def hand_out(self) -> pa.RecordBatch:
        """Return the gathered records, and gather anew."""
        batches = self._batches
        self._begin()
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

    def _gather(self) -> None:
        """Make columns of the records that were looked at one by one."""
        if self._columns["offset"]:
            arrays = [pa.array(self._columns[field.name], field.type) for field in self._schema]
            self._columns = {name: [] for name in self._schema.names}
            self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self, *, is_done: bool = False) -> None:  # noqa: ARG002
        """Give back connections and memory."""
        self._consumer.close()


def _fitting(columns: list[list[bytes | None]], room: int) -> tuple[int, int]:
    """Return how many leading records have no more bytes in these columns, and how many those are."""
    size = sum(sum(map(len, filter(None, column))) for column in columns)
    if size <= room:
        return len(columns[0]), size
    sizes = (sum(map(len, filter(None, record))) for record in zip(*columns, strict=True))
    fitting = list(itertools.takewhile(room.__ge__, itertools.accumulate(sizes)))
    return len(fitting), fitting[-1] if fitting else 0
