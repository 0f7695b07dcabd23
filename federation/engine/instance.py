"""The one DuckDB instance that runs user SQL, and what it must not be able to do.

No files, no network, no extensions, no spilling to disk, and none of that can
be changed by a statement: the configuration is locked before the first one.
Each statement has a cursor of its own, and sees what is registered there only.
"""

from __future__ import annotations

import threading
from typing import Final

import duckdb

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
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

_lock: Final = threading.Lock()
_made: Final[list[duckdb.DuckDBPyConnection]] = []


def open_cursor() -> duckdb.DuckDBPyConnection:
    """Return a new cursor of this process's locked instance; close it after use.

    Raises:
        duckdb.Error: The instance could not be made (a mistake of ours).
    """
    with _lock:
        if not _made:
            engine = duckdb.connect(":memory:", config=dict(_AT_START))
            for setting in _THEN:
                engine.execute(setting)
            _made.append(engine)
        return _made[0].cursor()
