"""Random filters over a table, by seed, of values that its rows have or nearly have.

Spark's rows say what a filter leaves, when an engine without files, plans or metadata is asked. Readers may
leave out files and row groups, and then have to have the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import duckdb
import pyarrow as pa

from coldset.files.duckdb_sql import quoted
from coldset.prune.predicate import Predicate
from coldset.table.catalog import PinnedTable
from federation.engine.lookahead.lookahead import Lookout
from tests.coldset.tables import read

_SIGNS: Final = ("=", "<", "<=", ">", ">=", "<>")
_TEXTS: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_integer, "BIGINT"),
    (pa.types.is_floating, "DOUBLE"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_string, "VARCHAR"),
)


def some_filter(random: Random, rows: pa.Table, depth: int = 2) -> str:
    """A condition in SQL."""
    if depth and random.random() < 0.5:
        parts = [some_filter(random, rows, depth - 1) for _ in range(random.randint(1, 3))]
        joined = f" {random.choice(('AND', 'OR'))} ".join(f"({part})" for part in parts)
        return f"NOT ({joined})" if random.random() < 0.2 else joined
    name = random.choice(rows.schema.names)
    column = quoted(name)
    if random.random() < 0.2:
        return f"{column} IS {random.choice(('', 'NOT '))}NULL"
    kind = rows.schema.field(name).type
    values = [_literal(random, kind, value) for value in rows.column(name).to_pylist() if value is not None]
    known = [value for value in values if value is not None]
    if not known:
        return f"{column} IS {random.choice(('', 'NOT '))}NULL"
    return _compared(random, column, kind, known)


def _compared(random: Random, column: str, kind: pa.DataType, known: list[str]) -> str:
    one, other = random.choice(known), random.choice(known)
    ways = [
        f"{column} {random.choice(_SIGNS)} {one}",
        f"{column} {random.choice(_SIGNS)} {one}",
        f"{column} BETWEEN {one} AND {other}",
        f"{column} IN ({', '.join(random.choices(known, k=random.randint(1, 7)))})",
        f"{column} NOT IN ({', '.join(random.choices(known, k=random.randint(1, 7)))})",
    ]
    if pa.types.is_string(kind):
        ways.append(f"{column} LIKE '{random.choice(('v', 'v1', 'n', 'w', ''))}%'")
    return random.choice(ways)


def _literal(random: Random, kind: pa.DataType, value: Any) -> str | None:
    if pa.types.is_timestamp(kind):
        moved = f"'{value.replace(tzinfo=None)}'::TIMESTAMP + INTERVAL ({random.choice((0, 0, -1, 1))}) HOUR"
        return f"({moved})" if kind.tz is None else f"({moved})::TIMESTAMPTZ"
    if pa.types.is_decimal(kind):
        return f"{value}::DECIMAL({kind.precision}, {kind.scale})"
    for is_kind, name in _TEXTS:
        if is_kind(kind):
            moved = value + random.choice((0, 0, 0, 1, -1)) if name in ("BIGINT", "DOUBLE") else value
            return f"'{moved}'::{name}"
    return None


def predicate_of(rows: pa.Table, condition: str) -> Predicate | None:
    """What is understood of a filter."""
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        _, found = Lookout(engine, {"t": rows.schema}).look(f"SELECT * FROM t WHERE {condition}")
        return found["t"].where


def filtered(rows: pa.Table, condition: str) -> pa.Table:
    """What a filter leaves of rows that are in memory."""
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        # A table of the engine's own, which no reader of ours has a hand in.
        engine.register("rows", rows)
        engine.execute("CREATE TABLE t AS FROM rows")
        return engine.sql(f"SELECT * FROM t WHERE {condition}").to_arrow_table().cast(rows.schema)


def read_filtered(pinned: PinnedTable, rows: pa.Table, condition: str) -> pa.Table:
    """What the reader of files has, from files and row groups that may have such rows only."""
    return filtered(read(pinned, where=predicate_of(rows, condition)), condition)
