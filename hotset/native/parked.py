"""Readers that have read to their end, kept for the next drain of the same topic.

A new handle has to connect, to ask who leads which partition, and to start threads, which takes longer than
reading what a second has brought. A kept one fetches nothing. It is given up after a while, and whenever its
connections had trouble. This file must not know what is read, nor when that is done.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from typing import Final

from hotset.native import _reader

_MOST: Final = 8
_GOOD_S: Final = 30.0

# Process, topic's identity, settings, and what is read of a record.
Key = tuple[int, str, tuple[tuple[str, str], ...], bool, bool]


class Parked:
    """Readers that are open and not assigned, the last one first; no more than a few."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Have none: what a parent process parked is of no use in a child."""
        self._lock = threading.Lock()
        self._readers: list[tuple[Key, _reader.Reader, float]] = []
        self._timer: threading.Timer | None = None

    def take(self, key: Key) -> _reader.Reader | None:
        """Return a reader that can be assigned, or None.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            found = next((entry for entry in reversed(self._readers) if entry[0] == key), None)
            if found is None:
                return None
            self._readers.remove(found)
        reader = found[1]
        # What its connections had to say while nobody looked.
        is_quiet = reader.take(1, 1, 0) == _reader.WAITED and not reader.troubles()
        if is_quiet and time.monotonic() - found[2] < _GOOD_S:
            return reader
        reader.close()
        return None

    def park(self, key: Key, reader: _reader.Reader) -> None:
        """Keep a reader, or close it.

        Raises:
            Nothing of its own.
        """
        if reader.unassign():
            reader.close()
            return
        with self._lock:
            self._readers.append((key, reader, time.monotonic()))
            surplus = [entry for _, entry, _ in self._readers[:-_MOST]]
            del self._readers[:-_MOST]
            self._wait()
        for each in surplus:
            each.close()

    def end(self) -> None:
        """Close all.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            timer = self._timer
        self._close_since(float("inf"))
        if timer is not None:
            timer.join()

    def _close_old(self) -> None:
        self._close_since(time.monotonic() - _GOOD_S)

    def _close_since(self, since_s: float) -> None:
        with self._lock:
            old = [reader for _, reader, parked_s in self._readers if parked_s <= since_s]
            self._readers = [entry for entry in self._readers if entry[2] > since_s]
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._wait()
        for each in old:
            each.close()

    def _wait(self) -> None:
        if self._readers and self._timer is None:
            timer = threading.Timer(_GOOD_S, self._close_old)
            timer.daemon = True
            # It may be too late for a new thread; then they are closed at the end.
            with contextlib.suppress(RuntimeError):
                timer.start()
                self._timer = timer


PARKED: Final = Parked()
os.register_at_fork(after_in_child=PARKED.begin)
atexit.register(PARKED.end)
