"""How much the store may hold, over all processes, and what goes first.

Who wants to write has to reserve first, under a lock that all processes share, and the file is as large
as it will be from then on. A counter says how much is reserved; it may be too high, since what is
removed is not subtracted, and is counted anew when it seems too high. It is never too low.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hotset.store.file_names import BASE, parse_file
from hotset.store.offset_locks import close_own, open_own
from hotset.store.store_folder import make_folder

MAKING: Final = "making"
_COUNTER: Final = "reserved"
# Evicting a little more than is needed saves counting anew for the next file.
_SLACK: Final = 16
# The file system must keep room for others.
_SHARE: Final = 2
_ABANDONED_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes of one store.

    Invariant: the files in the folder are never larger, together, than `limit_bytes` of whoever wrote last.
    """

    root: Path
    limit_bytes: int

    def reserve(self, sizes_bytes: Sequence[int], keep: Collection[str]) -> list[tuple[Path, int]] | None:
        """Make locked files of these sizes in which something may be written, or None if there is no room.

        Args:
            sizes_bytes: What will be written to each.
            keep: Names of chunks that must not be evicted for it.

        Returns:
            The files and their descriptors, each for `close_own` when the file has its final name.

        Raises:
            OSError: The folder is gone, or full.
        """
        limit, size_bytes = self._limit(), sum(sizes_bytes)
        if size_bytes > limit:
            return None
        with self._locked() as counter:
            used = _reserved(counter, limit)
            if used + size_bytes > limit:
                used = self._evict(limit - size_bytes, keep)
            if used + size_bytes > limit:
                os.pwrite(counter, b"%32d" % used, 0)
                return None
            made: list[tuple[Path, int]] = []
            try:
                for each_bytes in sizes_bytes:
                    made.append(self._make())
                    fcntl.flock(made[-1][1], fcntl.LOCK_EX)
                    os.truncate(made[-1][1], each_bytes)
                os.pwrite(counter, b"%32d" % (used + size_bytes), 0)
            except BaseException:
                for path, file in made:
                    path.unlink(missing_ok=True)
                    close_own(file)
                raise
            return made

    def _make(self) -> tuple[Path, int]:
        path = self.root / MAKING / secrets.token_hex(8)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        try:
            return path, open_own(path, flags)
        except FileNotFoundError:
            make_folder(path.parent)
            return path, open_own(path, flags)

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
        found = sorted(_files(self.root), key=lambda item: item[1].st_mtime_ns)
        used = sum(status.st_size for _, status in found)
        if used <= limit:
            return used
        sizes = {path: status.st_size for path, status in found}
        for path, _ in found:
            if used <= limit - limit // _SLACK:
                break
            parsed = parse_file(path.name)
            if path not in sizes or parsed is None or str(parsed[0]) in keep:
                continue
            # The other files of a chunk are of no use without its base.
            together = list(path.parent.glob(f"{parsed[0]}.*")) if parsed[1] == BASE else [path]
            for each in sorted(together, key=lambda one: one.suffix != f".{BASE}"):
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
