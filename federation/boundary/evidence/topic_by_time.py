"""Whether a topic is the one that filled a table, told by the times of records.

Offsets of a topic that was deleted and made anew mean other records, and most
writers do not note which topic they read. If the rows hold the times of their
records, these must be those that Kafka has. Else the commit's own time must do:
what a table holds is older than the commit that brought it. Producers set the
clock of records, so a single young one proves nothing; a log of nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldset.read import HeldFile, column_id, held_files
from coldset.table import PinnedTable, Snapshot
from federation.boundary.assumptions import Assumption
from federation.boundary.columns import Columns, Rows, can_tell, find_held, layout_of, require_same_topic
from federation.errors import BoundaryUnknownError, TopicReplacedError
from federation.options import TableDefinition, storage_for
from foundation.deadline import Deadline
from hotset.kafka import KafkaClient, LogBounds, read_offsets_at

# How far the clocks of producers and of whoever commits may lie apart before a whole log is believed.
_CLOCKS_MS: Final = 60_000

# Data files that are asked for the times of their rows, at each end.
_FILES: Final = 2


@dataclass(frozen=True, slots=True)
class TopicSeen:
    """What must be assumed of the topic's identity, and what was looked at."""

    assumed: tuple[Assumption, ...]
    looked: str


def look_at_times(
    pinned: PinnedTable,
    commit: Snapshot,
    next_offset: Mapping[int, int],
    definition: TableDefinition,
    client: KafkaClient,
    bounds: LogBounds,
    deadline: Deadline,
) -> TopicSeen:
    """Return what must be assumed for the topic to be the one that filled the table.

    Args:
        pinned: The loaded table and snapshot.
        commit: The commit that brought the records.
        next_offset: The boundary; of some partition not 0.
        definition: The table's settled options.
        client: The cluster.
        bounds: What the log holds.
        deadline: When to give up.

    Raises:
        TopicReplacedError: Kafka has other records than those that the table was filled with.
        OptionError: The table has the Kafka columns of two layouts.
        HotsetError, ColdsetError: Kafka or the table's files could not be read.
    """
    same = _look_at_rows(pinned, definition, client, bounds, deadline)
    if same:
        return TopicSeen((), f"{same} records that Kafka still has are of the time that the table's rows say")
    partitions = [p for p, offset in next_offset.items() if offset > 0]
    at = {
        since_ms: read_offsets_at(client, bounds.topic, partitions, since_ms, deadline)
        for since_ms in (0, commit.timestamp_ms + 1, commit.timestamp_ms + _CLOCKS_MS)
    }
    first, young, late = at.values()
    told = [p for p in partitions if first.get(p, next_offset[p]) < next_offset[p]]
    if not told:
        return TopicSeen((Assumption.SAME_TOPIC,), "Kafka has no record below the boundary any more")
    if all(late.get(p) == first[p] for p in told):
        raise _replaced(pinned, bounds.topic, commit, told[0], first[told[0]])
    if all(young.get(p, next_offset[p]) >= next_offset[p] for p in told):
        looked = f"what Kafka has below the boundary is older than the commit of {commit.timestamp_ms} ms"
        return TopicSeen((Assumption.RECORD_TIMES,), looked)
    looked = f"records below the boundary are younger than the commit of {commit.timestamp_ms} ms"
    return TopicSeen((Assumption.SAME_TOPIC,), looked)


def _look_at_rows(
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    bounds: LogBounds,
    deadline: Deadline,
) -> int:
    layout = layout_of(pinned.arrow_schema, definition)
    if layout is None or not {"partition", "offset"} <= set(layout.paths) or not can_tell(pinned, layout):
        return 0
    fields = [field for field in ("partition", "offset", "topic") if field in layout.paths]
    ids = tuple(column_id(pinned, layout.paths[field]) for field in fields)
    columns = Columns(ids, definition.topic if "topic" in fields else None)
    properties = storage_for(definition.catalog_name, definition.catalog_properties, pinned.identifier)
    files = held_files(pinned, ids)

    def look_into(some: tuple[HeldFile, ...]) -> int:
        held = find_held(pinned, some, columns, properties).spans
        rows = Rows.of(pinned, some, columns, layout, properties)
        return require_same_topic(rows, held, bounds, client, deadline)

    try:
        return look_into(_at_the_ends(files))
    except TopicReplacedError:
        return look_into(files)  # another file may have the row that is of this topic
    except BoundaryUnknownError:
        return 0  # rows that nobody has placed, or of elsewhere: they tell nothing


def _at_the_ends(files: tuple[HeldFile, ...]) -> tuple[HeldFile, ...]:
    """Return the files with the lowest and the highest offsets; those without bounds count as both."""

    def reaches(file: HeldFile) -> int:
        high = file.bounds.high[1]
        return high if isinstance(high, int) else 1 << 63

    ordered = sorted(files, key=reaches)
    chosen = {file.path: file for file in (*ordered[:_FILES], *ordered[-_FILES:])}
    return tuple(chosen.values())


def _replaced(
    pinned: PinnedTable, topic: str, commit: Snapshot, partition: int, offset: int
) -> TopicReplacedError:
    return TopicReplacedError(
        f"topic {topic!r} is not the topic that table {pinned.identifier!r} was filled from: all that Kafka "
        f"has below the boundary is younger than snapshot {commit.snapshot_id}, which was committed at "
        f"{commit.timestamp_ms} ms, from offset {offset} of partition {partition} on; make a new table for "
        "the new topic, or read this one with read=cold",
        table=pinned.identifier,
        topic=topic,
        partition=partition,
        offset=offset,
    )
