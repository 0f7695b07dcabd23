"""Which chunks together are a cut's ranges, which of them no reader needs, and which are worth joining. Pure.

Chunks may overlap, be gone the next moment or leave holes: whatever is there, the same ranges give the same
rows, each once. A chunk of which only a part is wanted is cut where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from hotset.kafka import OffsetRange
from hotset.store.chunk import Chunk

# A chunk of so many rows or bytes is large enough for ever; smaller ones are joined when so many of a size
# follow each other. They are in memory together then.
LARGE_ROWS: Final = 1_000_000
LARGE_BYTES: Final = 64 * 1024 * 1024
JOINED: Final = 8


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """A chunk, and which of its records are wanted.

    Attributes:
        chunk: The chunk.
        ranges: What is wanted of it, at most one range per partition.
    """

    chunk: Chunk
    ranges: tuple[OffsetRange, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all its records are wanted."""
        return self.ranges == self.chunk.info.ranges

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows that are wanted, with these columns; the chunk may go once this has returned.

        Raises:
            OSError: The chunk is gone.
        """
        return self.chunk.batches_within(self.ranges, columns)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How ranges are made of chunks, and what no chunk has of them.

    Invariant: parts and gaps do not overlap, and are all of the ranges; a partition has one gap at most,
    which goes on to the end of its range.
    """

    parts: tuple[ChunkPart, ...]
    gaps: tuple[OffsetRange, ...]


def cover(chunks: Sequence[Chunk], ranges: Sequence[OffsetRange]) -> Coverage:
    """Return which chunks are the beginning of ranges, as far as they go without a hole.

    Args:
        chunks: All chunks there are.
        ranges: At most one per partition.
    """
    by_partition: dict[int, list[_Piece]] = {}
    asked = {r.partition: r for r in ranges}
    for chunk in chunks:
        is_inside = all(_is_within(each, asked.get(each.partition)) for each in chunk.info.ranges)
        for each in chunk.info.ranges:
            by_partition.setdefault(each.partition, []).append(_Piece(each, chunk, is_inside))
    used: dict[Chunk, list[OffsetRange]] = {}
    gaps = []
    for wanted in ranges:
        at = wanted.start
        there = by_partition.get(wanted.partition, ())
        while at < wanted.end:
            found = _best(there, at, wanted.end)
            if found is None:
                gaps.append(OffsetRange(wanted.partition, at, wanted.end))
                break
            end = min(found.range.end, wanted.end)
            used.setdefault(found.chunk, []).append(OffsetRange(wanted.partition, at, end))
            at = end
    parts = (ChunkPart(chunk, tuple(sorted(found))) for chunk, found in used.items())
    return Coverage(tuple(sorted(parts, key=lambda part: part.chunk.path)), tuple(gaps))


class _Piece(NamedTuple):
    """What a chunk has of one partition, and whether all that it has is asked for."""

    range: OffsetRange
    chunk: Chunk
    is_inside: bool


def _is_within(inner: OffsetRange, outer: OffsetRange | None) -> bool:
    return outer is not None and outer.start <= inner.start and inner.end <= outer.end


def _best(there: Sequence[_Piece], at: int, end: int) -> _Piece | None:
    """Return the chunk that goes on furthest from an offset; of equal ones, the same for all partitions.

    One of which all is asked for comes first, and then the largest: so chunks are taken whole.
    """
    going_on = [piece for piece in there if piece.range.start <= at < piece.range.end]
    return min(
        going_on,
        key=lambda piece: (
            -min(piece.range.end, end),
            not piece.is_inside,
            -piece.chunk.info.counts.records,
            piece.chunk.path,
        ),
        default=None,
    )


def useless_chunks(chunks: Sequence[Chunk], starts: Mapping[int, int]) -> list[Chunk]:
    """Return chunks whose records others hold too, or that lie below where readers start.

    Args:
        chunks: All chunks there are.
        starts: Partition to the offset below which readers ask for nothing now.
    """
    left = list(chunks)
    found = []
    # The smallest first, so that of two equal ones the later stays.
    for chunk in sorted(chunks, key=lambda each: (each.info.counts.records, each.path)):
        others = [each for each in left if each != chunk]
        wanted = tuple(
            OffsetRange(r.partition, max(r.start, start), r.end)
            for r in chunk.info.ranges
            if (start := starts.get(r.partition, 0)) < r.end
        )
        if not cover(others, wanted).gaps:
            left.remove(chunk)
            found.append(chunk)
    return found


def joinable_chunks(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return neighbours that are worth being one, in their order; none if there are none.

    Small ones are joined first, and the sizes of what comes of it grow by `JOINED`, so that each row is
    written a few times at most.
    """
    runs: list[list[Chunk]] = [[]]
    for chunk in sorted(chunks, key=lambda each: each.path):
        if runs[-1] and not _follows(runs[-1], chunk):
            runs.append([])
        if chunk.info.counts.records < LARGE_ROWS and chunk.info.size_bytes < LARGE_BYTES:
            runs[-1].append(chunk)
        else:
            runs.append([])
    for size in range(_size(LARGE_ROWS) + 1):
        for run in runs:
            behind = len(run)
            while behind and _size(run[behind - 1].info.counts.records) <= size:
                behind -= 1
            if len(run) - behind >= JOINED:
                return run[behind : behind + JOINED]
    return []


def _size(records: int) -> int:
    size, thousands = 0, records // 1000
    while thousands:
        size, thousands = size + 1, thousands // JOINED
    return size


def _follows(run: Sequence[Chunk], chunk: Chunk) -> bool:
    # What an older leader wrote may have been cut off since, and a chunk names one leader of a partition.
    ends = {r.partition: (r.end, epoch) for each in run for r, epoch in each.info.places}
    return all(ends.get(r.partition, (r.start, epoch)) == (r.start, epoch) for r, epoch in chunk.info.places)
