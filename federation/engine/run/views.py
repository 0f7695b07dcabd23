"""What the engine sees of a table: a view over its halves, under the table's name.

A column that was not read must not be looked at. Where hot rows are a table, the view has in its place an
expression that fails when it is evaluated, so that a wrong guess about columns ends in an error, which is
known here, and never in nulls. The file runs no statement of a user's and must not know what is read.
"""

from __future__ import annotations

from typing import Final

import duckdb
import pyarrow as pa

from coldset.files import quoted
from federation.engine.run.instance import deletes_of
from federation.engine.run.streams import TableStreams
from federation.options import Part
from foundation.lru import LruCache

_SAID: Final = "a column was looked at that was not read"
_NOT_READ: Final = f"error('{_SAID}')"
_SCHEMAS: Final = 256

_types: Final[LruCache[pa.Schema, tuple[str, ...]]] = LruCache(_SCHEMAS)


def show(
    cursor: duckdb.DuckDBPyConnection, name: str, streams: TableStreams, loaded: pa.Table | None
) -> None:
    """Let a table be its halves, in place of what was shown under its name.

    Args:
        cursor: Where the statement will run.
        name: The table's.
        streams: The halves.
        loaded: The hot rows; None if they are to be read when the statement runs.

    Raises:
        duckdb.Error: The engine refused (a mistake of ours).
    """
    if Part.ROWS not in streams.parts:
        return
    parts = [f"SELECT * FROM {quoted(_cold(name))}"]
    if streams.taken.cut.hot_span:
        cursor.register(_hot(name), streams.hot() if loaded is None else _by_place(loaded))
        columns = "*" if loaded is None else _columns(cursor, streams, loaded)
        parts.append(f"SELECT {columns} FROM {quoted(_hot(name))}")
    scan, is_rest = streams.narrowed, True
    if scan is not None:
        scan.require_unchanged()
        scanned = scan.sql(streams.schema.names, deletes_of(scan))
        # A view is of something, if only of no rows; and a column that is in no file has its type from there.
        is_typed = set(streams.schema.names) <= {field_name for _, field_name, _ in scan.fields}
        is_rest = bool(scan.rest) or not is_typed or not (scanned or parts[1:])
        parts = [*([scanned] if scanned else []), *(parts if is_rest else parts[1:])]
    if is_rest:
        cursor.register(_cold(name), streams.cold())
    if streams.counted is not None:
        # The stream, if only of no rows, says which types the nulls have.
        parts[0] += "" if streams.rest else " WHERE false"
        nothing = ", ".join("NULL" for _ in streams.schema.names)
        parts.append(f"SELECT {nothing} FROM range({streams.counted})")
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {' UNION ALL '.join(parts)}")


def show_hot_only(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    streams: TableStreams,
    hot: pa.Table,
    *,
    is_again: bool = False,
) -> None:
    """Let a table be nothing but hot rows that were read.

    Args:
        cursor: Where the statement will run.
        name: The table's.
        streams: Its columns.
        hot: The rows.
        is_again: Whether the cursor has shown other rows under this name, of the same columns.

    Raises:
        duckdb.Error: The engine refused (a mistake of ours).
    """
    if hot.schema.names == streams.schema.names:
        cursor.register(name, hot)
        return
    cursor.register(_hot(name), _by_place(hot))
    if is_again:
        return
    columns = _columns(cursor, streams, hot)
    cursor.execute(f"CREATE TEMP VIEW {quoted(name)} AS SELECT {columns} FROM {quoted(_hot(name))}")


def is_not_read(error: BaseException | None) -> bool:
    """Return whether an error of the engine is that a statement looked at a column that was not read."""
    return isinstance(error, duckdb.InvalidInputException) and _SAID in str(error)


def _cold(name: str) -> str:
    return f"{name} (cold)"


def _hot(name: str) -> str:
    return f"{name} (hot)"


def _columns(cursor: duckdb.DuckDBPyConnection, streams: TableStreams, hot: pa.Table) -> str:
    read = {name: f"c{place}" for place, name in enumerate(hot.schema.names)}
    is_whole = len(read) == len(streams.schema)
    types = [""] * len(read) if is_whole else _types_of(cursor, streams.schema)
    return ", ".join(
        f"{read.get(name, f'CAST({_NOT_READ} AS {kind})')} AS {quoted(name)}"
        for name, kind in zip(streams.schema.names, types, strict=True)
    )


def _by_place(hot: pa.Table) -> pa.Table:
    # The engine takes names that differ in case only for one.
    return hot.rename_columns([f"c{place}" for place in range(hot.num_columns)])


def _types_of(cursor: duckdb.DuckDBPyConnection, schema: pa.Schema) -> tuple[str, ...]:
    """Return what the engine makes of the types of columns, as SQL."""
    found = _types.get(schema)
    if found is None:
        cursor.register("types", pa.Table.from_batches([], schema))
        relation = cursor.sql('SELECT * FROM "types"')
        found = tuple(map(str, relation.types))
        cursor.unregister("types")
        _types.put(schema, found)
    return found
