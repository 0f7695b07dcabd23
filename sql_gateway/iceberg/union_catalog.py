"""Federated tables as a catalog has them: namespaces, names, and metadata at a fresh cut.

A namespace `lake` has the unions; `lake_hot` and `lake_cold` have their halves. The file must not know HTTP.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from federation.cut import TakenCut, take_cut
from federation.ephemeral import EphemeralSnapshot, cold_metadata, epochs_of, publish_cut, storage_of_cut
from foundation.lru import LruCache
from sql_gateway.errors import NotFoundError

_KEPT: Final = 256
# What tells an engine how to reach files, and is no secret.
_PLAIN: Final = ("s3.endpoint", "s3.region", "s3.path-style-access", "client.region")
_LENT: Final = ("s3.", "adls.", "gcs.", "client.")


class Half(StrEnum):
    """Which rows of a federated table a namespace has, as the end of its name says."""

    UNION = ""
    HOT = "_hot"
    COLD = "_cold"


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """What a catalog answers about a table.

    Attributes:
        metadata_location: Where the metadata is, for engines that read it themselves.
        metadata: The metadata.
        config: How to reach its files.
    """

    metadata_location: str
    metadata: Mapping[str, Any] = field(repr=False)
    config: Mapping[str, str] = field(repr=False)


class UnionCatalog:
    """The registered tables, at the cut of each moment they are loaded.

    Args:
        tables: Name to merged options.
        lends_storage_access: Whether those who load a table are given the credentials for its files.
    """

    def __init__(
        self, tables: Mapping[str, Mapping[str, str]], *, lends_storage_access: bool = False
    ) -> None:
        self._tables = tables
        self._lends_storage_access = lends_storage_access
        self._published: LruCache[tuple[str, Half], EphemeralSnapshot] = LruCache(_KEPT)
        self._locks: dict[tuple[str, Half], threading.Lock] = {}
        self._lock = threading.Lock()

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces."""
        found = {name.rpartition(".")[0] for name in self._tables}
        return sorted(f"{namespace}{half.value}" for namespace in found for half in Half)

    def tables(self, namespace: str) -> list[str]:
        """Return the names of a namespace's tables.

        Raises:
            NotFoundError: There is no such namespace.
        """
        base, _ = self._half(namespace)
        return sorted(name.rpartition(".")[2] for name in self._tables if name.rpartition(".")[0] == base)

    def require(self, namespace: str, table: str) -> None:
        """Raise unless there is a table of a name.

        Raises:
            NotFoundError: There is none.
        """
        if table not in self.tables(namespace):
            raise NotFoundError(f"there is no table {namespace}.{table}; the namespaces list what there is")

    def load(self, namespace: str, table: str) -> LoadedTable:
        """Take a cut of a table and return its metadata.

        Raises:
            NotFoundError: There is no such table.
            CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken or read.
        """
        self.require(namespace, table)
        base, half = self._half(namespace)
        name = f"{base}.{table}"
        taken = take_cut(self._tables[name])
        config = self._config(taken)
        if half is Half.COLD:
            return LoadedTable(taken.pinned.table.metadata_location, cold_metadata(taken), config)
        published = self._publish(name, half, taken)
        return LoadedTable(published.metadata_location, published.metadata, config)

    def _publish(self, name: str, half: Half, taken: TakenCut) -> EphemeralSnapshot:
        """Return a snapshot of a cut: the one that was handed out last, if nothing has changed since."""
        with self._lock:
            lock = self._locks.setdefault((name, half), threading.Lock())
        with lock:
            known = self._published.get((name, half))
            if known is not None and _still_holds(known, taken):
                return known
            found = publish_cut(taken, is_hot_only=half is Half.HOT)
            self._published.put((name, half), found)
            return found

    def _half(self, namespace: str) -> tuple[str, Half]:
        known = {name.rpartition(".")[0] for name in self._tables}
        for half in (Half.UNION, Half.HOT, Half.COLD):
            base = namespace.removesuffix(half.value)
            if namespace.endswith(half.value) and base in known:
                return base, half
        raise NotFoundError(f"there is no namespace {namespace!r}; there are {', '.join(self.namespaces())}")

    def _config(self, taken: TakenCut) -> dict[str, str]:
        storage = storage_of_cut(taken)
        if "s3.region" in storage:
            storage = {"client.region": storage["s3.region"], **storage}
        return {
            name: value
            for name, value in storage.items()
            if name in _PLAIN or (self._lends_storage_access and name.startswith(_LENT))
        }


def _still_holds(known: EphemeralSnapshot, taken: TakenCut) -> bool:
    """Return whether a snapshot that was handed out is of a cut, and can be for its whole time again."""
    return (
        known.cut == taken.cut.token()
        and known.base == taken.pinned.state
        and known.epochs == epochs_of(taken)
        # Its summary says what open transactions hold back.
        and all(taken.held_back(each.partition) == each.held_back for each in known.receipt.partitions)
        and known.expires_ms - time.time() * 1000 >= taken.definition.keep_ephemeral_ms
        and all(path.exists() for path in known.files)
    )
