"""Which offsets the data files of a table hold, found in the cheapest way that proves it.

A file whose rows are all of one Kafka partition, and as many as its offsets lie
apart, holds each of these offsets: its manifest entry says so, or else its
Parquet footer does, row group by row group. Only what neither settles is read,
two columns of it. Files never change, so what was found for one is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.read import HeldFile, RowBounds, footer_bounds, read_held
from coldset.table import PinnedTable
from federation.boundary.offset_set import EMPTY, Spans, span, union
from federation.errors import BoundaryUnknownError
from foundation.lru import LruCache

BY_MANIFEST: Final = "manifest bounds"
BY_FOOTER: Final = "Parquet footers"
BY_SCAN: Final = "reading"

_SPANS_KEPT: Final = 1 << 22

# The offset after the last one must still be a number of 64 bits.
_LARGEST: Final = (1 << 63) - 2


@dataclass(frozen=True, slots=True)
class Held:
    """The offsets that some files hold.

    Attributes:
        spans: Partition to offsets.
        rows: Rows of the files; more than there are offsets if some offsets come twice.
        sources: How many files were settled in which way.
    """

    spans: Mapping[int, Spans] = field(default_factory=dict)
    rows: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)

    @property
    def repeated(self) -> int:
        """Rows whose offset another row has, too."""
        return self.rows - sum(found.size for found in self.spans.values())


@dataclass(frozen=True, slots=True)
class Columns:
    """Where files keep the coordinates of their rows.

    Attributes:
        ids: Ids of the columns of partition, offset and, if there is one, topic.
        topic: The topic that all rows must be of; None if the table does not tell.
    """

    ids: tuple[int, ...]
    topic: str | None


def settle(bounds: RowBounds, columns: Columns) -> tuple[int, Spans] | None:
    """Return which offsets of which partition some rows have, if their bounds alone prove it.

    Distinct offsets that are as many as there are places between the bounds
    leave no place free. That no offset comes twice among these rows is taken
    for granted: a file that has one offset twice and lacks another is not seen.
    """
    if columns.topic is not None and not bounds.low[2] == bounds.high[2] == columns.topic:
        return None
    partition, low, high = bounds.low[0], bounds.low[1], bounds.high[1]
    if not isinstance(partition, int) or partition != bounds.high[0] or partition < 0:
        return None
    if not isinstance(low, int) or not isinstance(high, int) or low < 0 or high > _LARGEST:
        return None
    return (partition, span(low, high + 1)) if bounds.rows == high - low + 1 else None


def find_held(
    pinned: PinnedTable, files: Iterable[HeldFile], columns: Columns, io_properties: Mapping[str, str]
) -> Held:
    """Return the offsets that the files hold together.

    Raises:
        BoundaryUnknownError: Rows lack partition or offset, or are of another topic.
        ColdReadError: A file could not be read.
    """
    spans: dict[int, list[Spans]] = {}
    rows, sources = 0, Counter[str]()
    for file in files:
        found = _of_file(pinned, file, columns, io_properties)
        rows += found.rows
        sources.update(found.sources)
        for partition, held in found.spans.items():
            spans.setdefault(partition, []).append(held)
    return Held({p: union(parts) for p, parts in sorted(spans.items())}, rows, dict(sources))


def _of_file(pinned: PinnedTable, file: HeldFile, columns: Columns, io_properties: Mapping[str, str]) -> Held:
    key = (pinned.uuid, file.path, columns)
    known = _kept.get(key)
    if known is None:
        known = _look(pinned, file, columns, io_properties)
        _kept.put(key, known)
    return known


def _look(pinned: PinnedTable, file: HeldFile, columns: Columns, io_properties: Mapping[str, str]) -> Held:
    rows = file.bounds.rows
    if rows == 0:
        return Held({}, 0, {BY_MANIFEST: 1})
    settled = settle(file.bounds, columns)
    if settled is not None:
        return Held(dict([settled]), rows, {BY_MANIFEST: 1})
    if _footers_may_settle(file.bounds):
        groups = footer_bounds(pinned, file, io_properties)
        found = [settle(group, columns) for group in groups or () if group.rows]
        if groups is not None and all(found) and sum(group.rows for group in groups) == rows:
            return Held(_joined(each for each in found if each is not None), rows, {BY_FOOTER: 1})
    return Held(_joined(_scan(pinned, file, columns, io_properties)), rows, {BY_SCAN: 1})


def _footers_may_settle(bounds: RowBounds) -> bool:
    # Row groups of a file that is known to be all of one partition lack what the file lacks.
    partition_known = bounds.low[0] is not None and bounds.low[0] == bounds.high[0]
    offsets_known = bounds.low[1] is not None
    topic_known = len(bounds.low) < 3 or (bounds.low[2] is not None and bounds.low[2] == bounds.high[2])
    return not (partition_known and offsets_known and topic_known)


def _scan(
    pinned: PinnedTable, file: HeldFile, columns: Columns, io_properties: Mapping[str, str]
) -> Iterator[tuple[int, Spans]]:
    for arrays in read_held(pinned, file, io_properties):
        if any(array.null_count for array in arrays):
            raise _unknown(pinned, file, "has rows whose Kafka columns are null")
        if columns.topic is not None and len(arrays[0]):
            topics = pc.unique(arrays[2])
            if topics.to_pylist() != [columns.topic]:
                others = ", ".join(repr(name) for name in sorted(topics.to_pylist()))
                raise _unknown(
                    pinned, file, f"has rows of topic {others}, and not of {columns.topic!r} alone"
                )
        partitions, offsets = (array.cast(pa.int64()) for array in arrays[:2])
        if len(offsets) and min(pc.min(offsets).as_py(), pc.min(partitions).as_py()) < 0:
            raise _unknown(pinned, file, "has rows with a partition or offset below zero")
        if len(offsets) and pc.max(offsets).as_py() > _LARGEST:
            raise _unknown(pinned, file, "has rows with an offset that no log can have")
        for partition in pc.unique(partitions).to_pylist():
            yield partition, Spans.from_offsets(offsets.filter(pc.equal(partitions, partition)))


def _joined(parts: Iterable[tuple[int, Spans]]) -> dict[int, Spans]:
    found: dict[int, Spans] = {}
    for partition, spans in parts:
        found[partition] = union([found.get(partition, EMPTY), spans])
    return found


def _unknown(pinned: PinnedTable, file: HeldFile, what: str) -> BoundaryUnknownError:
    return BoundaryUnknownError(
        f"file {file.path} of table {pinned.identifier!r} {what}, so these columns do not tell the table's "
        "boundary; name the right ones with kafkaColumns, or let the writer record its boundary",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
        file=file.path,
    )


def _weight(found: Held) -> int:
    # A file's own entry weighs more than a range of offsets.
    return 16 + sum(len(spans) for spans in found.spans.values())


_kept: Final = LruCache[tuple[str, str, Columns], Held](_SPANS_KEPT, _weight)
