"""Rows of one log as this process has them: chunks that all processes share, and a tail of its own.

A reading takes from chunks what they have, then from the tail, and reads the rest from Kafka, once for all
who ask at the same time. What it has read goes on as tail or becomes chunks. Nothing here decides which
ranges are right: that is the cut's, and it comes first.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hotset.errors import HotReadTimeoutError, HotsetError
from hotset.kafka import OffsetRange, is_same_history
from hotset.store.background_tasks import WRITES
from hotset.store.chunk import Chunk, join_rows
from hotset.store.coverage import LARGE_ROWS, ChunkPart, Coverage, cover
from hotset.store.hot_rows import RowCounts, Rows
from hotset.store.leases import leased_names
from hotset.store.log_folder import LogFolder
from hotset.store.read_meter import ReadMeter
from hotset.store.row_source import RowSource, fetch_rows
from hotset.store.tail import Tail

# A tail of so many rows or bytes becomes a chunk, after the answer that made it so long.
_TAIL_ROWS: Final = 65_536
_TAIL_BYTES: Final = 32 * 1024 * 1024
# While more is read, so much becomes a chunk at a time.
_CHUNK_BYTES: Final = 256 * 1024 * 1024
_WAIT_S: Final = 0.01
# A chunk that was listed may be gone when it is opened.
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class HotRows:
    """The rows of a cut's ranges: parts of chunks, and rows in memory. Each record is in one of them.

    Attributes:
        parts: Chunks, and what is wanted of them.
        tail: All else.
        counts: What the records were.
    """

    parts: tuple[ChunkPart, ...] = ()
    tail: tuple[Rows, ...] = field(default=(), repr=False)
    counts: RowCounts = field(default_factory=RowCounts)


def fetch_hot_rows(source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter) -> HotRows:
    """Return the rows of ranges, at most one per partition, from Kafka; nothing is kept.

    Raises:
        HotsetError: The ranges could not be read to their end, or a record does not decode.
    """
    parts = tuple(fetch_rows(source, ranges, meter))
    return HotRows((), parts, _counted(parts))


class ResidentLog:
    """One log of the store in this process, for any number of threads."""

    def __init__(self, folder: LogFolder) -> None:
        self.folder = folder
        self._tail = Tail()
        self._lock = threading.Lock()
        # What those who wait for the lock want: partition and its leader's epoch to the end of a range.
        self._asked: dict[tuple[int, int], int] = {}
        self._is_flushing = False

    def read(
        self, source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter, *, as_chunks: bool = False
    ) -> HotRows:
        """Return the rows of ranges, at most one per partition.

        Args:
            source: The topic, as a cut that was just taken found it.
            ranges: What to read.
            meter: Told what came from where.
            as_chunks: Whether all rows are to be in chunks, unless there is no room for them.

        Raises:
            HotsetError: What was missing could not be read to its end, or a record does not decode.
        """
        for _ in range(_TRIES):
            try:
                with meter.storing():
                    return self._read(source, ranges, meter, as_chunks=as_chunks)
            except OSError as exc:  # a chunk went between being listed and being opened
                if isinstance(exc, HotsetError):
                    raise
        # The folder does not hold still, and Kafka has all of it.
        return fetch_hot_rows(source, ranges, meter)

    def flush(self, source: RowSource) -> None:
        """Let what the tail is now become a chunk, if it is long enough; readers go on meanwhile."""
        tail = self._tail
        try:
            if _is_long(tail) and self._store(source, tail):
                with self._lock:
                    self._tail = self._tail.behind(tail)
        finally:
            self._is_flushing = False

    def _read(
        self, source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter, *, as_chunks: bool
    ) -> HotRows:
        coverage, tail, left = self._look(source, ranges)
        fetched = 0
        if left or (as_chunks and (tail or any(not part.is_whole for part in coverage.parts))):
            with self._alone(source, ranges) as asked:
                before = meter.records_fetched
                beyond = self._fetch_missing(source, asked, meter, as_chunks=as_chunks)
                fetched = meter.records_fetched - before
                coverage, tail, left = self._look(source, ranges)
                if as_chunks:
                    coverage = self._trim(source, coverage, self._sound_chunks(source, ranges))
            # What was read and found no place is this reading's alone.
            there, left = beyond.within(left)
            if left:
                raise FileNotFoundError(f"chunks of {self.folder.path} went while others were read")
            tail = (*tail, *there)
        self.folder.use([part.chunk for part in coverage.parts])
        counts = _counted(tail)
        for part in coverage.parts:
            counts = counts.plus(part.chunk.counts_within(part.ranges))
        meter.records_resident += max(0, counts.records - fetched)
        if not self._is_flushing and _is_long(self._tail):
            self._is_flushing = True
            if not WRITES.take(lambda: self.flush(source)):
                self._is_flushing = False
        return HotRows(coverage.parts, tail, counts)

    def _look(
        self, source: RowSource, ranges: Sequence[OffsetRange]
    ) -> tuple[Coverage, tuple[Rows, ...], tuple[OffsetRange, ...]]:
        """Return what chunks and the tail have of ranges, and what is left to be read."""
        tail = self._sound_tail(source)
        coverage = cover(self._sound_chunks(source, ranges), ranges)
        found, left = tail.within(coverage.gaps)
        return coverage, found, left

    def _fetch_missing(
        self, source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter, *, as_chunks: bool
    ) -> Tail:
        """Read what is missing into chunks and the tail; return what found no place there."""
        _, _, left = self._look(source, ranges)
        tail, beyond, has_room = self._tail, Tail(), True
        for part in fetch_rows(source, left, meter) if left else ():
            has_room = has_room and min(part.epochs.values(), default=0) >= 0
            if not has_room:
                beyond = beyond.plus(part)
                continue
            tail = tail.plus(part)
            if tail.rows >= LARGE_ROWS or tail.size_bytes >= _CHUNK_BYTES:
                has_room = self._store(source, tail)
                beyond = beyond if has_room else tail
                tail = Tail()
        is_large = _is_long(tail, times=2)
        if tail.parts and (as_chunks or is_large):
            is_stored = self._store(source, tail)
            beyond = functools.reduce(Tail.plus, beyond.parts, tail) if is_large and not is_stored else beyond
            tail = Tail() if is_large or is_stored else tail
        self._tail = tail
        return beyond

    def _trim(self, source: RowSource, coverage: Coverage, chunks: Sequence[Chunk]) -> Coverage:
        """Take chunks of just what is wanted of others in part, made where there are none and is room."""
        known = {chunk.info.ranges: chunk for chunk in chunks}
        parts = []
        for part in coverage.parts:
            made = known.get(part.ranges)
            if made is None:
                rows = part.chunk.read().within(part.ranges)
                made = self.folder.add(rows, source.schema, after=part.chunk)
            parts.append(part if made is None else ChunkPart(made, made.info.ranges))
        return replace(coverage, parts=tuple(parts))

    def _store(self, source: RowSource, tail: Tail) -> bool:
        with contextlib.suppress(OSError):
            return self.folder.add(join_rows(tail.parts), source.schema) is not None
        return False

    @contextlib.contextmanager
    def _alone(self, source: RowSource, ranges: Sequence[OffsetRange]) -> Iterator[tuple[OffsetRange, ...]]:
        """Be the only one of this process that reads, for all who wait: hand out what they want together."""
        # What was written under another leader is nothing that this cut's leader vouches for.
        places = [(r.partition, source.epochs.get(r.partition, -1)) for r in ranges]
        for place, each in zip(places, ranges, strict=True):
            self._asked[place] = max(each.end, self._asked.get(place, 0))
        while not self._lock.acquire(timeout=min(_WAIT_S, source.deadline.remaining_s)):
            try:
                source.guard()
            except BaseException:
                self._give_up(places, ranges)
                raise
            if source.deadline.has_passed:
                self._give_up(places, ranges)
                raise HotReadTimeoutError(
                    f"another statement was still reading topic {source.topic!r} when "
                    f"{source.deadline.budget_ms} ms were over; check the brokers or raise readTimeoutMs",
                    topic=source.topic,
                )
        try:
            asked, self._asked = self._asked, {}
            yield tuple(
                OffsetRange(r.partition, r.start, max(r.end, asked.get(place, r.end)))
                for place, r in zip(places, ranges, strict=True)
            )
        finally:
            self._lock.release()

    def _give_up(self, places: Sequence[tuple[int, int]], ranges: Sequence[OffsetRange]) -> None:
        """Ask for nothing any more, unless somebody else wants as much."""
        for place, each in zip(places, ranges, strict=True):
            if self._asked.get(place) == each.end:
                self._asked.pop(place, None)

    def _sound_chunks(self, source: RowSource, ranges: Sequence[OffsetRange]) -> list[Chunk]:
        """Return the chunks of ranges in which the log still has the history that they were read from."""
        wanted = {r.partition: r for r in ranges}
        found, reached = [], dict[tuple[int, int], int]()
        for chunk in self.folder.chunks():
            inside = [
                (r, epoch)
                for r, epoch in chunk.info.places
                if (w := wanted.get(r.partition)) is not None and r.start < w.end and r.end > w.start
            ]
            # A chunk of a later leader says more than this cut knows.
            if inside and all(epoch <= source.epochs.get(r.partition, -1) for r, epoch in inside):
                found.append(chunk)
                for r, epoch in inside:
                    reached[r.partition, epoch] = max(r.end, reached.get((r.partition, epoch), 0))
        lost = {place for place, end in reached.items() if not self._is_same(source, *place, end)}
        if not lost:
            return found
        leased = leased_names(self.folder.space.root)
        for chunk in [chunk for chunk in found if lost & _places(chunk)]:
            found.remove(chunk)
            if chunk.path.stem not in leased:
                self.folder.remove(chunk)
        return found

    def _sound_tail(self, source: RowSource) -> Tail:
        tail = self._tail
        reached = dict[tuple[int, int], int]()
        for part in tail.parts:
            for r in part.ranges:
                place = (r.partition, part.epochs.get(r.partition, -1))
                reached[place] = max(r.end, reached.get(place, 0))
        if all(self._is_same(source, *place, end) for place, end in reached.items()):
            return tail
        self._tail = Tail()
        return self._tail

    def _is_same(self, source: RowSource, partition: int, epoch: int, end: int) -> bool:
        current = source.epochs.get(partition, -1)
        if epoch == current:
            return True
        place = (source.topic_id, partition, end, epoch, current)
        return epoch < current and is_same_history(source.client, source.topic, place, source.deadline)


def _counted(parts: Sequence[Rows]) -> RowCounts:
    counts = RowCounts()
    for part in parts:
        counts = counts.plus(part.counts)
    return counts


def _is_long(tail: Tail, times: int = 1) -> bool:
    return tail.rows >= times * _TAIL_ROWS or tail.size_bytes >= times * _TAIL_BYTES


def _places(chunk: Chunk) -> set[tuple[int, int]]:
    return {(r.partition, epoch) for r, epoch in chunk.info.places}
