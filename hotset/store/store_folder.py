"""Where the store is: one folder per user, in shared memory if there is any.

Chunks are records of a topic, so nobody else may read them, and nobody else may
put files in their place: the folder is the user's own and closed to others, or it
is not used. This file must not know what is in the folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

import pyarrow as pa

from hotset.errors import HotStoreError

_NAME: Final = "kafkaiceberg"
_SHARED: Final = Path("/dev/shm")  # noqa: S108 - made with mode 0700 and checked
# By this file processes that use a store know of each other.
USERS: Final = "users"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def find_root(configured: str | None) -> Path | None:
    """Return the store's folder, made if it is not there, or None if there is no place for it.

    Args:
        configured: A path that was asked for; else shared memory, else the folder
            for temporary files.

    Raises:
        HotStoreError: The folder that was asked for cannot be made, is not only this user's, or has files of
            others.
    """
    if configured is not None:
        return _require_no_other(_require_own(Path(configured).absolute()))
    name = f"{_NAME}-{os.getuid()}"
    for place in (_SHARED, Path(tempfile.gettempdir())):
        if place.is_dir():
            with contextlib.suppress(HotStoreError):
                return _require_own(place / name)
    return None


def make_folder(path: Path) -> None:
    """Make a folder inside of the store, closed to others.

    Raises:
        OSError: It cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def _require_own(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise HotStoreError(
                f"the hot store cannot be at {path}: it is not a folder of this user; name another place in "
                "option 'hotStorePath'",
                path=str(path),
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o700)
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(f"{path} is not writable")
    except OSError as exc:
        raise HotStoreError(
            f"the hot store cannot be at {path}: {exc}; name another place in option 'hotStorePath', or set "
            "hotStore=off",
            path=str(path),
        ) from exc
    return path


def _require_no_other(path: Path) -> Path:
    # At its limit a store removes the oldest files, so it may have none but its own.
    if any(path.iterdir()) and not (path / USERS).exists():
        raise HotStoreError(
            f"the hot store cannot be at {path}: it has files of others; name an empty or a new folder in "
            "option 'hotStorePath'",
            path=str(path),
        )
    return path


@functools.lru_cache(maxsize=1)
def boot_id() -> str:
    """Return the id of this boot of the machine: files from before a crash are not looked at."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@functools.lru_cache(maxsize=1)
def build_id() -> str:
    """Return what the code that decodes is called: other code must decode anew."""
    folder = Path(__file__).parent.parent
    told = [pa.__version__]
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so"):
            found = path.stat()
            told.append(f"{path.relative_to(folder)} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
