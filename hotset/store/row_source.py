"""Where rows of hot ranges come from: a topic, how its records are read, and how they are decoded.

`fetch_rows` reads ranges from Kafka and decodes them; it stores nothing. Reading and decoding overlap, and
the topic's identity is checked after each part, since offsets of a topic that was made anew mean other
records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from foundation.deadline import Deadline
from hotset.decode import DecodedRows, RowDecoder
from hotset.drain import drain
from hotset.kafka import DrainLimits, Isolation, KafkaClient, OffsetRange, require_topic_id
from hotset.store.hot_rows import OFFSET, OTHERS, PARTITION, TIMESTAMP_MS, Rows
from hotset.store.read_meter import ReadMeter


@dataclass(frozen=True, slots=True)
class RowSource:
    """A topic, and how its records become rows.

    Attributes:
        client: The cluster.
        topic, topic_id, isolation: What is read.
        epochs: Partition to epoch of its leader when the ranges were planned, where known.
        starts: Partition to the offset below which readers of this table ask for nothing now.
        schema: The columns of rows, with `PLACE`; fields have ids in their metadata.
        decoder: Decodes records into these columns.
        definition: Says in stable words how records become rows; equal words mean equal rows.
        limits: Sizes of what is read at a time.
        deadline: When to give up.
        guard: Called often; what it raises ends the reading.
        saw: Shown each batch that Kafka gave.
    """

    client: KafkaClient = field(repr=False)
    topic: str
    topic_id: str
    isolation: Isolation
    epochs: Mapping[int, int]
    starts: Mapping[int, int]
    schema: pa.Schema = field(repr=False)
    decoder: RowDecoder = field(repr=False)
    definition: str = field(repr=False)
    limits: DrainLimits
    deadline: Deadline
    guard: Callable[[], None] = field(repr=False)
    saw: Callable[[pa.RecordBatch], None] = field(repr=False)


def fetch_rows(source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter) -> Iterator[Rows]:
    """Read ranges from Kafka, at most one per partition, in parts that follow each other.

    The parts together are all of the ranges; a partition's parts come in the order of its offsets.

    Raises:
        HotsetError: The ranges could not be read to their end, or a record does not decode.
    """
    position = {r.partition: r.start for r in ranges}
    batches = drain(
        source.client,
        source.topic,
        tuple(ranges),
        source.isolation,
        source.deadline,
        source.limits,
        has_keys=source.decoder.needs_keys,
        leader_epoch=source.epochs,
        has_headers=source.decoder.needs_headers,
        guard=source.guard,
        identity=source.topic_id,
    )
    while True:
        began_s = time.monotonic()
        raw = next(batches, None)
        meter.fetch_ms += (time.monotonic() - began_s) * 1000
        if raw is None:
            break
        source.saw(raw)
        meter.records_fetched += raw.num_rows
        yield _part(source, raw, _advance(position, raw), meter)
    left = tuple(OffsetRange(r.partition, position[r.partition], r.end) for r in ranges)
    if any(not r.is_empty for r in left):
        # Nothing visible is left in these; all that remains to be sure of is the topic.
        require_topic_id(source.client, source.topic, source.topic_id, source.deadline)
        yield _nothing(source, tuple(r for r in left if not r.is_empty))


def _advance(position: dict[int, int], raw: pa.RecordBatch) -> tuple[OffsetRange, ...]:
    """Move the positions past the records of a batch, and return what lies between."""
    ends = pa.table([raw.column("partition"), raw.column("offset")], names=["partition", "offset"])
    found = ends.group_by("partition", use_threads=False).aggregate([("offset", "max")])
    ranges = []
    for partition, last in zip(*(column.to_pylist() for column in found.columns), strict=True):
        ranges.append(OffsetRange(partition, position[partition], last + 1))
        position[partition] = last + 1
    return tuple(ranges)


def _part(source: RowSource, raw: pa.RecordBatch, ranges: tuple[OffsetRange, ...], meter: ReadMeter) -> Rows:
    """Decode a batch while the cluster says whether the topic is still the one that it is of."""
    decoded: list[DecodedRows | Exception] = []

    def decode() -> None:
        began_s = time.monotonic()
        try:
            decoded.append(source.decoder.decode(raw))
        except Exception as exc:  # noqa: BLE001 - raised below, unless the topic explains it
            decoded.append(exc)
        meter.decode_ms += (time.monotonic() - began_s) * 1000

    require_topic_id(source.client, source.topic, source.topic_id, source.deadline, decode)
    [found] = decoded
    if isinstance(found, Exception):
        raise found
    return Rows(
        ranges,
        {r.partition: source.epochs.get(r.partition, -1) for r in ranges},
        pa.Table.from_batches([found.rows]),
        _others(raw, found),
        None if found.letters is None else pa.Table.from_batches([found.letters]),
        pc.max(raw.column("timestamp_ms")).as_py(),
        found.unmapped,
    )


def _nothing(source: RowSource, ranges: tuple[OffsetRange, ...]) -> Rows:
    epochs = {r.partition: source.epochs.get(r.partition, -1) for r in ranges}
    return Rows(
        ranges, epochs, pa.schema(list(source.schema)).remove_metadata().empty_table(), OTHERS.empty_table()
    )


def _others(raw: pa.RecordBatch, found: DecodedRows) -> pa.Table:
    """Return the records of a batch that are no rows."""
    parts = []
    if found.tombstones:
        dropped = raw.filter(raw.column("value").is_null())
        places = [dropped.column(name) for name in ("partition", "offset", "timestamp_ms")]
        parts.append(pa.Table.from_arrays([*places, pa.nulls(dropped.num_rows, pa.string())], schema=OTHERS))
    if found.bad:
        parts.append(_bad(raw, found))
    return pa.concat_tables(parts) if parts else OTHERS.empty_table()


def _bad(raw: pa.RecordBatch, found: DecodedRows) -> pa.Table:
    bad = pa.Table.from_pydict(
        {
            PARTITION: [each.partition for each in found.bad],
            OFFSET: [each.offset for each in found.bad],
            "reason": [each.reason for each in found.bad],
        },
        schema=pa.schema([OTHERS.field(name) for name in (PARTITION, OFFSET, "reason")]),
    )
    known = raw.select(["partition", "offset", "timestamp_ms"]).rename_columns(
        [PARTITION, OFFSET, TIMESTAMP_MS]
    )
    joined = bad.join(pa.Table.from_batches([known]), [PARTITION, OFFSET], use_threads=False)
    return joined.select(OTHERS.names).cast(OTHERS)
