"""Whether Kafka holds the records that a table's rows were made of.

A topic that was deleted and made anew has the same name and the same offsets,
and rows say neither which topic's they are. The time of a record tells them
apart: at both ends of what Kafka still has of the table's records, per
partition, the rows must be of the time that the records are of. Records that
retention, compaction or a transaction took away tell nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.read import HeldFile, column_id, read_held
from coldset.table import PinnedTable
from federation.boundary.columns.held_offsets import Columns, find_held
from federation.boundary.columns.layouts import KafkaLayout, type_at
from federation.boundary.offset_set import EMPTY, Spans, span
from federation.errors import TopicReplacedError
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.decode import is_time
from hotset.drain import drain
from hotset.kafka import Isolation, KafkaClient, LogBounds, OffsetRange

# How many offsets are read at an end, more of them only where fewer held no record.
_WINDOWS: Final = (1, 1_000, 50_000)

Place = tuple[int, int]

# Of a topic's incarnation the older end is looked at once: partitions of (table, topic, columns).
_older_seen: Final = LruCache[tuple[str, str, int, Columns], str](4096)


def can_tell(pinned: PinnedTable, layout: KafkaLayout) -> bool:
    """Return whether rows of the table hold the time of their record."""
    path = layout.paths.get("timestamp")
    return path is not None and is_time(type_at(pinned.arrow_schema, path))


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, as far as they say of which records they are.

    Attributes:
        pinned: The loaded table and snapshot.
        files: Its data files.
        columns: Where these keep the coordinates of their rows.
        time: Id of the column with the time of the record.
        io_properties: pyiceberg properties for reaching the files, secrets resolved.
    """

    pinned: PinnedTable
    files: Collection[HeldFile]
    columns: Columns
    time: int
    io_properties: Mapping[str, str]

    @classmethod
    def of(
        cls,
        pinned: PinnedTable,
        files: Collection[HeldFile],
        columns: Columns,
        layout: KafkaLayout,
        io_properties: Mapping[str, str],
    ) -> Rows:
        """Return the rows of a table whose layout `can_tell`."""
        return cls(pinned, files, columns, column_id(pinned, layout.paths["timestamp"]), io_properties)

    def times(self, places: Collection[Place]) -> dict[Place, set[int]]:
        """Return of which times (epoch milliseconds) the rows at some (partition, offset) are.

        Raises:
            ColdReadError: A file could not be read.
        """
        found: dict[Place, set[int]] = {}
        for file in self.files:
            held = find_held(self.pinned, [file], self.columns, self.io_properties).spans
            here = [(p, offset) for p, offset in places if _has(held.get(p, EMPTY), offset)]
            if not here:
                continue
            partition, offset = self.columns.ids[:2]
            only = {partition: {p for p, _ in here}, offset: {o for _, o in here}}
            ids = (partition, offset, self.time)
            for arrays in read_held(self.pinned, file, self.io_properties, ids, only):
                times = _to_ms(arrays[2])
                kept = pc.and_(pc.is_in(arrays[1], pa.array(only[offset], arrays[1].type)), times.is_valid())
                rows = zip(*(array.filter(kept).to_pylist() for array in (*arrays[:2], times)), strict=True)
                for p, o, time_ms in rows:
                    if (p, o) in places:  # and not at the offset that another partition is asked for
                        found.setdefault((p, o), set()).add(time_ms)
        return found


def require_same_topic(
    rows: Rows, held: Mapping[int, Spans], bounds: LogBounds, client: KafkaClient, deadline: Deadline
) -> int:
    """Return how many records Kafka has that are of the time that the table's rows say; 0 tells nothing.

    Args:
        rows: The rows of the table.
        held: Partition to offsets that they have.
        bounds: What the log holds.
        client: The cluster.
        deadline: When to give up.

    Raises:
        TopicReplacedError: A record is of another time than the row at its place.
        HotsetError, ColdsetError: Records or rows could not be read.
    """
    both = {
        found.partition: held.get(found.partition, EMPTY).within(
            found.log_start, max(found.log_start, found.end)
        )
        for found in bounds.partitions
    }
    left = {p: spans for p, spans in both.items() if not spans.is_empty}
    names = {p: (rows.pinned.uuid, bounds.topic_id, p, rows.columns) for p in left}
    older = {p: spans for p, spans in left.items() if _older_seen.get(names[p]) is None}
    oldest = _find_records(older, bounds.topic, client, deadline, newest=False)
    records = {**_find_records(left, bounds.topic, client, deadline, newest=True), **oldest}
    told = rows.times(records)
    for place in sorted(told):
        if records[place] not in told[place]:
            raise replaced(rows.pinned, bounds.topic, place, records[place], min(told[place]))
    for place in told:
        if place in oldest:
            _older_seen.put(names[place[0]], bounds.topic_id)
    return len(told)


def replaced(
    pinned: PinnedTable, topic: str, place: Place, found_ms: int, told_ms: int
) -> TopicReplacedError:
    """Return the error for a record that is not the one that was read into the table."""
    partition, offset = place
    return TopicReplacedError(
        f"topic {topic!r} is not the topic that table {pinned.identifier!r} was filled from: the record at "
        f"offset {offset} of partition {partition} is of {found_ms} ms, and the table was filled with one of "
        f"{told_ms} ms there; make a new table for the new topic, or read this one with read=cold",
        table=pinned.identifier,
        topic=topic,
        partition=partition,
        offset=offset,
    )


def _find_records(
    held: Mapping[int, Spans], topic: str, client: KafkaClient, deadline: Deadline, *, newest: bool
) -> dict[Place, int]:
    """Return, per partition, where the newest (or oldest) held record is that Kafka has, and its time."""
    found: dict[int, tuple[Place, int]] = {}
    for window in _WINDOWS:
        left = {p: spans for p, spans in held.items() if p not in found}
        ranges = tuple(
            OffsetRange(p, max(spans.first, spans.top - window), spans.top)
            if newest
            else OffsetRange(p, spans.first, min(spans.top, spans.first + window))
            for p, spans in left.items()
        )
        for batch in drain(client, topic, ranges, Isolation.READ_UNCOMMITTED, deadline):
            timed = batch.filter(pc.greater_equal(batch.column("timestamp_ms"), 0))
            for partition in pc.unique(timed.column("partition")).to_pylist():
                if partition in found and not newest:
                    continue
                mine = timed.filter(pc.equal(timed.column("partition"), partition))
                both = Spans.from_offsets(mine.column("offset")).intersect(left[partition])
                if both.is_empty:
                    continue
                offset = both.top - 1 if newest else both.first
                at = pc.index(mine.column("offset"), offset).as_py()
                found[partition] = (partition, offset), mine.column("timestamp_ms")[at].as_py()
    return dict(found.values())


def _has(spans: Spans, offset: int) -> bool:
    # Most files are far from the place, and their ends say so faster than a set does.
    is_near = not spans.is_empty and spans.first <= offset < spans.top
    return is_near and not spans.intersect(span(offset, offset + 1)).is_empty


def _to_ms(times: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(times.type):
        return times
    return times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
