"""How much the store may hold, over all processes, and what goes first.

Files are written under another name and renamed when they are whole, so whoever ends a process at any instant
leaves no torn one. Before it writes, a process makes files of the sizes that it needs, under a lock that all
share, so that who counts anew meanwhile counts them too. The counter may be too high, since what is removed
is not subtracted, and is counted anew when it seems so; it is never too low.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
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
        made = self._reserve([content.size for content in files.values()])
        if made is None:
            return False
        try:
            for (place, file), (path, content) in zip(made, files.items(), strict=True):
                view = memoryview(content)
                while view:
                    view = view[os.write(file, view) :]
                _move(place, path)
        finally:
            _give_up(made)
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

    def _make(self) -> tuple[Path, int]:
        path = self.root / MAKING / secrets.token_hex(8)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            return path, open_own(path, flags)
        except FileNotFoundError:
            make_folder(path.parent)
            return path, open_own(path, flags)

    def _reserve(self, sizes_bytes: Sequence[int]) -> list[tuple[Path, int]] | None:
        """Make locked files of these sizes, which count from now on; None if there is no room."""
        limit, size_bytes = self._limit(), sum(sizes_bytes)
        if size_bytes > limit:
            return None
        made: list[tuple[Path, int]] = []
        with self.locked() as counter:
            used = _reserved(counter, limit)
            if used + size_bytes > limit:
                used = self._evict(limit - size_bytes, leased_names(self.root))
            has_room = used + size_bytes <= limit
            try:
                for each_bytes in sizes_bytes if has_room else ():
                    made.append(self._make())
                    fcntl.flock(made[-1][1], fcntl.LOCK_EX)
                    os.truncate(made[-1][1], each_bytes)
                os.pwrite(counter, b"%32d" % (used + size_bytes if has_room else used), 0)
            except BaseException:
                _give_up(made)
                raise
        return made if has_room else None

    def _limit(self) -> int:
        found = os.statvfs(self.root)
        return min(self.limit_bytes, found.f_blocks * found.f_frsize // _SHARE)

    @contextlib.contextmanager
    def locked(self) -> Iterator[int]:
        """Let nobody else make room; the file that counts is handed out."""
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


def _move(made: Path, path: Path) -> None:
    try:
        made.rename(path)
    except FileNotFoundError:
        make_folder(path.parent)
        made.rename(path)


def _give_up(made: Sequence[tuple[Path, int]]) -> None:
    """Let go of files, and remove those that were not moved away."""
    for path, file in made:
        path.unlink(missing_ok=True)
        close_own(file)


def _files(root: Path) -> list[tuple[Path, os.stat_result]]:
    found: dict[int, tuple[Path, os.stat_result]] = {}
    for folder, folders, names in os.walk(root):
        # A file may be moved from here meanwhile. It is then found twice, and not never.
        folders.sort(key=lambda name: name != MAKING)
        for name in names:
            with contextlib.suppress(OSError):
                path = Path(folder, name)
                status = path.stat()
                found[status.st_ino] = (path, status)
    return list(found.values())


def _remove_if_unlocked(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    finally:
        os.close(file)
