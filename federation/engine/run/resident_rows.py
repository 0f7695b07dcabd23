"""Hot rows that a statement has read from the store, kept for the next one over the same columns.

Finding, mapping and judging chunks costs more than most statements do with their rows. While the log has
the same history and a cut begins at the same offsets, the rows of the last statement are those of this one
as far as they go, and only what lies between the two ends is read. What is kept are maps of the store's
files, so it is given up after seconds, and the store asked anew: it may have joined or evicted them, and has
to learn that they are used. The file must not know where rows come from; which offsets are read is the cut's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa

from federation.read import Guard, HotMeter, HotSplit, read_split
from foundation.lru import LruCache
from hotset.kafka import OffsetRange
from hotset.store import alike, join

_TABLES: Final = 16
_GOOD_S: Final = 5.0
# Rows that are copies beside the store's files are kept up to so many bytes for a table.
_BESIDE_BYTES: Final = 64 * 1024 * 1024
# So many batches of so few rows and bytes become one, since an engine pays for each.
_MANY: Final = 16
_SMALL_ROWS: Final = 4096
_SMALL_BYTES: Final = 1024 * 1024
# What has fewer rows may be such a one.
_FEW_ROWS: Final = 65536

_Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class HotRows:
    """The rows of a split, all of which are in the store; or about to be, where they are few.

    Those that found no room then, or were not written, are kept all the same: they are counted as copies.

    Invariant: no record of the split's ranges was left out or is not a row.
    """

    split: HotSplit
    rows: pa.Table = field(repr=False)
    newest_record_ms: int | None
    read_s: float

    def rest(self, split: HotSplit) -> tuple[OffsetRange, ...] | None:
        """Return what a split reads beyond these rows, or None if they are not the beginning of it."""
        mine, wanted = self.split, split
        same = replace(mine, ranges=wanted.ranges, leader_epoch=wanted.leader_epoch) == wanted
        if not same or len(mine.ranges) != len(wanted.ranges):
            return None
        rest = []
        for old, new in zip(mine.ranges, wanted.ranges, strict=True):
            epochs = {each.leader_epoch.get(new.partition, -1) for each in (mine, wanted)}
            # Under another leader the same offsets may be other records.
            if len(epochs) > 1 or -1 in epochs or (old.partition, old.start) != (new.partition, new.start):
                return None
            if new.end < old.end:
                return None
            rest.append(OffsetRange(new.partition, old.end, new.end))
        return tuple(each for each in rest if not each.is_empty)


_kept: Final[LruCache[_Key, HotRows]] = LruCache(_TABLES)


def recall(split: HotSplit) -> HotRows | None:
    """Return rows that are kept and are the beginning of a split's, or None."""
    found = _kept.get(_key(split))
    if found is None or time.monotonic() - found.read_s > _GOOD_S or found.rest(split) is None:
        return None
    return found


def read_resident_rows(split: HotSplit, meter: HotMeter, guard: Guard, *, is_kept: bool) -> pa.Table:
    """Return the rows of a split, with as many strings in dictionaries as the store has.

    Args:
        split: What to read.
        meter: Counts its records, also those that were kept.
        guard: Called often; what it raises ends the reading.
        is_kept: Whether statements to come may ask for the same.

    Raises:
        HotsetError, HotBudgetError: The split could not be read; see `read_split`.
    """
    before = recall(split)
    rest = split.ranges if before is None else before.rest(split)
    assert rest is not None
    found: list[pa.RecordBatch] = [] if before is None else before.rows.to_batches()
    read_s = time.monotonic() if before is None else before.read_s
    if before is not None:
        meter.recalled(before.rows.num_rows, before.newest_record_ms)
        if not rest:
            return before.rows
    left = replace(split, ranges=rest)
    found += read_split(left, meter, guard=guard, may_be_encoded=True, may_store_later=True)
    rows, beside_bytes = _table(found, split)
    if is_kept and meter.is_stored and beside_bytes <= _BESIDE_BYTES:
        _kept.put(_key(split), HotRows(split, rows, meter.newest_record_ms, read_s))
    return rows


def _key(split: HotSplit) -> _Key:
    return split.table, split.topic_id, tuple(split.schema.names)


def _table(batches: Sequence[pa.RecordBatch], split: HotSplit) -> tuple[pa.Table, int]:
    """Return batches as a table, and about how many bytes of it are copies and no maps."""
    whole = joined(batches)
    arrays, beside_bytes = [], 0
    for at, field_ in enumerate(split.schema):
        parts = [batch.column(at) for batch in whole]
        made = alike(parts)
        is_made = field_.name in split.kafka_columns
        beside_bytes += sum(
            array.nbytes
            for part, array in zip(parts, made, strict=True)
            if is_made or array is not part or len(array) < _FEW_ROWS
        )
        arrays.append(pa.chunked_array(made, made[0].type if made else field_.type))
    return pa.Table.from_arrays(arrays, names=split.schema.names), beside_bytes


def joined(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the same rows in fewer batches, in any order, if there are many small ones."""
    small = [batch for batch in batches if _is_small(batch)]
    if len(small) < _MANY:
        return list(batches)
    try:
        columns = [join([batch.column(at) for batch in small]) for at in range(small[0].num_columns)]
    except pa.ArrowInvalid:  # they are more than one array can hold
        return list(batches)
    names = small[0].schema.names
    large = [batch for batch in batches if not _is_small(batch)]
    return [*large, pa.RecordBatch.from_arrays(columns, names=names)]


def _is_small(batch: pa.RecordBatch) -> bool:
    return bool(batch.num_rows < _SMALL_ROWS and batch.nbytes <= _SMALL_BYTES)
