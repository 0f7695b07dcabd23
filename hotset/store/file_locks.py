"""Locks between processes, which end with the process that has them, whatever ends it.

A forked child would have its parent's locks too, so it closes what it did not open. Rows never depend on a
lock: without one, records are only read twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
def try_lock_file(path: Path) -> Iterator[bool]:
    """Within the block, tell whether nobody else has this lock.

    Raises:
        OSError: The folder is gone.
    """
    file = open_own(path, os.O_CREAT | os.O_RDWR)
    try:
        yield _lock(file)
    finally:
        close_own(file)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        if exc.errno in (errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK):
            return False
        raise
    return True
