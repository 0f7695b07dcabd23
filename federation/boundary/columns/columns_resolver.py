"""The boundary of a table whose rows carry their Kafka partition and offset.

Any writer can be understood this way: per partition, the boundary is one past
the largest offset that the snapshot or an ancestor has held. That alone proves
nothing, since a writer may commit later records before earlier ones. So the
offsets must be without holes, or what Kafka still holds in the holes must make
no row. Holes that Kafka no longer holds cannot be proven either way, and the
answer says that they are taken to be harmless. This file only puts together
what `held_offsets`, `removed_offsets` and `holes` find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldset.read import column_id, held_files
from coldset.table import PinnedTable
from federation.boundary.assumptions import Assumption, Basis, in_order
from federation.boundary.columns.held_offsets import Columns, Held, find_held
from federation.boundary.columns.holes import look_into
from federation.boundary.columns.layouts import KafkaLayout, layout_of
from federation.boundary.columns.removed_offsets import Past, find_past
from federation.boundary.columns.topic_identity import Rows, can_tell, require_same_topic
from federation.boundary.committed import CommittedOffsets
from federation.boundary.offset_set import EMPTY, Spans, union
from federation.errors import OptionError
from federation.options import TableDefinition, storage_for
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.kafka import KafkaClient, OffsetRange, read_log_bounds

_UNSEEN: Final = "a topic that was deleted and made anew would not be noticed"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the table says, whatever Kafka holds by now.

    Attributes:
        columns: Where files keep the coordinates of their rows.
        held: What the snapshot's own files hold.
        past: What its ancestors held or recorded.
        committed: Both, per partition that has any.
        holes: What lies below the largest of these and is not among them.
    """

    columns: Columns
    held: Held
    past: Past
    committed: Mapping[int, Spans]
    holes: Mapping[int, Spans]


# A snapshot never changes, so what its files and its ancestors say stays true.
_known: Final = LruCache[tuple[str, int, Columns], _Evidence](64)


def resolve_columns(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the boundary that the table's own Kafka columns prove.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `kafka_columns` may name the columns.
        client: The cluster, to look into holes, and whether it still has the table's records.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: Kafka holds a visible record that the snapshot
            passed over, or the columns do not tell, or too much would have to be read.
        OptionError: The table has no Kafka columns, or more than one kind of them.
        OffsetOverlapError: The table reaches past the readable end of the log.
        TopicReplacedError: Kafka has other records than those of the table at their offsets.
        HotsetError, ColdsetError: The holes or the columns could not be read.
    """
    layout = layout_of(pinned.arrow_schema, definition)
    if layout is None or not {"partition", "offset"} <= set(layout.paths):
        raise OptionError(
            f"boundary=columns needs option 'kafkaColumns' with partition and offset, since table "
            f"{pinned.identifier!r} has no Kafka columns by a known name",
            option="kafkaColumns",
        )
    evidence = _read_evidence(pinned, layout, definition)
    held, past, committed, holes = evidence.held, evidence.past, evidence.committed, evidence.holes
    lost = () if past.floor is None else past.floor.lost
    if definition.accepts_gaps:
        late = tuple(_leading(holes))
        holes = {p: found.within(committed[p].first, found.top) for p, found in holes.items()}
        lost = (*lost, *late)
    asked = _ask_kafka(holes, evidence, pinned, layout, definition, client, deadline)
    return CommittedOffsets(
        snapshot_id=pinned.snapshot_id,
        topic_id=asked.topic_id,
        next_offset={p: found.top for p, found in committed.items()},
        isolation=None if past.floor is None else past.floor.isolation,
        resolver="columns",
        provenance=_provenance(layout, held),
        basis=Basis.ROWS,
        assumed=in_order((*past.assumed, *asked.assumed, *_of_rows(evidence, definition))),
        lost=lost,
        looked=(*_said(layout, held), *past.looked, *asked.looked),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What Kafka says: which topic it has now, and what it leaves open."""

    topic_id: str | None
    assumed: tuple[Assumption, ...]
    looked: tuple[str, ...]


def _ask_kafka(
    holes: Mapping[int, Spans],
    evidence: _Evidence,
    pinned: PinnedTable,
    layout: KafkaLayout,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
) -> _Asked:
    assert definition.topic is not None
    floor = evidence.past.floor
    recorded = None if floor is None else floor.topic_id
    tells = recorded is None and bool(evidence.committed) and can_tell(pinned, layout)
    is_known = recorded is not None or not evidence.committed
    said: tuple[str, ...] = ()
    if not is_known and not tells:
        said = (f"no column with the time of records: {_UNSEEN}",)
    if not tells and all(found.is_empty for found in holes.values()):
        return _Asked(recorded, (), (*said, "the offsets have no holes"))
    bounds = read_log_bounds(client, definition.topic, definition.isolation, deadline)
    if tells:
        properties = _storage(pinned, definition)
        files = held_files(pinned, evidence.columns.ids)
        rows = Rows.of(pinned, files, evidence.columns, layout, properties)
        same = require_same_topic(rows, evidence.held.spans, bounds, client, deadline)
        is_known = same > 0
        said = (
            f"{same} records at the ends of what Kafka still has: of the time that the table's rows say"
            if same
            else f"no record of the table that Kafka still has: {_UNSEEN}",
        )
    assumed, looked = look_into(holes, pinned, definition, client, bounds, deadline)
    return _Asked(recorded or (bounds.topic_id if is_known else None), assumed, (*said, looked))


def _of_rows(evidence: _Evidence, definition: TableDefinition) -> tuple[Assumption, ...]:
    floor = evidence.past.floor
    is_told = definition.states_isolation or (floor is not None and floor.isolation is not None)
    # Markers of transactions are holes; without one there is no aborted record among the rows.
    has_holes = any(not found.is_empty for found in evidence.holes.values())
    found = {
        Assumption.REPEATED_ROWS: evidence.held.repeated > 0,
        Assumption.WRITER_ISOLATION: has_holes and not is_told,
    }
    return tuple(each for each, is_so in found.items() if is_so)


def _read_evidence(pinned: PinnedTable, layout: KafkaLayout, definition: TableDefinition) -> _Evidence:
    fields = [field for field in ("partition", "offset", "topic") if field in layout.paths]
    columns = Columns(
        tuple(column_id(pinned, layout.paths[field]) for field in fields),
        definition.topic if "topic" in fields else None,
    )
    assert pinned.snapshot is not None
    key = (pinned.uuid, pinned.snapshot.snapshot_id, columns)
    known = _known.get(key)
    if known is not None:
        return known
    properties = _storage(pinned, definition)
    held = find_held(pinned, held_files(pinned, columns.ids), columns, properties)
    past = find_past(pinned, held, columns, properties)
    committed = _together(held, past)
    found = _Evidence(columns, held, past, committed, {p: each.holes() for p, each in committed.items()})
    _known.put(key, found)
    return found


def _storage(pinned: PinnedTable, definition: TableDefinition) -> dict[str, str]:
    return storage_for(definition.catalog_name, definition.catalog_properties, pinned.identifier)


def _together(held: Held, past: Past) -> dict[int, Spans]:
    partitions = sorted({*held.spans, *past.spans})
    both = {p: union([held.spans.get(p, EMPTY), past.spans.get(p, EMPTY)]) for p in partitions}
    return {p: found for p, found in both.items() if not found.is_empty}


def _leading(holes: Mapping[int, Spans]) -> list[OffsetRange]:
    return [
        OffsetRange(p, 0, next(iter(found))[1])
        for p, found in holes.items()
        if not found.is_empty and found.first == 0
    ]


def _provenance(layout: KafkaLayout, held: Held) -> str:
    sources = ", ".join(f"{count} by {source}" for source, count in sorted(held.sources.items()))
    offset, partition = (".".join(layout.paths[field]) for field in ("offset", "partition"))
    return f"the largest {offset} per {partition}, and what lies between, of data files: {sources or 'none'}"


def _said(layout: KafkaLayout, held: Held) -> tuple[str, ...]:
    named = ", ".join(f"{field}={'.'.join(path)}" for field, path in layout.paths.items())
    said: tuple[str, ...] = (f"Kafka columns ({layout.name}): {named}",)
    if held.repeated > 0:
        said = (*said, f"{held.repeated} rows have an offset that another row has, too")
    return said
