"""Read a hot split: its rows as they are resident, or one batch after the other.

Secrets are resolved here and nowhere earlier. Rows are decoded whole, by all columns that records fill, so a
record is a row or not whatever a statement looks at. It plans nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from federation.cut import registry_of
from federation.errors import HotBudgetError
from federation.options import Part, resolve
from federation.read.read_counts import HotMeter
from federation.read.splits import HotSplit
from foundation.canonical_form import canonical
from foundation.deadline import Deadline
from hotset.decode import LETTERS, BadRecords, RowDecoder
from hotset.kafka import DrainLimits, connect
from hotset.store import (
    PLACE,
    PLACE_SOURCES,
    HotRows,
    RowSource,
    fetch_hot_rows,
    fetch_rows,
    open_store,
)

Guard = Callable[[], None]


def read_hot_rows(split: HotSplit, meter: HotMeter, guard: Guard, *, as_chunks: bool = False) -> HotRows:
    """Return the rows of a split, from the hot store as far as it has them.

    Args:
        split: What to read.
        meter: Counts its records.
        guard: Called often; what it raises ends the reading.
        as_chunks: Whether all rows are to be in chunks, unless there is no room for them.

    Raises:
        HotBudgetError: Kafka gave more value bytes than `maxHotBytes`.
        HotsetError: The ranges could not be read to their end, or a record does not decode.
        OptionError: A secret's reference names nothing here.
    """
    source = _row_source(split, guard)
    store = None if split.store is None else open_store(split.store)
    if store is not None:
        found = store.read(source, split.ranges, meter.reading, as_chunks=as_chunks)
    else:
        found = fetch_hot_rows(source, split.ranges, meter.reading)
    meter.took(found.counts)
    return found


def hot_batches(split: HotSplit, meter: HotMeter, guard: Guard) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a split, or its dead letters, in batches of its schema.

    Raises:
        HotBudgetError, HotsetError, OptionError: As `read_hot_rows`.
    """
    wants_letters = split.part is Part.DEAD_LETTERS
    if split.store is None:
        for part in fetch_rows(_row_source(split, guard), split.ranges, meter.reading):
            meter.took(part.counts)
            yield from _batches(part.letters if wants_letters else part.rows, split.schema)
        return
    before = meter.counts
    found = read_hot_rows(split, meter, guard)
    try:
        batches = _batches(letters_of(found), split.schema) if wants_letters else _open(found, split.schema)
    except FileNotFoundError:
        # A chunk went before it was opened, and Kafka has all that it held.
        meter.counts = before
        batches = hot_batches(replace(split, store=None), meter, guard)
    for batch in batches:
        guard()
        yield batch


def _open(found: HotRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return rows in batches, of which none can go any more, however long the reader takes."""
    chunks = [part.batches(schema.names) for part in found.parts]
    in_chunks = (_conform(batch, schema) for batches in chunks for batch in batches)
    return chain(in_chunks, *(_batches(rows.rows, schema) for rows in found.tail))


def _batches(rows: pa.Table | None, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if rows is not None and rows.num_rows:
        yield from (_conform(batch, schema) for batch in rows.select(schema.names).to_batches())


def letters_of(found: HotRows) -> pa.Table:
    """Return the dead letters among what was read.

    Raises:
        OSError: A chunk is gone.
    """
    chunks = [part.chunk.letters_within(part.ranges) for part in found.parts]
    tails = [rows.letters for rows in found.tail if rows.letters is not None]
    return pa.concat_tables([*chunks, *tails]) if chunks or tails else LETTERS.empty_table()


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    # A file's fields have ids, which an answer's have not.
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _row_source(split: HotSplit, guard: Guard) -> RowSource:
    client = connect(resolve(split.kafka_properties))
    schema = pa.schema([*split.filled, *PLACE])
    keeps_letters = split.record_format.bad_records is BadRecords.DEAD_LETTER
    decoder = RowDecoder(
        split.record_format,
        _without_ids(split, schema),
        {**split.kafka_columns, **PLACE_SOURCES},
        split.topic,
        whole=split.whole,
        keeps_letters=keeps_letters,
        registry=registry_of(split.record_format),
    )
    return RowSource(
        client=client,
        topic=split.topic,
        topic_id=split.topic_id,
        isolation=split.isolation,
        epochs=split.leader_epoch,
        starts=split.starts,
        schema=schema,
        decoder=decoder,
        definition=canonical(
            (split.record_format, split.kafka_columns, schema.serialize().to_pybytes().hex())
        ),
        limits=DrainLimits(memory_bytes=split.drain_bytes, no_progress_ms=split.no_progress_timeout_ms),
        deadline=Deadline.after_ms(split.read_timeout_ms),
        guard=guard,
        saw=_Budget(split).take,
    )


def _without_ids(split: HotSplit, schema: pa.Schema) -> pa.Schema:
    plain = {found.name: found for found in split.whole}
    return pa.schema(
        [plain[f.name].with_nullable(f.nullable) if f.name in plain else f.remove_metadata() for f in schema]
    )


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
