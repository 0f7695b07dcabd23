"""Read one split into Arrow batches: the only dispatch between hot and cold.

Runs anywhere: in the gateway, in a Spark task, in a notebook. Secrets are
resolved here and nowhere earlier. It plans nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from coldset import read_cold
from federation.secrets import resolve
from federation.splits import ColdSplit, HotSplit, Split
from hotset import Deadline, DrainLimits, connect, drain, require_topic_id
from hotset.decode import decoder_for
from hotset.decode.position import position_column

NewestSeen = Callable[[int], None]
Guard = Callable[[], None]


def _ignore(_timestamp_ms: int) -> None:
    """Takes no note."""


def _go_on() -> None:
    """Has no objection."""


def read_split(
    split: Split, newest_seen: NewestSeen = _ignore, *, guard: Guard = _go_on
) -> Iterator[pa.RecordBatch]:
    """Yield a split's rows, all of them, or raise.

    Args:
        split: What to read.
        newest_seen: Told the newest record timestamp of each hot chunk (epoch milliseconds).
        guard: Called often; what it raises ends the reading.

    Raises:
        HotsetError: The ranges could not be read to their end, or a record does not decode.
        ColdsetError: A data file could not be read.
        OptionError: A secret's reference names nothing here.
    """
    if isinstance(split, ColdSplit):
        return _read_cold(split, guard)
    return _read_hot(split, newest_seen, guard)


def _read_cold(split: ColdSplit, guard: Guard) -> Iterator[pa.RecordBatch]:
    for batch in read_cold(split.task, split.columns, resolve(split.catalog_properties)):
        guard()
        yield batch


def _read_hot(split: HotSplit, newest_seen: NewestSeen, guard: Guard) -> Iterator[pa.RecordBatch]:
    client = connect(resolve(split.kafka_properties))
    decode = decoder_for(split.value_format)
    deadline = Deadline.after_ms(split.read_timeout_ms)
    positions = set(split.kafka_columns.values())
    values = pa.schema([field for field in split.schema if field.name not in positions])
    limits = DrainLimits(no_progress_ms=split.no_progress_timeout_ms)
    for raw in drain(
        client,
        split.topic,
        split.ranges,
        split.isolation,
        deadline,
        limits,
        leader_epoch=split.leader_epoch,
        guard=guard,
    ):
        newest_seen(pc.max(raw.column("timestamp_ms")).as_py())
        yield _add_positions(decode(raw, values, topic=split.topic), raw, split)
    # Offsets of a topic that was recreated meanwhile mean other records.
    require_topic_id(client, split.topic, split.topic_id, deadline)


def _add_positions(rows: pa.RecordBatch, raw: pa.RecordBatch, split: HotSplit) -> pa.RecordBatch:
    if not split.kafka_columns:
        return rows
    field_of = {column: field for field, column in split.kafka_columns.items()}
    arrays = [
        position_column(raw, field_of[field.name], field.type, topic=split.topic)
        if field.name in field_of
        else rows.column(field.name)
        for field in split.schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=split.schema) if arrays else rows
