"""Chunks that somebody was handed and may read for a while, in whatever process, machine or language.

A lease is a file that names chunks and says until when they stay. It ends by itself, so nothing has to be
given back, and a process that is killed leaves nothing behind but files that end. The file does not know why.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from hotset.store.store_folder import make_folder

_LEASES: Final = "leases"


def lease_chunks(root: Path, names: Iterable[str], for_s: float) -> None:
    """Keep chunks from being removed for some seconds.

    Args:
        root: The store's folder.
        names: Their names, without a suffix.
        for_s: How long.

    Raises:
        OSError: The folder is gone, or full.
    """
    folder = root / _LEASES
    make_folder(folder)
    made = folder / f".{secrets.token_hex(8)}"
    made.write_text("\n".join(names), encoding="ascii")
    made.rename(folder / f"{int((time.time() + for_s) * 1000)}-{secrets.token_hex(8)}")


def leased_names(root: Path) -> frozenset[str]:
    """Return the names of all chunks under a lease; leases that have ended are removed."""
    found: set[str] = set()
    for path, until_ms in _leases(root):
        with contextlib.suppress(OSError):
            if until_ms < time.time() * 1000:
                path.unlink(missing_ok=True)
            else:
                found.update(path.read_text(encoding="ascii").splitlines())
    return frozenset(found)


def is_leased(root: Path) -> bool:
    """Return whether anything is under a lease; leases that have ended are removed."""
    leased_names(root)
    return any(True for _ in _leases(root))


def _leases(root: Path) -> Iterator[tuple[Path, int]]:
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(root / _LEASES)):
            until = entry.name.partition("-")[0]
            if until.isdecimal():
                yield Path(entry.path), int(until)
