"""Records taken natively: from librdkafka's queue into Arrow's buffers, with no Python object for each.

The reader in C has a handle of its own, made of the same checked properties as any other. This file turns
its buffers into arrays and its codes into errors. It must not know when a range is done or what an error
means.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pyarrow as pa
from confluent_kafka import KafkaError

from hotset.drain.idle_readers import PARKED
from hotset.errors import KafkaConfigError
from hotset.kafka import (
    HEADERS_TYPE,
    Arrived,
    Event,
    KafkaClient,
    Wanted,
    exact_settings,
    translate,
    unreadable_header,
)
from hotset.native import _reader

_AHEAD = "queued.min.messages"


class NativeSource:
    """A native reader, and what became of its last wait."""

    def __init__(self, client: KafkaClient, wanted: Wanted) -> None:
        self._wanted = wanted
        self._note: Callable[[KafkaError], None] = client.note
        settings = settings_of(client, wanted)
        told = (tuple(sorted(settings.items())), wanted.has_keys, wanted.has_headers)
        self._key = None if wanted.identity is None else (os.getpid(), wanted.identity, *told)
        parked = None if self._key is None else PARKED.take(self._key)
        self._reader = _open(settings, wanted) if parked is None else parked
        epochs = wanted.leader_epoch
        ranges = sorted((r.partition, r.start, r.end, epochs.get(r.partition, -1)) for r in wanted.ranges)
        if code := self._reader.assign(wanted.topic, ranges):
            self._reader.close()
            raise translate(KafkaError(code), doing=f"reading topic {wanted.topic!r}")

    @property
    def rows(self) -> int:
        """Records gathered since the last `hand_out`."""
        return self._reader.rows

    def take(self, wait_s: float) -> Arrived:
        """Gather what is there; wait for it, so long at most, if nothing is."""
        limits = self._wanted.limits
        outcome = self._reader.take(limits.chunk_rows, limits.chunk_bytes, round(wait_s * 1000))
        for code, text in self._reader.troubles():
            self._note(KafkaError(code, text))
        events = (self._event(),) if outcome == _reader.EVENT else ()
        return Arrived(
            self._reader.next_offsets(),
            events,
            is_full=outcome == _reader.FULL,
            has_more=outcome != _reader.WAITED,
        )

    def _event(self) -> Event:
        partition, offset, code, text = self._reader.event()
        return Event(partition, offset, KafkaError(code, text) if code else None)

    def positions(self, partitions: Iterable[int]) -> Iterable[tuple[int, int]]:
        """Return where fetching stands, behind what is never delivered too; below 0 if it does not say."""
        wanted = set(partitions)
        return [found for found in self._reader.positions() if found[0] in wanted]

    def pass_over(self, partition: int, next_offset: int) -> None:
        """Want nothing of a partition below an offset any more."""
        self._reader.pass_over(partition, next_offset)

    def leave(self, partition: int) -> None:
        """Fetch no more of a partition."""
        self._reader.leave(partition)

    def hand_out(self) -> pa.RecordBatch:
        """Return the gathered records, and gather anew."""
        (
            rows,
            partition,
            offset,
            timestamp_ms,
            value,
            key,
            unknown_types,
            known_types,
            timestamp_type,
            header_ends,
            header_names,
            header_values,
        ) = self._reader.hand_out()
        arrays = [
            _fixed(pa.int32(), rows, partition),
            _fixed(pa.int64(), rows, offset),
            _fixed(pa.int64(), rows, timestamp_ms),
            _binary(pa.binary(), value),
        ]
        if self._wanted.has_keys:
            arrays.append(_binary(pa.binary(), key))
        if self._wanted.has_headers:
            arrays.append(_fixed(pa.int32(), rows, timestamp_type, known_types, unknown_types))
            names, values = _binary(pa.string(), header_names), _binary(pa.binary(), header_values)
            headers = pa.StructArray.from_arrays([names, values], fields=list(HEADERS_TYPE.value_type))
            ends = pa.py_buffer(header_ends)
            arrays.append(pa.Array.from_buffers(HEADERS_TYPE, rows, [None, ends], 0, children=[headers]))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._wanted.schema)
        if self._wanted.has_headers:
            self._require_names(batch)
        return batch

    def _require_names(self, batch: pa.RecordBatch) -> None:
        """Header names are text by the protocol, and bytes in the log."""
        headers = batch.column("headers")
        try:
            headers.flatten().field(0).validate(full=True)
        except pa.ArrowInvalid as exc:
            for row in range(batch.num_rows):
                try:
                    headers[row].values.field(0).validate(full=True)
                except pa.ArrowInvalid:
                    where = (batch.column(name)[row].as_py() for name in ("partition", "offset"))
                    raise unreadable_header(self._wanted.topic, *where) from exc

    def close(self, *, is_done: bool = False) -> None:
        """Give back connections and memory; if all ranges were read, the handle may be kept."""
        if is_done and self._key is not None:
            PARKED.park(self._key, self._reader)
        else:
            self._reader.close()


def settings_of(client: KafkaClient, wanted: Wanted) -> dict[str, str]:
    """Return the properties of a reader; alike for ranges of about one size, if it may serve again."""
    settings = exact_settings(client.properties, wanted.isolation, wanted.limits, wanted.ranges)
    if wanted.identity is not None:
        ahead = 1
        while ahead < int(settings[_AHEAD]):
            ahead *= 4
        settings[_AHEAD] = str(min(ahead, wanted.limits.ahead_rows))
    return settings


def _open(settings: dict[str, str], wanted: Wanted) -> _reader.Reader:
    try:
        return _reader.Reader(settings, has_keys=wanted.has_keys, has_headers=wanted.has_headers)
    except ValueError as exc:
        raise KafkaConfigError(f"the Kafka client refused its configuration: {exc}") from exc


def _fixed(
    kind: pa.DataType,
    rows: int,
    values: _reader.Buffer,
    validity: _reader.Buffer | None = None,
    nulls: int = 0,
) -> pa.Array:
    known = pa.py_buffer(validity) if nulls else None
    return pa.Array.from_buffers(kind, rows, [known, pa.py_buffer(values)], nulls)


def _binary(kind: pa.DataType, column: _reader.Binary) -> pa.Array:
    rows, nulls, validity, ends, data = column
    if not rows:
        return pa.array([], kind)
    known = pa.py_buffer(validity) if nulls else None
    return pa.Array.from_buffers(kind, rows, [known, pa.py_buffer(ends), pa.py_buffer(data)], nulls)
