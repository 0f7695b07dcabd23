"""What is done for the store beside the statements: join small chunks, drop what nobody will ask for.

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from hotset.decode import Fault
from hotset.store.background_tasks import CHORES
from hotset.store.chunk import Held, chunk_of, open_all, remove_chunk, store_chunk
from hotset.store.chunk_index import Chunk, find_chunks
from hotset.store.dictionaries import join
from hotset.store.file_names import BASE, LOGS, RAW, LogName, new_chunk, parse_file
from hotset.store.mapped_files import Maps
from hotset.store.offset_locks import try_lock_file
from hotset.store.space import Space
from hotset.store.stored_columns import Column

# A chunk of so many records or bytes is large enough for ever.
CHUNK_ROWS: Final = 65536
CHUNK_BYTES: Final = 32 * 1024 * 1024
# Small neighbours are joined when there are so many of them; and whatever columns they have, when more.
_FEW: Final = 8
_MANY: Final = 16
# What lies before the start of a cut goes when nobody has used it for so long: tables with other
# boundaries may be filled from the same topic.
UNUSED_S: Final = 60.0
# What nobody has used for so long, of whatever log, goes; it is looked for at the first chore of a process,
# and then so often.
EXPIRED_S: Final = 6 * 3600.0
_EXPIRY_S: Final = 600.0
_LOCK: Final = "keeping"
_AFTER_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Chore:
    """A partition's folder that was added to, or whose cuts begin later now."""

    log: LogName
    folder: Path
    partition: int
    start: int


class Keeper:
    """Does chores one after the other, in a thread that ends when there are none."""

    def __init__(self, space: Space, maps: Maps) -> None:
        self._space = space
        self._maps = maps
        self._pending: OrderedDict[Path, Chore] = OrderedDict()
        self._lock = threading.Condition()
        self._is_running = False
        self._starts: dict[Path, int] = {}
        self._expired_s = -_EXPIRY_S

    def note(self, chore: Chore, *, is_new: bool) -> None:
        """Take note of a partition that was read; nothing is done if nothing is new about it."""
        with self._lock:
            if not is_new and self._starts.get(chore.folder) == chore.start:
                return
            self._starts[chore.folder] = chore.start
            self._pending[chore.folder] = chore
            # A process waits for it at its end: a thread that is still in Arrow then would abort it.
            self._is_running = self._is_running or CHORES.take(self._run)

    def settle(self, within_s: float = 60.0) -> bool:
        """Wait until there is nothing to do; return whether that came about."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._is_running, within_s)

    def _run(self) -> None:
        while True:
            # Whoever gave the chore is still in a statement.
            time.sleep(_AFTER_S)
            with self._lock:
                if not self._pending:
                    self._is_running = False
                    self._lock.notify_all()
                    return
                _, chore = self._pending.popitem(last=False)
            # What could not be done now is done when the partition is next read.
            with contextlib.suppress(OSError, pa.ArrowException):
                self._do(chore)

    def _do(self, chore: Chore) -> None:
        drop_other_incarnations(chore)
        self._space.remove_abandoned()
        if time.monotonic() - self._expired_s > _EXPIRY_S:
            self._expired_s = time.monotonic()
            drop_expired(self._space.root)
        with try_lock_file(chore.folder / _LOCK) as is_ours:
            if not is_ours:
                return
            for chunk in useless_chunks(find_chunks(chore.folder), chore.start):
                remove_chunk(chunk)
            for run in self._runs(find_chunks(chore.folder)):
                self._join(run, chore.partition)
            _drop_orphans(chore.folder)

    def _runs(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """Return runs of small neighbours that are worth joining."""
        runs: list[list[Chunk]] = [[]]
        rows = size_bytes = 0
        for chunk in chunks:
            sizes = self._sizes(chunk)
            is_small = sizes is not None and sizes[0] < CHUNK_ROWS and sizes[1] < CHUNK_BYTES
            before = runs[-1][-1].name if runs[-1] else None
            is_next = before is not None and (before.end, before.epoch) == (
                chunk.name.start,
                chunk.name.epoch,
            )
            if not is_small or not is_next or rows >= CHUNK_ROWS or size_bytes >= CHUNK_BYTES:
                runs.append([])
                rows = size_bytes = 0
            if is_small and sizes is not None:
                runs[-1].append(chunk)
                rows, size_bytes = rows + sizes[0], size_bytes + sizes[1]
        return [run for run in runs if len(run) >= _FEW or (len(run) > 1 and self._rows(run) >= CHUNK_ROWS)]

    def _rows(self, run: Sequence[Chunk]) -> int:
        return sum(sizes[0] for chunk in run if (sizes := self._sizes(chunk)) is not None)

    def _sizes(self, chunk: Chunk) -> tuple[int, int] | None:
        base = self._maps.get(chunk.path(BASE), is_used=False)
        if base is None:
            return None
        kinds = (RAW, *chunk.columns) if chunk.has_raw else chunk.columns
        try:
            # Columns count too: they may be all there is left.
            return base.batch.num_rows, max((chunk.path(kind).stat().st_size for kind in kinds), default=0)
        except OSError:
            return None

    def _join(self, run: Sequence[Chunk], partition: int) -> None:
        helds = [open_all(self._maps, chunk, partition) for chunk in run]
        parts = [held for held in helds if held is not None]
        names = {frozenset(held.columns) for held in parts}
        if len(parts) < len(run) or (len(names) > 1 and len(run) < _MANY):
            return
        joined = join_held(parts)
        if joined.raw is None and not joined.columns:
            return
        first, last = run[0].name, run[-1].name
        name = new_chunk(first.start, last.end, first.epoch)
        keep = {str(chunk.name) for chunk in run}
        if store_chunk(self._space, chunk_of(name, run[0].folder, joined), joined, keep):
            for chunk in run:
                remove_chunk(chunk)


def join_held(parts: Sequence[Held]) -> Held:
    """Return neighbours as one, with what all of them have."""
    raws = [part.raw for part in parts if part.raw is not None]
    raw = None
    if len(raws) == len(parts):
        shared = [name for name in raws[0].schema.names if all(name in r.schema.names for r in raws)]
        raw = pa.concat_batches([each.select(shared) for each in raws])
    names = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    columns = {}
    for name in names:
        faults, before = [], 0
        for part in parts:
            faults += [Fault(before + f.row, f.reason) for f in part.columns[name].faults]
            before += part.base.num_rows
        columns[name] = Column(join([p.columns[name].values for p in parts]), tuple(faults))
    base = pa.concat_batches([part.base for part in parts])
    return Held(parts[0].partition, base, sum(part.tombstones for part in parts), raw, columns)


def useless_chunks(chunks: Sequence[Chunk], start: int) -> list[Chunk]:
    """Return chunks that another one says again, and unused ones that lie before `start`."""
    found: list[Chunk] = []
    worths = [_worth(chunk) for chunk in chunks]
    for chunk, worth in zip(chunks, worths, strict=True):
        mine = chunk.name
        is_said_again = any(
            (other.name.start <= mine.start and mine.end <= other.name.end)
            and other.name.epoch >= mine.epoch
            and (other.has_raw or not chunk.has_raw)
            and other_worth > worth
            for other, other_worth in zip(chunks, worths, strict=True)
        )
        if is_said_again or (mine.end <= start and _unused_s(chunk) > UNUSED_S):
            found.append(chunk)
    return found


def drop_expired(root: Path, after_s: float = EXPIRED_S) -> None:
    """Remove chunks that nobody has used for so long, of any log, and the folders of logs that have none."""
    for log in (root / LOGS).glob("*"):
        is_empty = True
        for folder in log.glob("*"):
            with contextlib.suppress(OSError), try_lock_file(folder / _LOCK) as is_ours:
                for chunk in find_chunks(folder) if is_ours else ():
                    if _unused_s(chunk) > after_s:
                        remove_chunk(chunk)
                is_empty &= is_ours and not find_chunks(folder)
        with contextlib.suppress(OSError):
            # Somebody may have made it just now.
            if is_empty and time.time() - log.stat().st_mtime > after_s:
                shutil.rmtree(log, ignore_errors=True)


def drop_other_incarnations(chore: Chore) -> None:
    """Remove what was kept of topics of the same name that are no more."""
    logs = chore.folder.parent.parent
    for log in logs.glob(f"{chore.log.family}.*"):
        if log.name != str(chore.log):
            shutil.rmtree(log, ignore_errors=True)


def _worth(chunk: Chunk) -> tuple[int, int, str]:
    raw_bytes = 0
    with contextlib.suppress(OSError):
        raw_bytes = chunk.path(RAW).stat().st_size if chunk.has_raw else 0
    return chunk.name.end - chunk.name.start, raw_bytes, chunk.name.uid


def _unused_s(chunk: Chunk) -> float:
    try:
        return time.time() - chunk.path(BASE).stat().st_mtime
    except OSError:
        return 0.0


def _drop_orphans(folder: Path) -> None:
    known = {str(chunk.name) for chunk in find_chunks(folder)}
    for path in folder.iterdir():
        parsed = parse_file(path.name)
        if parsed is not None and str(parsed[0]) not in known:
            with contextlib.suppress(OSError):
                # A base comes last: what has none yet may still get one.
                if time.time() - path.stat().st_mtime > UNUSED_S:
                    path.unlink()
