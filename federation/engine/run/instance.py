"""The DuckDB instances that run user SQL, and what they must not be able to do.

No files, no network, no extensions, no spilling to disk, and none of that can
be changed by a statement: the configuration is locked before the first one.
The one exception are the data files of the very snapshots that a statement
reads, and the chunks of the hot store: an instance can open these and nothing else. Each
statement has a cursor of its own, and sees what is registered there only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from coldset.files import quoted
from coldset.plan import ParquetScan, ScanGroup, ScanKey
from federation.cut import TakenCut
from federation.errors import EngineError
from foundation.lru import LruCache
from hotset.store import open_store

_AT_START: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "temp_directory": "",
}

_THEN: Final = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET memory_limit = '2GB'",
    "SET python_enable_replacements = false",
    "SET parquet_metadata_cache = true",
    "SET enable_external_access = false",
    "SET allowed_configs = ['enable_progress_bar', 'enable_progress_bar_print']",
    "SET lock_configuration = true",
)

_INSTANCES_KEPT: Final = 8

_lock: Final = threading.Lock()
_made: Final[LruCache[tuple[tuple[ScanKey, ...], tuple[str, ...]], duckdb.DuckDBPyConnection]] = LruCache(
    _INSTANCES_KEPT
)


def open_cursor(scans: Sequence[ParquetScan] = (), folders: Sequence[str] = ()) -> duckdb.DuckDBPyConnection:
    """Return a new cursor of this process's locked instance for these scans; close it after use.

    Args:
        scans: Whose files it may open.
        folders: Where the chunks are that it may open.

    Raises:
        EngineError: The instance could not be made.
    """
    # One table may have two names.
    different = {scan.key: scan for scan in scans}
    key = (tuple(sorted(different)), tuple(sorted(folders)))
    with _lock:
        try:
            engine = _made.get(key)
            if engine is None:
                engine = _open(tuple(different.values()), folders)
                _made.put(key, engine)
            return engine.cursor()
        except duckdb.Error as exc:
            raise EngineError(f"no engine could be opened: {exc}") from exc


def store_folders(cuts: Iterable[TakenCut]) -> list[str]:
    """Return the folders in which the chunks of these tables are.

    Raises:
        HotStoreError: The folder that an option names cannot be used.
    """
    stores = [open_store(taken.definition.store) for taken in cuts if taken.definition.store is not None]
    return sorted({str(store.folder) for store in stores if store is not None})


def deletes_of(scan: ParquetScan) -> dict[int, str]:
    """Return the tables that hold the deleted rows of a scan's groups, by the groups' places."""
    name = " ".join(map(str, scan.key))
    return {place: f"deleted rows {name} {place}" for place, group in enumerate(scan.groups) if group.deleted}


def _open(scans: Sequence[ParquetScan], folders: Sequence[str]) -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect(":memory:", config=dict(_AT_START))
    for scan in scans:
        for place, table in deletes_of(scan).items():
            _keep_deletes(engine, table, scan.groups[place])
    # Before the lock: these files can be opened, and no others.
    engine.execute("SET allowed_paths = ?", [[path for scan in scans for path in scan.paths]])
    engine.execute("SET allowed_directories = ?", [list(folders)])
    for setting in _THEN:
        engine.execute(setting)
    return engine


def _keep_deletes(engine: duckdb.DuckDBPyConnection, table: str, group: ScanGroup) -> None:
    """Make the table of a group's deleted rows, as the scan wants it."""
    bits = group.most_rows
    rows = [
        pc.add(pa.array(memoryview(deleted.to_array()).cast("B").cast("q"), pa.int64()), place * bits)
        for place, deleted in enumerate(group.deleted)
    ]
    engine.register("gone", pa.table({"row": pa.chunked_array(rows, pa.int64())}))
    text = "SELECT row FROM gone"
    if not group.is_listed:
        text = (
            f"SELECT list(coalesce(bits, repeat('0', {bits})::BIT) ORDER BY file) AS bits "
            f"FROM (SELECT range AS file FROM range({len(group.deleted)})) LEFT JOIN "
            f"(SELECT row // {bits} AS file, bitstring_agg(row % {bits}, 0, {bits - 1}) AS bits "
            f"FROM gone GROUP BY file) USING (file)"
        )
    engine.execute(f"CREATE TABLE {quoted(table)} AS {text}")
    engine.unregister("gone")
