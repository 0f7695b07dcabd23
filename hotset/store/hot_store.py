"""The store of this process: a folder shared with others, and the maps that this process has of it.

There is one for each folder and process, however many tables use it. It must not know what is read.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hotset.store.background_tasks import WRITES
from hotset.store.fetch import TopicSource
from hotset.store.file_names import LOGS, LogName
from hotset.store.housekeeping import Keeper
from hotset.store.mapped_files import Maps
from hotset.store.presence import be_present, remove_if_alone
from hotset.store.space import Space
from hotset.store.store_folder import find_root

_SETTLE_S: Final = 5.0


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
    maps: Maps
    keeper: Keeper

    def settle(self, within_s: float = 60.0) -> bool:
        """Wait until background tasks have ended; return whether they did in time."""
        until_s = time.monotonic() + within_s
        return WRITES.settle(within_s) and self.keeper.settle(max(0.0, until_s - time.monotonic()))

    def folder(self, log: LogName, partition: int) -> Path:
        """Return where chunks of a partition are."""
        return self.space.root / LOGS / str(log) / str(partition)

    def log(self, source: TopicSource) -> LogName:
        """Return what the log of a source is called in the store.

        Raises:
            KafkaUnavailableError, KafkaAccessError: The cluster did not say who it is.
        """
        servers = source.client.properties["bootstrap.servers"]
        cluster = f"{source.client.cluster_id(source.deadline)} {servers}"
        digest = hashlib.sha256(cluster.encode()).hexdigest()
        return LogName(digest, source.topic, source.topic_id, source.isolation)


def open_store(settings: StoreSettings) -> HotStore | None:
    """Return the store of this process for these settings, made if there is none; None if it has no place.

    Raises:
        HotStoreError: The folder that the settings name cannot be used.
    """
    return _open(os.getpid(), settings)


def clear_store(settings: StoreSettings) -> bool:
    """Remove what a store holds unless another process uses it; return whether that was so.

    Raises:
        HotStoreError: The folder that the settings name cannot be used.
    """
    store = open_store(settings)
    return store is not None and store.settle(_SETTLE_S) and remove_if_alone(store.space.root)


@functools.lru_cache(maxsize=16)
def _open(pid: int, settings: StoreSettings) -> HotStore | None:
    root = find_root(settings.path)
    if root is None:
        return None
    be_present(root)
    space = Space(root, settings.limit_bytes)
    maps = _maps(pid, space.root)
    return HotStore(space, maps, Keeper(space, maps))


@functools.lru_cache(maxsize=16)
def _maps(_pid: int, _root: Path) -> Maps:
    return Maps()
