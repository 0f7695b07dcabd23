"""Read ranges of a topic from the store, and from Kafka only what the store lacks.

What is there is looked at first. What is missing is fetched, decoded and stored under locks on just those
offsets, so that whoever wanted the same finds it there. Where there is no room, rows pass through. Nothing
here decides which ranges are right: that is the cut's, and it comes first.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from hotset.kafka import OffsetRange, is_same_history
from hotset.store.background_tasks import WRITES
from hotset.store.chunk import Held, Piece, chunk_of, open_chunk, remove_chunk, store_columns
from hotset.store.chunk_index import Chunk, Segment, cover, find_chunks
from hotset.store.chunk_times import may_be_within
from hotset.store.fetch import Part, TopicSource, fetch_parts
from hotset.store.file_names import RAW, ChunkName, LogName, new_chunk, new_columns
from hotset.store.hot_store import HotStore
from hotset.store.housekeeping import Chore
from hotset.store.offset_locks import lock_range
from hotset.store.partition_reading import Found, Shelf
from hotset.store.read_meter import ReadMeter, StoreClock
from hotset.store.stored_columns import Column, Decode, WantedColumns, decode_columns
from hotset.store.write_behind import Fresh, Storing


def read_resident(
    store: HotStore,
    source: TopicSource,
    ranges: Sequence[OffsetRange],
    wanted: WantedColumns,
    decode: Decode,
    meter: ReadMeter,
) -> Iterator[Piece]:
    """Yield the visible records of the ranges, each once, with their decoded values.

    Records of a piece are of one partition and in offset order; pieces are in no order.

    Args:
        store: The store.
        source: The topic, as a cut that was just taken found it.
        ranges: At most one range per partition.
        wanted: The columns to decode.
        decode: Decodes them.
        meter: Told what came from where.

    Raises:
        HotsetError: What was missing could not be read to its end, or decoding needs
            what could not be had.
    """
    log = store.log(source)
    shelves = [Shelf(r, store.folder(log, r.partition)) for r in ranges if not r.is_empty]
    return _Reading(store, source, log, shelves, wanted, decode, meter).pieces()


class _Reading:
    """One pass over ranges."""

    def __init__(
        self,
        store: HotStore,
        source: TopicSource,
        log: LogName,
        shelves: Sequence[Shelf],
        wanted: WantedColumns,
        decode: Decode,
        meter: ReadMeter,
    ) -> None:
        self._store = store
        self._source = source
        self._log = log
        self._shelves = shelves
        self._wanted = wanted
        self._decode = decode
        self._meter = meter
        self._storing = Storing(
            store.space, store.keeper, self._held_names, may_be_later=source.may_store_later
        )
        self._own: set[ChunkName] = set()
        self._is_stored = True

    def pieces(self) -> Iterator[Piece]:
        self._store.maps.forget_removed()
        with StoreClock(self._meter):
            self._look(self._shelves)
        if any(shelf.undone(self._wanted) for shelf in self._shelves):
            yield from self._complete()
        for shelf in self._shelves:
            for segment, held in shelf.found:
                self._source.guard()
                piece = self._piece(held, segment.start, segment.end)
                if segment.chunk.name not in self._own:
                    self._meter.records_resident += piece.raw.num_rows
                yield piece
        for shelf in self._shelves:
            self._store.keeper.note(self._chore(shelf), is_new=shelf.is_new)
        self._meter.is_stored = self._is_stored

    def _look(self, shelves: Sequence[Shelf]) -> None:
        times_ms = self._source.times_ms
        for shelf in shelves:
            chunks = self._sound(shelf)
            while True:
                segments, shelf.gaps = cover(chunks, shelf.wanted)
                segments = [s for s in segments if may_be_within(self._store.maps, s.chunk, times_ms)]
                opened = [(each, self._open(each.chunk, shelf)) for each in segments]
                useless = [each.chunk for each, held in opened if held is None]
                shelf.found = [Found(each, held) for each, held in opened if held is not None]
                if not useless:
                    break
                shelf.useless += useless
                chunks = [chunk for chunk in chunks if chunk not in useless]

    def _open(self, chunk: Chunk, shelf: Shelf) -> Held | None:
        maps, extras = self._store.maps, self._source.extras
        return open_chunk(maps, chunk, shelf.wanted.partition, self._wanted, extras)

    def _sound(self, shelf: Shelf) -> list[Chunk]:
        """Return the chunks in whose range the log still has the history that they were read from."""
        current = self._source.epochs.get(shelf.wanted.partition, -1)
        found = [
            chunk
            for chunk in find_chunks(shelf.folder)
            # A chunk of a later leader says more than this cut knows.
            if chunk.name.epoch <= current
            and chunk.name.start < shelf.wanted.end
            and chunk.name.end > shelf.wanted.start
        ]
        for epoch in {chunk.name.epoch for chunk in found} - {current}:
            same = [chunk for chunk in found if chunk.name.epoch == epoch]
            end = max(chunk.name.end for chunk in same)
            source, partition = self._source, shelf.wanted.partition
            place = (source.topic_id, partition, end, epoch, current)
            if not is_same_history(source.client, source.topic, place, source.deadline):
                found = [chunk for chunk in found if chunk.name.epoch != epoch]
                for chunk in same:
                    remove_chunk(chunk)
        return found

    def _complete(self) -> Iterator[Piece]:
        """Fetch, decode and store what is missing; yield what there was no room for."""
        with contextlib.ExitStack() as locks:
            with StoreClock(self._meter):
                # In one order everywhere, so that no two wait for each other.
                for shelf in sorted(self._shelves, key=lambda each: each.wanted.partition):
                    undone = shelf.undone(self._wanted)
                    if undone is not None:
                        wait = lock_range(shelf.folder, undone, self._source.deadline, self._wait)
                        locks.enter_context(wait)
                self._look([shelf for shelf in self._shelves if shelf.undone(self._wanted)])
                has_room = self._complete_columns()
                self._is_stored &= has_room
            try:
                yield from self._fetch(locks, has_room=has_room)
            finally:
                # Also what came before an error: it is what the log has.
                with StoreClock(self._meter):
                    self._is_stored &= self._storing.hand_over(locks)

    def _fetch(self, locks: contextlib.ExitStack, *, has_room: bool) -> Iterator[Piece]:
        source = self._richer_source()
        while any(shelf.gaps for shelf in self._shelves):
            ranges = [shelf.gaps.pop(0) for shelf in self._shelves if shelf.gaps]
            for parts in fetch_parts(source, ranges, self._decode_parts, self._note_fetch):
                for part, held in parts:
                    self._meter.records_fetched += part.batch.num_rows
                    with StoreClock(self._meter):
                        has_room = has_room and self._keep(part, held)
                    if not has_room:
                        self._is_stored = False
                        # Others need not wait for rows that will not be there.
                        locks.close()
                        yield self._piece(held, part.range.start, part.range.end)

    def _wait(self) -> None:
        # It may be another reading of this process that has the lock.
        WRITES.hurry()
        self._source.guard()

    def _richer_source(self) -> TopicSource:
        """Read also what a chunk has that is replaced, or two statements would replace it in turn."""
        raws = [
            mapped.batch.schema.names
            for shelf in self._shelves
            for chunk in shelf.useless
            if chunk.has_raw and (mapped := self._store.maps.get(chunk.path(RAW), is_used=False)) is not None
        ]
        return replace(
            self._source,
            has_keys=self._source.has_keys or any("key" in names for names in raws),
            has_headers=self._source.has_headers or any("headers" in names for names in raws),
        )

    def _complete_columns(self) -> bool:
        for shelf in self._shelves:
            for segment, held in shelf.lacking(self._wanted):
                self._source.guard()
                columns = self._decoded(held)
                chunk = segment.chunk
                if not store_columns(self._store.space, chunk, new_columns(), columns, self._held_names()):
                    return False
                held.columns.update(columns)
                shelf.is_new = True
        return True

    def _keep(self, part: Part, held: Held) -> bool:
        [shelf] = [each for each in self._shelves if each.wanted.partition == part.range.partition]
        epoch = self._source.epochs.get(part.range.partition, -1)
        if epoch < 0:
            return False
        chunk = chunk_of(new_chunk(part.range.start, part.range.end, epoch), shelf.folder, held)
        inside = (part.range.start <= c.name.start and c.name.end <= part.range.end for c in shelf.useless)
        replaced = tuple(itertools.compress(shelf.useless, inside))
        fresh = Fresh(chunk, held, replaced, self._chore(shelf))
        if not self._storing.add(fresh):
            return False
        self._own.add(chunk.name)
        # From here on the file is the only copy, but for what is too little to be worth a look.
        mapped = held if fresh.is_little else self._open(chunk, shelf) or held
        shelf.found.append(Found(Segment(chunk, part.range.start, part.range.end), mapped))
        return True

    def _chore(self, shelf: Shelf) -> Chore:
        partition = shelf.wanted.partition
        start = self._source.starts.get(partition, shelf.wanted.start)
        return Chore(self._log, shelf.folder, partition, start)

    def _decode_parts(self, parts: Sequence[Part]) -> list[Held]:
        """Decode parts in one go: most of them are small, and a call costs more than they do."""
        began_s = time.monotonic()
        helds = [Held.of(part.range.partition, part.batch) for part in parts]
        if parts:
            whole = pa.concat_batches([part.batch for part in parts])
            columns, first = decode_columns(self._decode, whole, self._wanted), 0
            for held in helds:
                rows = held.base.num_rows
                held.columns.update({name: column.part(first, rows) for name, column in columns.items()})
                first += rows
        spent_ms = (time.monotonic() - began_s) * 1000
        self._meter.decode_ms += spent_ms
        self._meter.fetch_ms -= spent_ms  # the clock around it goes on
        return helds

    def _decoded(self, held: Held) -> dict[str, Column]:
        began_s = time.monotonic()
        try:
            return held.decode(self._decode, self._wanted)
        finally:
            self._spent_decoding(began_s)

    def _piece(self, held: Held, start: int, end: int) -> Piece:
        began_s = time.monotonic()
        is_decoded = self._wanted.are_in(held.columns)
        piece = held.piece(start, end, self._wanted, self._decode)
        if is_decoded:
            self._meter.store_ms += (time.monotonic() - began_s) * 1000
        else:
            self._meter.decode_ms += (time.monotonic() - began_s) * 1000
        return piece

    def _held_names(self) -> set[str]:
        return {str(each.segment.chunk.name) for shelf in self._shelves for each in shelf.found}

    def _note_fetch(self, spent_ms: float) -> None:
        self._meter.fetch_ms += spent_ms

    def _spent_decoding(self, began_s: float) -> None:
        spent_ms = (time.monotonic() - began_s) * 1000
        self._meter.decode_ms += spent_ms
        self._meter.store_ms -= spent_ms  # the clock around it goes on
