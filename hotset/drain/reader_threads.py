"""Batches from several readers at once, each in a thread of its own that is one batch ahead.

While one batch is used, the next ones are read. A lane holds one finished batch and waits until it is
taken, so the number of lanes bounds what is held. Threads end when their readers are done, have failed or
are abandoned, and never outlive the process. The file must not know what is read, or when it is too late.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final

import pyarrow as pa

Guard = Callable[[], None]
Read = Callable[[Guard], Generator[pa.RecordBatch, None, None]]

_LOOK_S: Final = 0.02
_REST_S: Final = 0.1
_FORSAKEN_S: Final = 2.0
_TURN_S: Final = 20e-6


class _LeftError(Exception):
    """Nobody wants the batches any more."""


class _Lane:
    """One reader's thread, and the batch that it holds out."""

    def __init__(self, lanes: _Lanes, read: Read) -> None:
        self.batch: pa.RecordBatch | None = None
        self.error: BaseException | None = None
        self.is_done = False
        self._lanes = lanes
        self._read = read
        # Not a daemon: at the end of a process such a thread is cut off, wherever in librdkafka it is.
        self.thread = threading.Thread(target=self._run, name="hot-lane", daemon=False)

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            batches = self._read(self._lanes.go_on)
            try:
                while self._hold_out(batches):
                    self._lanes.offer(self)
            finally:
                batches.close()
        except BaseException as exc:  # noqa: BLE001 - raised where the batches are taken
            error = exc
        self._lanes.end(self, error)

    def _hold_out(self, batches: Iterator[pa.RecordBatch]) -> bool:
        # Under no other name, which would keep it while the next one is gathered.
        self.batch = next(batches, None)
        return self.batch is not None


class _Lanes:
    """What the lanes of one read have in common with whoever takes their batches."""

    def __init__(self, reads: Sequence[Read], *, takes_turns: bool) -> None:
        self._takes_turns = takes_turns
        self._is_used = False
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._ready: deque[_Lane] = deque()
        self._is_left = False
        self._note_taker()
        self._lanes = [_Lane(self, read) for read in reads]

    def batches(self, guard: Guard) -> Iterator[pa.RecordBatch]:
        """Yield batches as they become ready, until all lanes are done or one has failed."""
        for lane in self._lanes:
            lane.thread.start()
        while self._has_more():
            guard()
            if self._ready:
                self._is_used = True
                yield self._take()
                self._is_used = False

    def _has_more(self) -> bool:
        """Wait a moment for a batch if there is none; return whether there may be one."""
        if os.getpid() != self._process:  # whose threads are not here, and may have held the lock
            raise RuntimeError("the records are read by another process")
        self._note_taker()
        with self._changed:
            if not self._ready and not all(lane.is_done for lane in self._lanes):
                self._changed.wait(_LOOK_S)
            for lane in self._lanes:
                if lane.error is not None:
                    raise lane.error
            return bool(self._ready) or not all(lane.is_done for lane in self._lanes)

    def _take(self) -> pa.RecordBatch:
        with self._changed:
            lane = self._ready.popleft()
            batch, lane.batch = lane.batch, None
            self._changed.notify_all()
            return batch

    def _note_taker(self) -> None:
        self._taker, self._taken_at_s = threading.current_thread(), time.monotonic()

    def leave(self) -> None:
        """End the threads, and wait until they have given back what they read with."""
        if os.getpid() != self._process:
            return
        with self._changed:
            self._is_left = True
            self._changed.notify_all()
        for lane in self._lanes:
            if lane.thread.ident is not None and lane.thread is not threading.current_thread():
                lane.thread.join()

    def offer(self, lane: _Lane) -> None:
        """Wait until a lane's batch is taken."""
        with self._changed:
            self._ready.append(lane)
            self._changed.notify_all()
            while lane.batch is not None:
                self.require_taker()
                self._changed.wait(_REST_S)

    def end(self, lane: _Lane, error: BaseException | None) -> None:
        """Note that a lane brings nothing more, and why if it has not come to its end."""
        with self._changed:
            lane.error, lane.is_done = error, True
            self._changed.notify_all()

    def go_on(self) -> None:
        """Raise if nobody takes batches any more; let whoever uses one have a turn before the next step.

        A thread that gives the interpreter back for a moment only has it again before another one wakes.
        """
        self.require_taker()
        if self._takes_turns and self._is_used:
            time.sleep(_TURN_S)

    def require_taker(self) -> None:
        """Raise if nobody takes batches any more."""
        if self._is_left:
            raise _LeftError
        if not threading.main_thread().is_alive() and self._is_forsaken():
            raise RuntimeError("the process has ended, and nobody took the records that were read")

    def _is_forsaken(self) -> bool:
        """Whether whoever took batches has ended, or may be cut off, and asks for no more."""
        is_there = self._taker.is_alive() and not self._taker.daemon
        return not is_there and time.monotonic() - self._taken_at_s > _FORSAKEN_S


def read_ahead(reads: Sequence[Read], guard: Guard, *, takes_turns: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the batches of all readers, those of one reader in their order.

    Args:
        reads: Each is called in a thread of its own, with a guard of ours to be called often.
        guard: Called often in the caller's thread; what it raises ends the reading.
        takes_turns: Whether readers are busy in the interpreter itself.

    Raises:
        RuntimeError: It was begun in another process, or the process ends.
        BaseException: What a reader raises, instead of batches that are not taken yet.
    """
    lanes = _Lanes(reads, takes_turns=takes_turns)
    try:
        yield from lanes.batches(guard)
    finally:
        lanes.leave()


__all__ = ["Guard", "Read", "read_ahead"]
