"""Let one reader fetch what many wait for: locks on offsets of a partition, across processes and threads.

The bytes of a lock file are the offsets of a partition, so readers of other ranges do not wait. A lock ends
with the process that has it; a forked child would have it too, so it closes what it did not open. Waiting
asks a guard and ends at a deadline. Rows never depend on a lock: without one, records are only read twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from foundation.deadline import Deadline
from hotset.errors import HotReadTimeoutError
from hotset.kafka import OffsetRange
from hotset.store.store_folder import make_folder

_FILE: Final = "lock"
_FIRST_S: Final = 0.0005
_PAUSE_S: Final = 0.01
_LENGTH: Final = (1 << 62) - 1

# Locks of an open file, so that threads of a process exclude each other; only Linux has them.
_BY_RANGE: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)

# Files of this process that are locked, or about to be; nobody forks between opening one and noting it. What
# is collected meanwhile may close one.
_own: Final[set[int]] = set()
_forking: Final = threading.RLock()


def open_own(path: Path, flags: int) -> int:
    """Open a file that is to be locked, closed to others, and closed in a forked child.

    Raises:
        OSError: It cannot be opened.
    """
    with _forking:
        file = os.open(path, flags | os.O_CLOEXEC, 0o600)
        _own.add(file)
    return file


def close_own(file: int) -> None:
    """Close such a file, and let go of its lock; nothing is done in a child that has closed it already.

    Raises:
        OSError: It cannot be closed.
    """
    with _forking:
        if file in _own:
            _own.discard(file)
            os.close(file)


def _close_in_child() -> None:
    for file in _own:
        with contextlib.suppress(OSError):
            os.close(file)
    _own.clear()
    _forking.release()


os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_close_in_child)


@contextlib.contextmanager
def lock_range(
    folder: Path, wanted: OffsetRange, deadline: Deadline, guard: Callable[[], None]
) -> Iterator[None]:
    """Be the only one, within the block, that fetches these offsets.

    Args:
        folder: The partition's folder.
        wanted: Which offsets; not empty.
        deadline: When to give up waiting.
        guard: Called often while waiting; what it raises ends the waiting.

    Raises:
        HotReadTimeoutError: Another reader had them until the deadline.
    """
    try:
        make_folder(folder)
        file = open_own(folder / _FILE, os.O_CREAT | os.O_RDWR)
    except OSError:
        yield
        return
    try:
        pause_s = _FIRST_S
        while not _try_lock(file, wanted):
            guard()
            if deadline.has_passed:
                raise HotReadTimeoutError(
                    f"another reader was still fetching offsets {wanted} when {deadline.budget_ms} ms were "
                    "over; check the brokers or raise readTimeoutMs",
                    left=str(wanted),
                )
            time.sleep(min(pause_s, deadline.remaining_s))
            pause_s = min(_PAUSE_S, pause_s * 2)
        yield
    finally:
        close_own(file)


@contextlib.contextmanager
def try_lock_file(path: Path) -> Iterator[bool]:
    """Within the block, tell whether nobody else has this lock.

    Raises:
        OSError: The folder is gone.
    """
    file = open_own(path, os.O_CREAT | os.O_RDWR)
    try:
        yield _is_ours(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    finally:
        close_own(file)


def _try_lock(file: int, wanted: OffsetRange) -> bool:
    if _BY_RANGE is None:
        return _is_ours(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    start = min(wanted.start, _LENGTH - 1)
    length = max(1, min(wanted.end, _LENGTH) - start)
    # struct flock of 64-bit Linux: type, whence, start, length, process.
    request = struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    return _is_ours(lambda: fcntl.fcntl(file, _BY_RANGE, request + bytes(-len(request) % 8)))


def _is_ours(lock: Callable[[], object]) -> bool:
    try:
        lock()
    except OSError as exc:
        if exc.errno in (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK):
            return False
        raise
    return True
