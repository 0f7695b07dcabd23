"""A log that is told by its numbers: what each offset holds follows from partition, offset and who wrote it.

Pieces of it are made without a broker, and whatever comes out of chunks and tails can be held against what
the log says. Nothing here knows how the store keeps anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from hotset.kafka.offsets import OffsetRange
from hotset.store.chunk import Chunk, ChunkInfo
from hotset.store.coverage import ChunkPart
from hotset.store.hot_rows import OTHERS, PLACE, RowCounts, Rows

SCHEMA = pa.schema(
    [pa.field("seq", pa.int64(), nullable=False, metadata={b"PARQUET:field_id": b"1"}), *PLACE]
)
_PLAIN = pa.schema([field.remove_metadata() for field in SCHEMA])


class Place(NamedTuple):
    """Where a record is, and what is there: a number, None for a tombstone, or why it is no row."""

    partition: int
    offset: int
    what: int | str | None


# Partition and offset to who has written there.
Writer = Callable[[int, int], int]


def _nobody(_partition: int, _offset: int) -> int:
    return 0


def records(wanted: OffsetRange, writer: Writer = _nobody) -> Iterator[Place]:
    """The visible records of a range, which differ by who has written them."""
    for offset in range(wanted.start, wanted.end):
        if offset % 5 == 3:
            continue  # a marker, or aborted
        number = 1000 * offset + writer(wanted.partition, offset)
        yield Place(
            wanted.partition, offset, None if offset % 7 == 2 else "bad" if offset % 11 == 4 else number
        )


def piece(*ranges: OffsetRange, epoch: int = 0, writer: Writer = _nobody) -> Rows:
    """What a reading of these ranges gives."""
    found = [place for each in ranges for place in records(each, writer)]
    rows = [place for place in found if isinstance(place.what, int)]
    others = [place for place in found if not isinstance(place.what, int)]
    return Rows(
        tuple(each for each in ranges if not each.is_empty),
        {each.partition: epoch for each in ranges},
        pa.table(
            [[r.what for r in rows], [r.partition for r in rows], *[[r.offset for r in rows]] * 2],
            schema=_PLAIN,
        ),
        pa.table(
            [[o.partition for o in others], *[[o.offset for o in others]] * 2, [o.what for o in others]],
            schema=OTHERS,
        ),
        newest_ms=max((place.offset for place in found), default=None),
    )


def places_of(parts: Iterable[Rows]) -> list[Place]:
    """Every record of some rows, in the order of partitions and offsets; twice if it is there twice."""
    found: list[Place] = []
    for part in parts:
        rows, others = part.rows, part.others
        found += map(Place, *(rows[name].to_pylist() for name in ("$partition", "$offset", "seq")))
        found += map(Place, *(others[name].to_pylist() for name in ("$partition", "$offset", "reason")))
    return sorted(found, key=lambda place: place[:2])


def told(ranges: Iterable[OffsetRange], writer: Writer = _nobody) -> list[Place]:
    """The same as the log says it."""
    return [place for each in sorted(ranges) for place in records(each, writer)]


def rows_in(parts: Sequence[ChunkPart]) -> list[Rows]:
    """What is wanted of chunks."""
    return [part.chunk.read().within(part.ranges) for part in parts]


def chunk(
    name: int, *ranges: OffsetRange, records: int | None = None, epoch: int = 0, size_bytes: int = 0
) -> Chunk:
    """A chunk of which there is no file."""
    count = sum(each.span for each in ranges) if records is None else records
    info = ChunkInfo(ranges, (epoch,) * len(ranges), RowCounts(rows=count), size_bytes, frozenset())
    return Chunk(Path(f"{name:04}.parquet"), info)
