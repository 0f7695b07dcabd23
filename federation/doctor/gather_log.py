"""Gather what Kafka tells: the log's bounds, its retention, and the records below the boundary.

Reading the log again from its beginning would cost more than an examination is
worth, so records are read where the table has holes, and in a window below the
boundary, within a limit; what was read is part of the facts. Nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from federation.boundary import EMPTY, CommittedOffsets, Spans, union
from federation.doctor.examined_facts import LogFacts, Missing, Positions, RecordFacts, RetentionFacts
from federation.doctor.overlap import between, head, lacking
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.drain import drain
from hotset.errors import HotsetError
from hotset.kafka import (
    Isolation,
    KafkaClient,
    LogBounds,
    OffsetRange,
    read_log_bounds,
    read_offsets_at,
    read_retention,
)

RATE_WINDOW_MS: Final = 600_000

# Offsets read to find one record's timestamp; more than a transaction's markers occupy.
_PROBED: Final = 100
_HOLES_READ: Final = 20


def gather_log(
    client: KafkaClient, definition: TableDefinition, committed: CommittedOffsets | Missing
) -> LogFacts | Missing:
    """Return the log's bounds, and how old the first hot and the first hidden records are.

    What cannot be read is `Missing`.
    """
    topic = definition.topic
    assert topic is not None
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    try:
        bounds = read_log_bounds(client, topic, definition.isolation, deadline)
        committing = read_log_bounds(client, topic, Isolation.READ_COMMITTED, deadline)
        stable = {found.partition: found.end for found in committing.partitions}
        hot = {} if isinstance(committed, Missing) else _hot_starts(committed, bounds)
        held = {f.partition: f.end for f in committing.partitions if f.held_back}
        return LogFacts(
            bounds=bounds,
            stable=stable,
            first_hot_ms=_first_ms(client, bounds, hot, deadline),
            first_open_ms=_first_ms(client, bounds, held, deadline),
        )
    except HotsetError as exc:
        return Missing(str(exc), is_failure=True, code=exc.code)


def gather_retention(
    client: KafkaClient, definition: TableDefinition, log: LogFacts
) -> RetentionFacts | Missing:
    """Return what limits the log, and how fast it grows.

    What cannot be read is `Missing`.
    """
    bounds = log.bounds
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    try:
        limits = read_retention(client, bounds.topic, deadline)
        since_ms = bounds.read_at_ms - RATE_WINDOW_MS
        numbers = [found.partition for found in bounds.partitions]
        began = read_offsets_at(client, bounds.topic, numbers, since_ms, deadline)
        record_bytes = {} if limits.retention_bytes is None else _record_bytes(client, bounds, deadline)
    except HotsetError as exc:
        return Missing(str(exc), is_failure=True)
    minutes = RATE_WINDOW_MS / 60_000
    return RetentionFacts(
        retention_ms=limits.retention_ms,
        retention_bytes=limits.retention_bytes,
        offsets_per_minute={
            found.partition: max(0, found.high_watermark - began.get(found.partition, found.high_watermark))
            / minutes
            for found in bounds.partitions
        },
        record_bytes=record_bytes,
    )


def gather_records(
    client: KafkaClient,
    definition: TableDefinition,
    log: LogFacts,
    positions: Positions,
    committed: CommittedOffsets | Missing,
    *,
    look_back: int,
) -> RecordFacts | Missing:
    """Return what Kafka shows in the table's holes, and in a window below its boundary.

    Args:
        client: The cluster.
        definition: Settled options.
        log: What the log held.
        positions: What the table holds.
        committed: Its boundary.
        look_back: Offsets per partition to read, at most.

    What cannot be read is `Missing`.
    """
    below = {p: spans.top for p, spans in positions.held.items()}
    if not isinstance(committed, Missing):
        below = {found.partition: committed.of(found.partition) for found in log.bounds.partitions}
    windows = {
        found.partition: _windows(
            positions.held.get(found.partition, EMPTY),
            found.log_start,
            min(below.get(found.partition, 0), log.stable[found.partition]),
            look_back,
        )
        for found in log.bounds.partitions
    }
    deadline = Deadline.after_ms(definition.read_timeout_ms)
    try:
        everything = _read(client, log.bounds.topic, windows, Isolation.READ_UNCOMMITTED, deadline)
        # Where every offset is a record there was no transaction, and both isolations show the same.
        mixed = {p: spans for p, spans in windows.items() if spans.size != everything.all(p).size}
        committing = _read(client, log.bounds.topic, mixed, Isolation.READ_COMMITTED, deadline)
    except HotsetError as exc:
        return Missing(str(exc), is_failure=True)
    shown = {p: committing if p in mixed else everything for p in windows}
    return RecordFacts(
        looked=windows,
        visible={p: shown[p].with_value.get(p, EMPTY) for p in windows},
        tombstones={p: shown[p].without_value.get(p, EMPTY) for p in windows},
        aborted={p: everything.all(p).subtract(committing.all(p)) for p in mixed},
        below=below,
        is_boundary=not isinstance(committed, Missing),
        lost=() if isinstance(committed, Missing) else committed.lost,
    )


class _Read:
    """Offsets of the records of some windows, by whether they have a value."""

    def __init__(self, with_value: Mapping[int, Spans], without_value: Mapping[int, Spans]) -> None:
        self.with_value = with_value
        self.without_value = without_value

    def all(self, partition: int) -> Spans:
        halves = (self.with_value.get(partition, EMPTY), self.without_value.get(partition, EMPTY))
        return union(halves)


def _windows(held: Spans, log_start: int, end: int, look_back: int) -> Spans:
    """Choose what to read: a window below the end, and as many holes before it as the limit allows."""
    if end <= log_start:
        return EMPTY
    # Half of the limit is for the window, so that there is some left for holes before it.
    window_start = max(log_start, end - max(1, look_back // 2))
    chosen, left = [(window_start, end)], look_back - (end - window_start)
    for start, hole_end in head(lacking(held, log_start, window_start), _HOLES_READ):
        if left > 0:
            chosen.append((start, min(hole_end, start + left)))
            left -= chosen[-1][1] - start
    return between(chosen)


def _read(
    client: KafkaClient,
    topic: str,
    windows: Mapping[int, Spans],
    isolation: Isolation,
    deadline: Deadline,
) -> _Read:
    found: dict[bool, dict[int, list[Spans]]] = {True: {}, False: {}}
    for ranges in _rounds(windows):
        for batch in drain(client, topic, ranges, isolation, deadline):
            for partition in pc.unique(batch.column("partition")).to_pylist():
                rows = batch.filter(pc.equal(batch.column("partition"), partition))
                has_value = rows.column("value").is_valid()
                for is_wanted, mask in ((True, has_value), (False, pc.invert(has_value))):
                    spans = Spans.from_offsets(rows.column("offset").filter(mask))
                    found[is_wanted].setdefault(partition, []).append(spans)
    return _Read(
        {partition: union(sets) for partition, sets in found[True].items()},
        {partition: union(sets) for partition, sets in found[False].items()},
    )


def _rounds(windows: Mapping[int, Spans]) -> Iterator[tuple[OffsetRange, ...]]:
    # One drain reads one range of each partition.
    listed = {partition: list(spans) for partition, spans in windows.items()}
    for number in range(max((len(ranges) for ranges in listed.values()), default=0)):
        yield tuple(
            OffsetRange(partition, *ranges[number])
            for partition, ranges in sorted(listed.items())
            if number < len(ranges)
        )


def _hot_starts(committed: CommittedOffsets, bounds: LogBounds) -> dict[int, int]:
    return {
        found.partition: max(committed.of(found.partition), found.log_start)
        for found in bounds.partitions
        if committed.of(found.partition) < found.end
    }


def _first_ms(
    client: KafkaClient, bounds: LogBounds, starts: Mapping[int, int], deadline: Deadline
) -> dict[int, int]:
    ends = {found.partition: found.high_watermark for found in bounds.partitions}
    ranges = tuple(
        OffsetRange(partition, start, min(start + _PROBED, ends[partition]))
        for partition, start in starts.items()
        if start < ends[partition]
    )
    first: dict[int, int] = {}
    # Hidden records are asked for as well: this is about age, not about what an answer shows.
    for batch in drain(client, bounds.topic, ranges, Isolation.READ_UNCOMMITTED, deadline):
        for partition, time_ms in zip(
            batch.column("partition").to_pylist(), batch.column("timestamp_ms").to_pylist(), strict=True
        ):
            first.setdefault(partition, time_ms)
    return first


def _record_bytes(client: KafkaClient, bounds: LogBounds, deadline: Deadline) -> dict[int, float]:
    ranges = tuple(
        OffsetRange(f.partition, max(f.log_start, f.high_watermark - _PROBED), f.high_watermark)
        for f in bounds.partitions
    )
    sizes: dict[int, list[int]] = {}
    for batch in drain(client, bounds.topic, ranges, Isolation.READ_UNCOMMITTED, deadline, has_keys=True):
        columns = (batch.column("partition"), _lengths(batch, "value"), _lengths(batch, "key"))
        for partition, value, key in zip(*(column.to_pylist() for column in columns), strict=True):
            sizes.setdefault(partition, []).append(value + key)
    return {partition: sum(found) / len(found) for partition, found in sizes.items()}


def _lengths(batch: pa.RecordBatch, name: str) -> pa.Array:
    return pc.fill_null(pc.binary_length(batch.column(name)), 0)
