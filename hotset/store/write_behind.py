"""Let what a reading has fetched become chunks: before the answer, or after it if it is little.

Writing a thousand records takes as long as fetching them does, and whoever asked has them in memory. So if a
reading says that it may, chunks of few records are written a moment later by a thread. The locks on their
offsets are held until then: whoever wants the same waits, and finds it there. A process that is killed in
between has kept nothing, and it is read again; so is what finds no room or cannot be written then. The file
must not know what is fetched, nor for whom.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hotset.store.background_tasks import WRITES
from hotset.store.chunk import Held, remove_chunk, store_chunk
from hotset.store.chunk_index import Chunk
from hotset.store.housekeeping import Chore, Keeper
from hotset.store.space import Space

_LITTLE_ROWS: Final = 4096
# So much of one reading may wait to be written, in memory.
_LITTLE_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fresh:
    """Records that were just read: the chunk they are to be, those that it replaces, and who is to know."""

    chunk: Chunk
    held: Held = field(repr=False)
    replaced: tuple[Chunk, ...]
    chore: Chore

    @property
    def is_little(self) -> bool:
        """Whether a file is not worth a look again, since the records are in memory."""
        return bool(self.held.base.num_rows < _LITTLE_ROWS)


class Storing:
    """What one reading has for the store."""

    def __init__(
        self, space: Space, keeper: Keeper, names: Callable[[], set[str]], *, may_be_later: bool
    ) -> None:
        """`names` tells which chunks the reading uses: those are not evicted for it."""
        self._space = space
        self._keeper = keeper
        self._names = names
        self._may_be_later = may_be_later
        self._later: list[Fresh] = []
        self._later_bytes = 0

    def add(self, fresh: Fresh) -> bool:
        """Store records, now or when handed over; return whether there was room so far."""
        size_bytes = fresh.held.nbytes
        if self._may_be_later and fresh.is_little and self._later_bytes + size_bytes <= _LITTLE_BYTES:
            self._later.append(fresh)
            self._later_bytes += size_bytes
            return True
        return self._store(fresh, self._names())

    def hand_over(self, locks: contextlib.ExitStack) -> bool:
        """Let the rest be stored beside the answer; return whether it is stored or will be if there is room.

        Args:
            locks: On the offsets; they are let go once these are stored or cannot be.
        """
        if not self._later:
            return True
        later, keep, held = tuple(self._later), self._names(), locks.pop_all()
        self._later.clear()

        def store() -> bool:
            with held:
                return all(self._store(fresh, keep) for fresh in later)

        return WRITES.take(store) or store()

    def _store(self, fresh: Fresh, keep: set[str]) -> bool:
        if not store_chunk(self._space, fresh.chunk, fresh.held, keep):
            return False
        for old in fresh.replaced:
            remove_chunk(old)
        self._keeper.note(fresh.chore, is_new=True)
        return True
