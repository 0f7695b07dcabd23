"""Rows of hot ranges as values: what a piece of a log becomes, and what of it is no row.

Rows carry three columns beside the table's, which say where each record was: pieces can then be cut at any
offset, and later records be told from earlier ones. Their names and ids are none that a table has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode import MARKS, BadRecord, Source
from hotset.kafka import OffsetRange

PARTITION: Final = "$partition"
OFFSET: Final = "$offset"
TIMESTAMP_MS: Final = "$timestamp_ms"

# Iceberg reserves ids above 2147483447, and tables count theirs from 1.
_FIRST_ID: Final = 2_000_000_000


def _place_field(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(
        name, kind, nullable=False, metadata={b"PARQUET:field_id": str(_FIRST_ID + number).encode()}
    )


PLACE: Final = (
    _place_field(PARTITION, pa.int32(), 1),
    _place_field(OFFSET, pa.int64(), 2),
    _place_field(TIMESTAMP_MS, pa.int64(), 3),
)
# Columns that tell of bad records in answers, as files have them.
FILE_MARKS: Final = tuple(
    mark.with_metadata({b"PARQUET:field_id": str(_FIRST_ID + number).encode()})
    for number, mark in enumerate(MARKS, 4)
)
PLACE_SOURCES: Final[Mapping[str, Source]] = {
    PARTITION: "partition",
    OFFSET: "offset",
    TIMESTAMP_MS: "timestamp",
}

# Records that are no rows, or rows without a value of their own; without a reason they are tombstones.
OTHERS: Final = pa.schema(
    [
        pa.field(PARTITION, pa.int32(), nullable=False),
        pa.field(OFFSET, pa.int64(), nullable=False),
        pa.field(TIMESTAMP_MS, pa.int64(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)

# Where there is such a column, bad records are rows.
_MARK: Final = MARKS[0].name

# How many bad records are named, and how much of the reason.
NAMED: Final = 5
_REASON_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What the records of some ranges were.

    Attributes:
        rows: Rows of the table.
        tombstones: Records without a value that were dropped.
        bad: Records that are no rows of the table.
        bad_rows: Those of them that are among the rows, which tell of them.
        first_bad: The first of these by partition and offset, at most `NAMED`.
        newest_ms: Newest timestamp of all records, or None if there are none.
        unmapped: Paths of fields of these records, or of others that were read with them, that the table has
            no column for.
    """

    rows: int = 0
    tombstones: int = 0
    bad: int = 0
    bad_rows: int = 0
    first_bad: tuple[BadRecord, ...] = ()
    newest_ms: int | None = None
    unmapped: frozenset[str] = frozenset()

    def plus(self, other: RowCounts) -> RowCounts:
        """Return the counts of both."""
        times = [ms for ms in (self.newest_ms, other.newest_ms) if ms is not None]
        return RowCounts(
            self.rows + other.rows,
            self.tombstones + other.tombstones,
            self.bad + other.bad,
            self.bad_rows + other.bad_rows,
            tuple(sorted((*self.first_bad, *other.first_bad))[:NAMED]),
            max(times, default=None),
            self.unmapped | other.unmapped,
        )

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.rows + self.tombstones + self.bad - self.bad_rows


@dataclass(frozen=True, slots=True)
class Rows:
    """All that the records of some ranges are.

    Attributes:
        ranges: The ranges, at most one per partition, none of them empty.
        epochs: Partition to epoch of the leader under which it was read, -1 if unknown.
        rows: The table's columns that records fill, and `PLACE`.
        others: As `OTHERS`.
        letters: Dead letters, as `hotset.decode.LETTERS`; None unless they were asked for.
        newest_ms: Newest timestamp of all records, or None.
        unmapped: As `RowCounts` has it.
    """

    ranges: tuple[OffsetRange, ...]
    epochs: Mapping[int, int]
    rows: pa.Table = field(repr=False)
    others: pa.Table = field(repr=False)
    letters: pa.Table | None = field(default=None, repr=False)
    newest_ms: int | None = None
    unmapped: frozenset[str] = frozenset()

    @property
    def size_bytes(self) -> int:
        """About how much memory all of it takes."""
        letters = 0 if self.letters is None else self.letters.nbytes
        return int(self.rows.nbytes + self.others.nbytes + letters)

    @property
    def counts(self) -> RowCounts:
        """What the records were."""
        reasons = self.others.column("reason")
        bad = (
            self.others.filter(reasons.is_valid())
            if len(reasons) > reasons.null_count
            else OTHERS.empty_table()
        )
        first = bad.sort_by([(PARTITION, "ascending"), (OFFSET, "ascending")]).slice(0, NAMED)
        named = zip(*(first.column(n).to_pylist() for n in (PARTITION, OFFSET, "reason")), strict=True)
        return RowCounts(
            self.rows.num_rows,
            reasons.null_count,
            bad.num_rows,
            bad.num_rows if _MARK in self.rows.column_names else 0,
            tuple(BadRecord(partition, offset, _shortened(reason)) for partition, offset, reason in named),
            self.newest_ms,
            self.unmapped,
        )

    def within(self, ranges: Sequence[OffsetRange]) -> Rows:
        """Return what lies within other ranges, at most one per partition."""
        cut = cut_ranges(self.ranges, ranges)
        if cut == self.ranges:
            return self
        found = replace(
            self,
            ranges=cut,
            rows=filter_within(self.rows, cut),
            others=filter_within(self.others, cut),
            letters=None
            if self.letters is None
            else filter_within(self.letters, cut, ("partition", "offset")),
        )
        return replace(found, newest_ms=newest_of(found.rows, found.others))


def cut_ranges(ranges: Sequence[OffsetRange], others: Sequence[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Return what of some ranges lies within others, each at most one per partition; none is empty."""
    wanted = {r.partition: r for r in others}
    found = (
        OffsetRange(r.partition, max(r.start, w.start), min(r.end, w.end))
        for r in ranges
        if (w := wanted.get(r.partition)) is not None and max(r.start, w.start) < min(r.end, w.end)
    )
    return tuple(found)


def filter_within(
    found: pa.Table, ranges: Sequence[OffsetRange], names: tuple[str, str] = (PARTITION, OFFSET)
) -> pa.Table:
    """Return the rows of a table whose records lie within ranges, at most one per partition."""
    if not found.num_rows:
        return found
    places = {r.partition: at for at, r in enumerate(ranges)}
    at = pc.index_in(found.column(names[0]), pa.array(list(places), found.column(names[0]).type))
    starts = pa.array([r.start for r in ranges], pa.int64()).take(at)
    ends = pa.array([r.end for r in ranges], pa.int64()).take(at)
    offsets = found.column(names[1])
    # A record of no range has neither a start nor an end, and so is not kept.
    return found.filter(pc.and_(pc.greater_equal(offsets, starts), pc.less(offsets, ends)))


def newest_of(rows: pa.Table, others: pa.Table) -> int | None:
    """Return the newest timestamp of rows and of what is no row, in milliseconds; None of nothing."""
    found = [pc.max(each.column(TIMESTAMP_MS)).as_py() for each in (rows, others)]
    return max((ms for ms in found if ms is not None), default=None)


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON_CHARACTERS else f"{reason[: _REASON_CHARACTERS - 1]}…"
