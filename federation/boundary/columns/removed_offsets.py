"""What a snapshot's ancestors held and it no longer does.

Rows that were deleted from the newest end of a table take the largest offset
with them, and a boundary from what is left would bring them back from Kafka.
So the data files that ancestors have taken out count as well, for as long as
the table's history has them. Only parents are walked: what a rollback undid was
never held by this snapshot. Deleted rows that were written again cannot be told
from a writer that has started over, and that is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from coldset.errors import ColdReadError
from coldset.read import HeldFile, held_files, may_take_out_rows, removed_files
from coldset.table import PinnedTable, is_complete, summary_value, walk_parents
from federation.boundary.assumptions import Assumption
from federation.boundary.columns.held_offsets import Columns, Held, find_held
from federation.boundary.committed import CommittedOffsets
from federation.boundary.offset_set import EMPTY, Spans, span, union
from federation.boundary.property import OFFSETS_PROPERTY, parse_offsets
from federation.errors import BoundaryUnknownError


@dataclass(frozen=True, slots=True)
class Past:
    """What ancestors say that the snapshot's own files do not.

    Attributes:
        spans: Partition to offsets that ancestors held or recorded as committed.
        floor: The nearest boundary that an ancestor has recorded, if any.
        looked: What was looked at, one sentence each.
        assumed: What expiry leaves open.
    """

    spans: Mapping[int, Spans] = field(default_factory=dict)
    floor: CommittedOffsets | None = None
    looked: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()


def find_past(pinned: PinnedTable, held: Held, columns: Columns, io_properties: Mapping[str, str]) -> Past:
    """Return which offsets were in the table before the pinned snapshot.

    Args:
        pinned: The loaded table and snapshot.
        held: What the snapshot's own files hold.
        columns: Where files keep the coordinates of their rows.
        io_properties: pyiceberg properties for reaching the files, secrets resolved.

    Raises:
        BoundaryUnknownError: Deleted rows have been written again, or a recorded boundary is malformed.
        ColdReadError: A manifest could not be read.
    """
    floor = _recorded(pinned)
    spans = {} if floor is None else {p: span(0, end) for p, end in floor.next_offset.items()}
    looked = (
        () if floor is None else (f"{OFFSETS_PROPERTY} in {floor.provenance}, below which nothing is hot",)
    )
    taken, unread = _taken_out(pinned, columns, io_properties)
    gone = {
        p: found
        for each in taken
        for p, found in _without(each[1].spans, held.spans).items()
        if not found.is_empty
    }
    if gone:
        for snapshot_id, removed in taken:
            _require_not_written_again(pinned, snapshot_id, removed, held, columns, io_properties)
            for partition, found in removed.spans.items():
                spans[partition] = union([spans.get(partition, EMPTY), found])
        looked = (*looked, f"data files that {len(taken)} ancestors have taken out: they held deleted rows")
    if unread:
        looked = (*looked, f"{unread} data files that ancestors have taken out are gone, and were not read")
    is_cut = not is_complete(pinned.table, pinned.snapshot)
    if is_cut:
        looked = (*looked, "older ancestors have been expired: rows that they deleted are not known of")
    # What an ancestor has recorded as committed covers what was deleted before.
    assumed = (Assumption.FORGOTTEN_DELETES,) if is_cut and floor is None else ()
    return Past(spans, floor, looked, assumed)


def _recorded(pinned: PinnedTable) -> CommittedOffsets | None:
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        text = summary_value(snapshot, OFFSETS_PROPERTY)
        if text is not None:
            found_in = f"the summary of snapshot {snapshot.snapshot_id}"
            return parse_offsets(text, snapshot_id=snapshot.snapshot_id, provenance=found_in)
    return None


def _taken_out(
    pinned: PinnedTable, columns: Columns, io_properties: Mapping[str, str]
) -> tuple[list[tuple[int, Held]], int]:
    found, unread = [], 0
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        if not may_take_out_rows(snapshot):
            continue
        parts = []
        for file in removed_files(pinned, snapshot, columns.ids):
            part = _find_removed(pinned, file, columns, io_properties)
            unread += part is None
            parts.append(part or Held())
        spans = {p for part in parts for p in part.spans}
        joined = {p: union([part.spans.get(p, EMPTY) for part in parts]) for p in spans}
        found.append((snapshot.snapshot_id, Held(joined)))
    return found, unread


def _find_removed(
    pinned: PinnedTable, file: HeldFile, columns: Columns, io_properties: Mapping[str, str]
) -> Held | None:
    try:
        return find_held(pinned, [file], columns, io_properties)
    except (ColdReadError, BoundaryUnknownError):
        # Expiry removes files that only expired snapshots had; and rows without
        # coordinates may be just what was deleted.
        return None


def _require_not_written_again(
    pinned: PinnedTable,
    snapshot_id: int,
    removed: Held,
    held: Held,
    columns: Columns,
    io_properties: Mapping[str, str],
) -> None:
    then = replace(pinned, snapshot=pinned.table.metadata.snapshot_by_id(snapshot_id))
    left = find_held(then, held_files(then, columns.ids), columns, io_properties)
    for partition, deleted in _without(removed.spans, left.spans).items():
        again = deleted.intersect(held.spans.get(partition, EMPTY))
        if not again.is_empty:
            raise BoundaryUnknownError(
                f"snapshot {snapshot_id} of table {pinned.identifier!r} deleted rows of partition "
                f"{partition} from offset {again.first} on, and they have been written again since, but "
                "not all that was deleted: whether a writer started over or rows are meant to stay deleted "
                "cannot be told; "
                "declare the boundary with committedOffsets until the writer has caught up",
                table=pinned.identifier,
                partition=partition,
                snapshot_id=pinned.snapshot_id,
            )


def _without(spans: Mapping[int, Spans], others: Mapping[int, Spans]) -> dict[int, Spans]:
    return {p: found.subtract(others.get(p, EMPTY)) for p, found in spans.items()}
