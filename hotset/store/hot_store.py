"""The store of this process: a folder shared with others, and the logs that this process has read.

There is one for each folder and process, however many tables use it. It must not know what is read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from foundation.lru import LruCache
from hotset.kafka import OffsetRange
from hotset.store.background_tasks import WRITES
from hotset.store.housekeeping import Chore, Keeper
from hotset.store.leases import is_leased, lease_chunks
from hotset.store.log_folder import LOGS, LogFolder, log_name
from hotset.store.presence import be_present, remove_if_alone
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_log import HotRows, ResidentLog
from hotset.store.row_source import RowSource
from hotset.store.space import Space
from hotset.store.store_folder import find_root

_SETTLE_S: Final = 5.0
_LOGS_KEPT: Final = 256
_STORES_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where a store is and how large it may become.

    Attributes:
        path: Its folder; None for shared memory, or the folder for temporary files.
        limit_bytes: Bytes of all files together, over all processes.
    """

    path: str | None
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class HotStore:
    """A store as this process sees it. Not to be carried across a fork."""

    space: Space
    keeper: Keeper
    _logs: LruCache[str, ResidentLog] = field(default_factory=lambda: LruCache(_LOGS_KEPT))

    def read(
        self, source: RowSource, ranges: Sequence[OffsetRange], meter: ReadMeter, *, as_chunks: bool = False
    ) -> HotRows:
        """Return the rows of ranges, at most one per partition, from the store as far as it has them.

        Args:
            source: The topic, as a cut that was just taken found it.
            ranges: What to read.
            meter: Told what came from where.
            as_chunks: Whether all rows are to be in chunks, unless there is no room for them.

        Raises:
            HotsetError: What was missing could not be read to its end, or a record does not decode.
        """
        family, name = log_name(source, self._cluster(source))
        log = self._logs.get(name)
        if log is None:
            log = self._logs.keep(name, ResidentLog(LogFolder(self.space, self.folder / name)))
        found = log.read(source, ranges, meter, as_chunks=as_chunks)
        self.keeper.note(Chore(log.folder, family, source.schema, dict(source.starts)))
        return found

    @property
    def folder(self) -> Path:
        """Where all chunks are."""
        return self.space.root / LOGS

    def lease(self, names: Iterable[str], for_s: float) -> None:
        """Keep chunks from being removed for some seconds, by whatever process.

        Raises:
            OSError: The folder is gone, or full.
        """
        # Not while somebody makes room, who has looked at the leases already.
        with self.space.locked():
            lease_chunks(self.space.root, names, for_s)

    def settle(self, within_s: float = 60.0) -> bool:
        """Wait until background tasks have ended; return whether they did in time."""
        until_s = time.monotonic() + within_s
        return WRITES.settle(within_s) and self.keeper.settle(max(0.0, until_s - time.monotonic()))

    @staticmethod
    def _cluster(source: RowSource) -> str:
        # Servers alone are no identity, and a copy of a cluster has the id of the original.
        servers = source.client.properties["bootstrap.servers"]
        return f"{source.client.cluster_id(source.deadline)} {servers}"


_stores: Final[LruCache[tuple[int, StoreSettings], HotStore]] = LruCache(_STORES_KEPT)


def open_store(settings: StoreSettings) -> HotStore | None:
    """Return the store of this process for these settings, made if there is none; None if it has no place.

    Raises:
        HotStoreError: The folder that the settings name cannot be used.
    """
    mine = (os.getpid(), settings)
    found = _stores.get(mine)
    if found is None and (root := find_root(settings.path)) is not None:
        be_present(root)
        # Threads that come at once share one, or they would read the same records each for itself.
        found = _stores.keep(mine, HotStore(Space(root, settings.limit_bytes), Keeper()))
    return found


def clear_store(settings: StoreSettings) -> bool:
    """Remove what a store holds unless another process uses it or may; return whether that was so.

    Raises:
        HotStoreError: The folder that the settings name cannot be used.
    """
    store = open_store(settings)
    if store is None or not store.settle(_SETTLE_S) or is_leased(store.space.root):
        return False
    return remove_if_alone(store.space.root)
