"""What is done for the store beside the statements: join small chunks, drop what no reader needs.

It runs in a thread that is made when there is something to do and ends when there is not, so a process that
asks nothing does nothing. It may fail or be ended at any instant: it only ever adds a chunk that says the
same as others, and removes. This file must not know Kafka.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from hotset.kafka import OffsetRange
from hotset.store.background_tasks import CHORES
from hotset.store.chunk import join_rows
from hotset.store.coverage import joinable_chunks, useless_chunks
from hotset.store.file_locks import try_lock_file
from hotset.store.leases import leased_names
from hotset.store.log_folder import LOGS, LogFolder
from hotset.store.store_folder import make_folder

# What no reader needs goes when nobody has read it for so long.
UNUSED_S: Final = 120.0
# What nobody has read for so long, of whatever log, goes; it is looked for at the first chore of a process,
# and then so often.
EXPIRED_S: Final = 6 * 3600.0
_EXPIRY_S: Final = 600.0
_LOCK: Final = "keeping"
_NEVER: Final = 2**63 - 1
_AFTER_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Chore:
    """A log that was added to, or whose readers start later now.

    Attributes:
        folder: Where its chunks are.
        family: What all incarnations of its topic have in common.
        schema: The columns of its rows.
        starts: Partition to the offset below which readers ask for nothing.
    """

    folder: LogFolder
    family: str
    schema: pa.Schema
    starts: Mapping[int, int]


class Keeper:
    """Does chores one after the other, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._pending: OrderedDict[Path, Chore] = OrderedDict()
        self._lock = threading.Condition()
        self._is_running = False
        self._known: dict[Path, tuple[Mapping[int, int], int]] = {}
        self._expired_s = -_EXPIRY_S

    def note(self, chore: Chore) -> None:
        """Take note of a log that was read; nothing is done if nothing is new about it."""
        state = (chore.starts, len(chore.folder.chunks()))
        with self._lock:
            if self._known.get(chore.folder.path) == state:
                return
            self._known[chore.folder.path] = state
            self._pending[chore.folder.path] = chore
            # A process waits for it at its end: a thread that is still in Arrow then would abort it.
            self._is_running = self._is_running or CHORES.take(self._run)

    def settle(self, within_s: float = 60.0) -> bool:
        """Wait until there is nothing to do; return whether that came about."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._is_running, within_s)

    def _run(self) -> None:
        try:
            while (chore := self._next()) is not None:
                # What could not be done now is done when the log is next read.
                with contextlib.suppress(OSError, pa.ArrowException):
                    self._do(chore)
        except BaseException:
            # It is told of as any error that ends a thread is, and the next chore is begun all the same.
            with self._lock:
                self._is_running = False
                self._lock.notify_all()
            raise

    def _next(self) -> Chore | None:
        # Whoever gave the chore is still in a statement.
        time.sleep(_AFTER_S)
        with self._lock:
            if not self._pending:
                self._is_running = False
                self._lock.notify_all()
                return None
            return self._pending.popitem(last=False)[1]

    def _do(self, chore: Chore) -> None:
        drop_other_incarnations(chore.folder.path, chore.family)
        chore.folder.space.remove_abandoned()
        if time.monotonic() - self._expired_s > _EXPIRY_S:
            self._expired_s = time.monotonic()
            drop_expired(chore.folder.space.root)
        make_folder(chore.folder.path)
        with try_lock_file(chore.folder.path / _LOCK) as is_ours:
            if is_ours:
                tidy(chore)


def tidy(chore: Chore, unused_s: float | None = None) -> None:
    """Drop chunks of a log that no reader needs, and join small ones.

    Args:
        chore: The log.
        unused_s: For how many seconds nobody may have read what is dropped; `UNUSED_S` if None.

    Raises:
        OSError: A chunk went meanwhile.
    """
    folder, least_s = chore.folder, UNUSED_S if unused_s is None else unused_s
    leased = leased_names(folder.space.root)
    chunks = folder.chunks()
    needless = useless_chunks(chunks, chore.starts)
    for chunk in needless:
        if chunk.path.stem not in leased and folder.unused_s(chunk) >= least_s:
            folder.remove(chunk)
    left = [chunk for chunk in chunks if chunk not in needless]
    while run := joinable_chunks(left):
        partitions = {r.partition for chunk in run for r in chunk.info.ranges}
        wanted = [OffsetRange(p, chore.starts.get(p, 0), _NEVER) for p in partitions]
        parts = [chunk.read().within(wanted) for chunk in run]
        joined = folder.add(join_rows([part for part in parts if part.ranges]), chore.schema, after=run[-1])
        if joined is None:
            return
        left = sorted([*(chunk for chunk in left if chunk not in run), joined], key=lambda each: each.path)


def drop_expired(root: Path, after_s: float = EXPIRED_S) -> None:
    """Remove chunks that nobody has read for so long, of any log, and the folders of logs that have none."""
    leased = leased_names(root)
    for path in (root / LOGS).glob("*"):
        with contextlib.suppress(OSError):
            changed_s = path.stat().st_mtime
            with try_lock_file(path / _LOCK) as is_ours:
                left = not is_ours or _drop_unused(path, after_s, leased)
            # Somebody may have made it just now.
            if not left and time.time() - changed_s > after_s:
                shutil.rmtree(path, ignore_errors=True)


def _drop_unused(path: Path, after_s: float, leased: frozenset[str]) -> list[Path]:
    files = [each for each in path.iterdir() if each.name != _LOCK]
    fresh = {each.stem for each in files if time.time() - each.stat().st_mtime <= after_s}
    gone = [each for each in files if each.stem not in fresh | leased]
    for each in gone:
        each.unlink(missing_ok=True)
    return [each for each in files if each not in gone]


def drop_other_incarnations(path: Path, family: str) -> None:
    """Remove what was kept of topics of the same name that are no more, unless somebody may still read it.

    Args:
        path: The folder of the log that there is now.
        family: What the names of all incarnations begin with.
    """
    for other in path.parent.glob(f"{family}.*"):
        if other != path:
            with contextlib.suppress(OSError):
                if not _drop_unused(other, UNUSED_S, leased_names(path.parent.parent)):
                    shutil.rmtree(other, ignore_errors=True)
