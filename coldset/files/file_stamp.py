"""Whether a file on this machine is still the one that was listed, told without opening it.

Data files never change, so readers keep what they learned of one; a file that somebody puts in
its place is found here, before an old footer is believed of a new file. What is no regular
file is told apart, too: opening a pipe waits for somebody to write, for ever. Objects in a
store have no place here.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes when a file is replaced or written to."""

    size_bytes: int
    modified_ns: int
    inode: int


def stamp_of(path: str) -> Stamp | None:
    """Return the stamp of a regular file; None if there is none of that name."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def path_of(location: str) -> str | None:
    """Return where a file is on this machine; None if it is not."""
    path = location.removeprefix("file:")
    path = path.removeprefix("//") if path != location else path
    return path if path.startswith("/") else None


def require_regular(location: str, size_bytes: int | None = None) -> None:
    """Raise if a file on this machine cannot be the one that a manifest lists.

    Args:
        location: As the manifest has it; one that is not on this machine is not looked at.
        size_bytes: Its size by the manifest, if that counts.

    Raises:
        ValueError: It is no regular file, or has another size.
        OSError: It is not there.
    """
    path = path_of(location)
    if path is None:
        return
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is no regular file, and opening it might never end")
    if size_bytes is not None and found.st_size != size_bytes:
        raise ValueError(f"it has {found.st_size} bytes, and its manifest says {size_bytes}")
