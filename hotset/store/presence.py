"""Which processes use a store, so that the last one may leave nothing behind.

Each has a lock on one file for as long as it lives, whatever ends it. Who finds that nobody else has one may
remove everything. The file must not know what is in the store.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import Final

from hotset.store.store_folder import USERS

_PAUSE_S: Final = 0.01
_TRIES: Final = 100

# Process and folder to the file by which the process is present.
_files: Final[dict[tuple[int, Path], int]] = {}


def be_present(root: Path) -> None:
    """Let other processes know, until this one ends, that it uses the store in a folder.

    Whoever cannot say so may find his files gone, and reads anew.
    """
    _present(root)


def remove_if_alone(root: Path) -> bool:
    """Remove what is in a store's folder unless another process uses it; return whether that was so."""
    file = _present(root)
    if file is None:
        return False
    try:
        # Asking for more and being refused gives up what was had (flock(2)), so it is taken again below.
        if not _lock(file, fcntl.LOCK_EX):
            return False
        for path in root.iterdir():
            if path.name == USERS:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        _share(file)
    return True


def _present(root: Path) -> int | None:
    mine = (os.getpid(), root)
    if mine not in _files:
        with contextlib.suppress(OSError):
            file = os.open(root / USERS, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            # With two such files, of threads that came at once, a process would not be alone with itself.
            if not _share(file) or _files.setdefault(mine, file) != file:
                os.close(file)
    return _files.get(mine)


def _share(file: int) -> bool:
    # Somebody who removes everything is done soon.
    for _ in range(_TRIES):
        if _lock(file, fcntl.LOCK_SH):
            return True
        time.sleep(_PAUSE_S)
    return False


def _lock(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
