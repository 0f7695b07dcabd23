"""Gather what the table itself tells: its history, its manifests, and the offsets in its rows.

The offsets of the whole snapshot are read, two columns of it, and kept as
ranges, so that memory grows with the holes and not with the rows. Nothing is
judged here, and Kafka is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.errors import ColdsetError, UnsupportedTableError
from coldset.plan import plan_cold
from coldset.read import leaf_of, read_cold
from coldset.table import FileReference, PinnedTable, is_complete, kept_until_ms, list_files, walk_parents
from federation.boundary import EMPTY, PIN_TAG, KafkaLayout, Spans, layout_of, marks_of, union
from federation.doctor.examined_facts import Ancestor, History, Missing, Positions
from federation.doctor.overlap import overlap, repeated
from federation.errors import OptionError
from federation.options import TableDefinition, storage_for

# Ranges of one partition that are gathered before they are joined, and of all that are kept.
_JOINED_AT: Final = 1 << 18
_KEPT: Final = 1 << 23


def gather_history(pinned: PinnedTable, definition: TableDefinition) -> History:
    """Return the ancestry of the pinned snapshot, and where in it the nearest mark is."""
    table = pinned.table
    pin_ref = table.metadata.refs.get(PIN_TAG)
    ancestors, mark, mark_name = [], None, None
    for position, snapshot in enumerate(walk_parents(table, pinned.snapshot)):
        summary = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if mark is None:
            mark_name = next((resolver.mark for resolver in marks_of(snapshot)), None)
            mark = None if mark_name is None else position
        ancestors.append(
            Ancestor(
                snapshot_id=snapshot.snapshot_id,
                timestamp_ms=snapshot.timestamp_ms,
                operation=snapshot.summary.operation.value if snapshot.summary else "append",
                summary=summary,
                kept_until_ms=kept_until_ms(table, snapshot),
                is_pinned=pin_ref is not None and pin_ref.snapshot_id == snapshot.snapshot_id,
            )
        )
    head = table.metadata.snapshot_by_name(definition.ref or "main")
    is_head = head is not None and head.snapshot_id == pinned.snapshot_id
    return History(
        tuple(ancestors), is_complete(table, pinned.snapshot), is_head, mark, mark_name, pin_ref is not None
    )


def gather_files(pinned: PinnedTable) -> tuple[FileReference, ...] | Missing:
    """Return the entries of the snapshot's manifests.

    What cannot be read is `Missing`.
    """
    try:
        return tuple(list_files(pinned))
    except ColdsetError as exc:
        return Missing(str(exc), is_failure=True)


def find_unreadable(pinned: PinnedTable, definition: TableDefinition) -> str | Missing | None:
    """Return why no query can read the snapshot, or None if it can be planned.

    Manifests that cannot be read are `Missing`.
    """
    try:
        plan_cold(pinned, split_bytes=definition.split_bytes)
    except UnsupportedTableError as exc:
        return str(exc)
    except ColdsetError as exc:
        return Missing(str(exc), is_failure=True)
    return None


def gather_positions(pinned: PinnedTable, definition: TableDefinition) -> Positions | Missing:
    """Return which offsets the snapshot's rows hold.

    What cannot be read is `Missing`.
    """
    tally = _Tally()
    try:
        layout = layout_of(pinned.arrow_schema, definition)
        if layout is None or not {"partition", "offset"} <= set(layout.paths):
            return Missing(
                "the table names no columns with Kafka's partition and offset; set option kafkaColumns, if "
                "it has them",
                is_failure=False,
            )
        for batch in _read(pinned, definition, layout):
            tally.add(batch)
            if tally.weight > _KEPT:
                return Missing(
                    f"the offsets of the table fall into more than {_KEPT} ranges, which is more than are "
                    "kept in memory",
                    is_failure=True,
                )
    except (ColdsetError, OptionError) as exc:
        return Missing(str(exc), is_failure=True)
    return tally.total()


def _read(pinned: PinnedTable, definition: TableDefinition, layout: KafkaLayout) -> Iterator[pa.RecordBatch]:
    fields = [field for field in ("partition", "offset", "topic") if field in layout.paths]
    names = list(dict.fromkeys(layout.paths[field][0] for field in fields))
    properties = storage_for(definition.catalog_name, definition.catalog_properties, pinned.identifier)
    for task in plan_cold(pinned, split_bytes=definition.split_bytes):
        for found in read_cold(task, tuple(names), properties):
            arrays = [leaf_of(found, layout.paths[field]) for field in fields]
            batch = pa.RecordBatch.from_arrays(arrays, names=fields)
            if "topic" not in layout.paths:
                yield batch
            else:
                # Several topics may fill one table; their offsets have nothing to do with each other.
                yield batch.filter(pc.equal(batch.column(2), definition.topic))


class _Tally:
    """The offsets met so far; pending sets are joined before they become many."""

    def __init__(self) -> None:
        self._pending: dict[int, list[Spans]] = {}
        self._weights: dict[int, int] = {}
        self._repeated: dict[int, Spans] = {}
        self._rows: dict[int, int] = {}
        self._rows_without = 0

    @property
    def weight(self) -> int:
        """Ranges that are kept."""
        return sum(self._weights.values()) + sum(len(spans) for spans in self._repeated.values())

    def add(self, batch: pa.RecordBatch) -> None:
        known = batch.filter(pc.and_(batch.column(0).is_valid(), batch.column(1).is_valid()))
        self._rows_without += batch.num_rows - known.num_rows
        partitions, offsets = known.column(0), known.column(1).cast(pa.int64())
        for partition in pc.unique(partitions).to_pylist():
            self._take(partition, offsets.filter(pc.equal(partitions, partition)))

    def _take(self, partition: int, offsets: pa.Int64Array) -> None:
        found = Spans.from_offsets(offsets)
        self._rows[partition] = self._rows.get(partition, 0) + len(offsets)
        if found.size < len(offsets):
            self._repeat(partition, repeated(offsets))
        self._pending.setdefault(partition, []).append(found)
        self._weights[partition] = self._weights.get(partition, 0) + len(found)
        # Joining costs a pass over what is there, so it waits until that has doubled.
        if self._weights[partition] > 2 * len(self._pending[partition][0]) + _JOINED_AT:
            self._join(partition)

    def _join(self, partition: int) -> Spans:
        pending = self._pending[partition]
        joined = union(pending)
        if joined.size < sum(spans.size for spans in pending):
            self._repeat(partition, overlap(pending))
        self._pending[partition] = [joined]
        self._weights[partition] = len(joined)
        return joined

    def _repeat(self, partition: int, again: Spans) -> None:
        self._repeated[partition] = union([self._repeated.get(partition, EMPTY), again])

    def total(self) -> Positions:
        held = {partition: self._join(partition) for partition in sorted(self._pending)}
        extra = {partition: self._rows[partition] - spans.size for partition, spans in held.items()}
        return Positions(
            held=held,
            repeated=dict(sorted(self._repeated.items())),
            extra_rows={partition: rows for partition, rows in extra.items() if rows},
            rows_without=self._rows_without,
        )
