"""Let one reader fetch what many wait for: locks on offsets of a partition, across processes and threads.

The bytes of a lock file are the offsets of a partition, so readers of other ranges do not wait. A lock ends
with the process that has it. Waiting asks a guard and ends at a deadline. Rows never depend on a lock:
without one, records are only read twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hotset.deadline import Deadline
from hotset.errors import HotReadTimeoutError
from hotset.offsets import OffsetRange
from hotset.store.place import make_folder

_FILE: Final = "lock"
_FIRST_S: Final = 0.0005
_PAUSE_S: Final = 0.01
_LENGTH: Final = (1 << 62) - 1

# Locks of an open file, so that threads of a process exclude each other; only Linux has them.
_BY_RANGE: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)


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
        file = os.open(folder / _FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
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
        os.close(file)


@contextlib.contextmanager
def try_lock_file(path: Path) -> Iterator[bool]:
    """Within the block, tell whether nobody else has this lock.

    Raises:
        OSError: The folder is gone.
    """
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield _is_ours(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    finally:
        os.close(file)


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
