"""How much the store may hold, over all processes, and what goes first.

Files are written under another name and renamed when they are whole, so whoever ends a process at any instant
leaves no torn one. Before it writes, a process reserves the bytes under a lock that all share. The counter
may be too high, since what is removed is not subtracted, and is counted anew when it seems so; it is never
too low.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from hotset.store.chunk import ROWS
from hotset.store.file_locks import close_own, open_own
from hotset.store.leases import leased_names
from hotset.store.store_folder import make_folder

MAKING: Final = "making"
_COUNTER: Final = "reserved"
# Evicting a little more than is needed saves counting anew for the next file.
_SLACK: Final = 16
# The file system must keep room for others.
_SHARE: Final = 2
_ABANDONED_S: Final = 1.0
# Who has chosen a chunk opens it a moment later.
_IN_USE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes of one store.

    Invariant: the files in the folder are never larger, together, than `limit_bytes` of whoever wrote last.
    """

    root: Path
    limit_bytes: int

    def write(self, files: Mapping[Path, pa.Buffer]) -> bool:
        """Write files, in their order, each whole or not at all; return whether there was room.

        Raises:
            OSError: The folder is gone, or full.
        """
        size_bytes = sum(content.size for content in files.values())
        if not self._reserve(size_bytes):
            return False
        for path, content in files.items():
            self._write(path, content)
        return True

    def used_bytes(self) -> int:
        """Return the sizes of all files together, as they are now.

        Raises:
            OSError: The folder is gone.
        """
        return sum(found.st_size for _, found in _files(self.root))

    def remove_abandoned(self) -> None:
        """Remove what processes were writing when they ended."""
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(self.root / MAKING)):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED_S:
                        _remove_if_unlocked(Path(entry.path))

    def _write(self, path: Path, content: pa.Buffer) -> None:
        made, file = self._make()
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            view = memoryview(content)
            while view:
                view = view[os.write(file, view) :]
            try:
                made.rename(path)
            except FileNotFoundError:
                make_folder(path.parent)
                made.rename(path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        finally:
            close_own(file)

    def _make(self) -> tuple[Path, int]:
        path = self.root / MAKING / secrets.token_hex(8)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            return path, open_own(path, flags)
        except FileNotFoundError:
            make_folder(path.parent)
            return path, open_own(path, flags)

    def _reserve(self, size_bytes: int) -> bool:
        limit = self._limit()
        if size_bytes > limit:
            return False
        with self._locked() as counter:
            used = _reserved(counter, limit)
            if used + size_bytes > limit:
                used = self._evict(limit - size_bytes, leased_names(self.root))
            has_room = used + size_bytes <= limit
            os.pwrite(counter, b"%32d" % (used + size_bytes if has_room else used), 0)
            return has_room

    def _limit(self) -> int:
        found = os.statvfs(self.root)
        return min(self.limit_bytes, found.f_blocks * found.f_frsize // _SHARE)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        counter = open_own(self.root / _COUNTER, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(counter, fcntl.LOCK_EX)
            yield counter
        finally:
            close_own(counter)

    def _evict(self, limit: int, keep: Collection[str]) -> int:
        """Remove what was not used for longest until no more than `limit` is left; return what is left."""
        self.remove_abandoned()
        files = _files(self.root)
        used = sum(status.st_size for _, status in files)
        sizes = {path: status.st_size for path, status in files}
        chunks = sorted((status.st_mtime, path) for path, status in files if path.suffix == ROWS)
        for used_s, path in chunks:
            if used <= limit - limit // _SLACK or time.time() - used_s < _IN_USE_S:
                break
            if path.stem in keep:
                continue
            for each in sorted(path.parent.glob(f"{path.stem}.*"), key=lambda one: one.suffix != ROWS):
                each.unlink(missing_ok=True)
                used -= sizes.pop(each, 0)
        return used


def _reserved(counter: int, limit: int) -> int:
    """Return what the counter says; as much as there may be, so that it is counted, if that is no number."""
    try:
        return int(os.pread(counter, 32, 0) or b"0")
    except ValueError:
        return limit


def _files(root: Path) -> list[tuple[Path, os.stat_result]]:
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(OSError):
                path = Path(folder, name)
                found.append((path, path.stat()))
    return found


def _remove_if_unlocked(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    finally:
        os.close(file)
