"""What the engine sees of a table: a view over its halves, under the table's name.

The file runs no statement of a user's and must not know what is read.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from coldset.files import quoted
from federation.engine.arrow_stream import Stream
from federation.engine.run.hot_scan import has_spelling, scan_hot, tail_columns
from federation.engine.run.instance import deletes_of
from federation.engine.run.table_read import TableRead


def show_table(cursor: duckdb.DuckDBPyConnection, name: str, read: TableRead) -> None:
    """Let a table be its halves, in place of what was shown under its name.

    Args:
        cursor: Where the statement will run.
        name: The table's.
        read: What is read of it.

    Raises:
        duckdb.Error: The engine refused (a mistake of ours).
        ColdReadError: A data file is not the one any more that was planned.
    """
    parts = [*_scanned(read), *_hot(cursor, name, read)]
    if read.counted is not None:
        nothing = ", ".join("NULL" for _ in read.schema.names)
        parts.append(f"SELECT {nothing} FROM range({read.counted})")
    # A view is of something, if only of no rows; and a column that is in no file has its type from there.
    if _is_rest_read(read) or not parts or not _is_typed(read):
        has_rows = _is_rest_read(read)
        stream = read.cold_rest() if has_rows else Stream(read.schema, lambda: iter(()))
        cursor.register(f"{name} (cold)", stream)
        parts.insert(0, f"SELECT * FROM {quoted(f'{name} (cold)')}")
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {' UNION ALL '.join(parts)}")


def _scanned(read: TableRead) -> list[str]:
    if read.scan is None:
        return []
    read.scan.require_unchanged()
    scanned = read.scan.sql(read.schema.names, deletes_of(read.scan))
    return [scanned] if scanned else []


def _hot(cursor: duckdb.DuckDBPyConnection, name: str, read: TableRead) -> list[str]:
    if read.split is None or read.counted is not None:
        return []
    place = quoted(f"{name} (hot)")
    if not has_spelling(read.split.filled):
        cursor.register(f"{name} (hot)", read.hot_rest())
        return [f"SELECT * FROM {place}"]
    found = scan_hot(read.hot, read.split.filled, read.schema)
    if found.tail is None:
        return list(found.chunks)
    cursor.register(f"{name} (hot)", found.tail)
    return [*found.chunks, f"SELECT {tail_columns(read.split.filled, read.schema)} FROM {place}"]


def _is_rest_read(read: TableRead) -> bool:
    """Return whether files are left that the engine does not read itself."""
    return read.taken.pinned.snapshot is not None and (read.rest is None or bool(read.rest))


def _is_typed(read: TableRead) -> bool:
    """Return whether the engine's own scans say the type of every column."""
    if read.counted is not None:
        return False
    if read.scan is not None and read.scan.groups:
        known = {field_name for _, field_name, _ in read.scan.fields}
    else:
        known = set() if read.split is None else set(read.split.filled.names)
    return set(read.schema.names) <= known


def show_letters(cursor: duckdb.DuckDBPyConnection, name: str, letters: pa.Table | Stream) -> None:
    """Let a name be the dead letters of a table.

    Raises:
        duckdb.Error: The engine refused (a mistake of ours).
    """
    cursor.register(name, letters)
