"""Readers that have read to their end, kept for the next drain of the same topic.

A new handle has to connect, to ask who leads which partition, and to start threads, which takes longer than
reading what a second has brought. A kept one fetches nothing. It is given up after a while, and whenever its
connections had trouble. This file must not know what is read, nor when that is done.
"""

from __future__ import annotations

import atexit
import os
from typing import Final

from foundation.idle_pool import IdlePool
from hotset.native import _reader

_MOST: Final = 8
_GOOD_S: Final = 30.0

# Process, topic's identity, settings, and what is read of a record.
Key = tuple[int, str, tuple[tuple[str, str], ...], bool, bool]


class Parked(IdlePool[Key, _reader.Reader]):
    """Readers that are open and not assigned."""

    def __init__(self) -> None:
        super().__init__(_MOST, _GOOD_S, _reader.Reader.close)

    def take(self, key: Key) -> _reader.Reader | None:
        """Return a reader that can be assigned, or None."""
        reader = super().take(key)
        # What its connections had to say while nobody looked.
        if reader is None or (reader.take(1, 1, 0) == _reader.WAITED and not reader.troubles()):
            return reader
        reader.close()
        return None

    def park(self, key: Key, reader: _reader.Reader) -> None:
        """Keep a reader, or close it."""
        if reader.unassign():
            reader.close()
        else:
            self.put(key, reader)


PARKED: Final = Parked()
os.register_at_fork(after_in_child=PARKED.begin)
atexit.register(PARKED.end)
