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
from hotset.decode import RowDecoder

Note = Callable[[int], None]
Guard = Callable[[], None]


def _ignore(_number: int) -> None:
    """Takes no note."""


def _go_on() -> None:
    """Has no objection."""


def read_split(
    split: Split, newest_seen: Note = _ignore, *, skipped: Note = _ignore, guard: Guard = _go_on
) -> Iterator[pa.RecordBatch]:
    """Yield a split's rows, all of them, or raise.

    Args:
        split: What to read.
        newest_seen: Told the newest record timestamp of each hot chunk (epoch milliseconds).
        skipped: Told of each hot chunk how many tombstones were dropped from it.
        guard: Called often; what it raises ends the reading.

    Raises:
        HotsetError: The ranges could not be read to their end, or a record does not decode.
        ColdsetError: A data file could not be read.
        OptionError: A secret's reference names nothing here.
    """
    if isinstance(split, ColdSplit):
        return _read_cold(split, guard)
    return _read_hot(split, newest_seen, skipped, guard)


def _read_cold(split: ColdSplit, guard: Guard) -> Iterator[pa.RecordBatch]:
    for batch in read_cold(split.task, split.columns, resolve(split.catalog_properties)):
        guard()
        yield batch


def _read_hot(split: HotSplit, newest_seen: Note, skipped: Note, guard: Guard) -> Iterator[pa.RecordBatch]:
    client = connect(resolve(split.kafka_properties))
    decoder = RowDecoder(split.record_format, split.schema, split.kafka_columns, split.topic)
    deadline = Deadline.after_ms(split.read_timeout_ms)
    batches = drain(
        client,
        split.topic,
        split.ranges,
        split.isolation,
        deadline,
        DrainLimits(no_progress_ms=split.no_progress_timeout_ms),
        leader_epoch=split.leader_epoch,
        has_keys=decoder.needs_keys,
        has_headers=decoder.needs_headers,
        guard=guard,
    )
    for raw in batches:
        newest_seen(pc.max(raw.column("timestamp_ms")).as_py())
        decoded = decoder.decode(raw)
        skipped(decoded.tombstones)
        yield decoded.rows
    # Offsets of a topic that was recreated meanwhile mean other records.
    require_topic_id(client, split.topic, split.topic_id, deadline)
