"""Read one split into Arrow batches: the only dispatch between hot and cold.

Runs anywhere: in the gateway, in a Spark task, in a notebook. Secrets are
resolved here and nowhere earlier. It plans nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.read import read_cold
from federation.cut import registry_of
from federation.errors import HotBudgetError
from federation.options import Part, resolve, storage_for
from federation.read.hot_bounds import Bounds
from federation.read.read_counts import ColdMeter, HotMeter
from federation.read.splits import ColdSplit, HotSplit, Split
from foundation.deadline import Deadline
from hotset.decode import Decoded, DecodedRows, RowDecoder, select_rows
from hotset.drain import drain
from hotset.kafka import DrainLimits, KafkaClient, connect, require_topic_id
from hotset.store import ReadMeter, TopicSource, WantedColumns, open_store, read_resident

Guard = Callable[[], None]
_LIMITS: Final = (-(1 << 63), (1 << 63) - 1)
Rows = tuple[pa.RecordBatch, DecodedRows]


def _go_on() -> None:
    """Has no objection."""


def read_split(
    split: Split,
    meter: HotMeter | None = None,
    cold: ColdMeter | None = None,
    *,
    guard: Guard = _go_on,
    may_be_encoded: bool = False,
    may_store_later: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield a split's rows, all of them, or raise.

    Args:
        split: What to read.
        meter: Counts the records of a hot split.
        cold: Counts the files of a cold one, while they are read.
        guard: Called often; what it raises ends the reading.
        may_be_encoded: Whether columns of strings may have a dictionary, which differs from batch to batch.
        may_store_later: Whether little that is new may be put into the hot store once it was given.

    Raises:
        HotBudgetError: Kafka gave more value bytes than `maxHotBytes`.
        HotsetError: The ranges could not be read to their end, or a record does not decode.
        ColdsetError: A data file could not be read.
        OptionError: A secret's reference names nothing here.
    """
    if isinstance(split, ColdSplit):
        return _read_cold(split, ColdMeter() if cold is None else cold, guard)
    meter = HotMeter() if meter is None else meter
    return _read_hot(split, meter, guard, may_be_encoded=may_be_encoded, may_store_later=may_store_later)


def _read_cold(split: ColdSplit, meter: ColdMeter, guard: Guard) -> Iterator[pa.RecordBatch]:
    storage = storage_for(split.catalog_name, split.catalog_properties, split.task.identifier)
    for batch in read_cold(split.task, split.columns, storage, meter.read):
        guard()
        yield batch if batch.schema.equals(split.schema) else widen(batch, split.schema)


def widen(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with all columns of the schema, those it lacks being null."""
    present = set(batch.schema.names)
    arrays = [
        batch.column(field.name) if field.name in present else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _read_hot(
    split: HotSplit, meter: HotMeter, guard: Guard, *, may_be_encoded: bool, may_store_later: bool
) -> Iterator[pa.RecordBatch]:
    client = connect(resolve(split.kafka_properties))
    reads_letters = split.part is Part.DEAD_LETTERS
    decoder = RowDecoder(
        split.record_format,
        pa.schema([]) if reads_letters else split.schema,
        split.kafka_columns,
        split.topic,
        whole=split.whole,
        keeps_letters=reads_letters or meter.keeps_letters,
        registry=registry_of(split.record_format),
    )
    store = None if split.store is None else open_store(split.store)
    if store is None:
        rows = _drained_rows(split, client, decoder, meter.reading, guard)
    else:
        wanted = WantedColumns.of(
            decoder.record_format, decoder.values, decoder.beside, may_be_encoded=may_be_encoded
        )
        source = replace(_source(split, client, decoder, guard), may_store_later=may_store_later)
        pieces = read_resident(store, source, split.ranges, wanted, decoder.decode_payloads, meter.reading)
        found = (_piece_within(raw, decoded, split.times_ms) for raw, decoded in pieces)
        rows = ((raw, decoder.judge(raw, decoded)) for raw, decoded in found)
    for raw, decoded in rows:
        meter.saw(raw, decoded)
        if not reads_letters:
            yield decoded.rows
        elif decoded.letters is not None and decoded.letters.num_rows:
            yield decoded.letters.select(split.schema.names)


def _drained_rows(
    split: HotSplit, client: KafkaClient, decoder: RowDecoder, meter: ReadMeter, guard: Guard
) -> Iterator[Rows]:
    """Yield the records of a split, as Kafka has them, with the rows they are."""
    deadline = Deadline.after_ms(split.read_timeout_ms)
    budget = _Budget(split)
    batches = drain(
        client,
        split.topic,
        split.ranges,
        split.isolation,
        deadline,
        _limits(split),
        leader_epoch=split.leader_epoch,
        has_keys=decoder.needs_keys,
        has_headers=decoder.needs_headers,
        guard=guard,
    )
    while True:
        began_s = time.monotonic()
        raw = next(batches, None)
        fetched_s = time.monotonic()
        meter.fetch_ms += (fetched_s - began_s) * 1000
        if raw is None:
            break
        budget.take(raw)
        meter.records_fetched += raw.num_rows
        raw = _within(raw, split.times_ms)
        rows = decoder.decode(raw)
        meter.decode_ms += (time.monotonic() - fetched_s) * 1000
        yield raw, rows
    # Offsets of a topic that was recreated meanwhile mean other records.
    require_topic_id(client, split.topic, split.topic_id, deadline)


def _within(raw: pa.RecordBatch, times_ms: Bounds) -> pa.RecordBatch:
    asked = _are_within(raw, times_ms)
    return raw if asked is None else raw.filter(asked)


def _piece_within(raw: pa.RecordBatch, decoded: Decoded, times_ms: Bounds) -> tuple[pa.RecordBatch, Decoded]:
    asked = _are_within(raw, times_ms)
    return (raw, decoded) if asked is None else (raw.filter(asked), select_rows(decoded, asked))


def _are_within(raw: pa.RecordBatch, times_ms: Bounds) -> pa.BooleanArray | None:
    """Return which records are of times that are asked for; None if all are."""
    if times_ms == Bounds():
        return None
    found = raw.column("timestamp_ms")
    low, high = (limit if told is None else told for told, limit in zip(times_ms, _LIMITS, strict=True))
    asked = pc.and_(pc.greater_equal(found, low), pc.less_equal(found, high))
    return asked if asked.false_count else None


def _source(split: HotSplit, client: KafkaClient, decoder: RowDecoder, guard: Guard) -> TopicSource:
    return TopicSource(
        client=client,
        topic=split.topic,
        topic_id=split.topic_id,
        isolation=split.isolation,
        starts=split.starts,
        epochs=split.leader_epoch,
        limits=_limits(split),
        has_keys=decoder.needs_keys,
        has_headers=decoder.needs_headers,
        needs_values=decoder.needs_values,
        deadline=Deadline.after_ms(split.read_timeout_ms),
        guard=guard,
        saw=_Budget(split).take,
        times_ms=split.times_ms,
    )


def _limits(split: HotSplit) -> DrainLimits:
    return DrainLimits(memory_bytes=split.drain_bytes, no_progress_ms=split.no_progress_timeout_ms)


class _Budget:
    """Counts the bytes of values that Kafka gives for one split, and ends the reading above a limit."""

    def __init__(self, split: HotSplit) -> None:
        self._split = split
        self._bytes = 0

    def take(self, raw: pa.RecordBatch) -> None:
        limit = self._split.max_bytes
        self._bytes += pc.sum(pc.binary_length(raw.column("value"))).as_py() or 0
        if limit is not None and self._bytes > limit:
            raise HotBudgetError(
                f"the hot records of table {self._split.table!r} have more than maxHotBytes={limit} bytes of "
                f"values: {self._bytes} were read when it ended; freeze more often, or raise the limit",
                table=self._split.table,
                value_bytes=self._bytes,
            )
