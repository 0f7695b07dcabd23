"""The hot rows of a table as SQL: chunks are Parquet files that DuckDB reads itself, the tail is a table.

Chunks are read by field id, like data files. Of a chunk that a cut wants in part, the rows outside are left
out by where their records were. The text is made here and run elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from coldset.files import definition_of, quoted, sql_type, text_literal
from hotset.kafka import OffsetRange
from hotset.store import OFFSET, PARTITION, PLACE, ChunkPart, HotRows

_NEVER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class HotScan:
    """How hot rows are scanned.

    Attributes:
        chunks: Queries for the rows in chunks.
        tail: All other rows, with columns named by their places; None if there are none.
    """

    chunks: tuple[str, ...]
    tail: pa.Table | None = field(repr=False)


def has_spelling(filled: pa.Schema) -> bool:
    """Return whether DuckDB can read chunks of these columns itself."""
    return all(definition_of(_id(found), found.type) is not None for found in filled)


def scan_hot(found: HotRows, filled: pa.Schema, columns: pa.Schema) -> HotScan:
    """Return how rows are scanned.

    Args:
        found: The rows.
        filled: The columns of chunks, with their ids.
        columns: Those that the answer may look at; what records do not fill is an error if it is looked at.
    """
    whole = [part for part in found.parts if part.is_whole]
    groups = ([whole] if whole else []) + [[part] for part in found.parts if not part.is_whole]
    return HotScan(tuple(_read(group, filled, columns) for group in groups), tail_of(found, filled))


def tail_of(found: HotRows, filled: pa.Schema) -> pa.Table | None:
    """Return the rows that are in no chunk, with filled columns named by their places."""
    if not any(rows.rows.num_rows for rows in found.tail):
        return None
    # The engine takes names that differ in case only for one.
    names = [f"c{place}" for place in range(len(filled))]
    return pa.concat_tables([rows.rows.select(filled.names) for rows in found.tail]).rename_columns(names)


def tail_columns(filled: pa.Schema, columns: pa.Schema) -> str:
    """Return what to select of the tail for these columns."""
    places = {name: f"c{place}" for place, name in enumerate(filled.names)}
    return _selected(columns, places)


def _read(parts: Sequence[ChunkPart], filled: pa.Schema, columns: pa.Schema) -> str:
    with_nan = frozenset[str]().union(*(part.chunk.info.with_nan for part in parts))
    wanted = [found for found in filled if found.name in columns.names]
    by_name = {found.name: _column(found, with_nan) for found in wanted}
    read = [definition_of(_id(found), found.type) for found in (*wanted, *PLACE)]
    paths = ", ".join(text_literal(str(part.chunk.path)) for part in parts)
    scan = f"read_parquet([{paths}], schema = MAP {{{', '.join(map(str, read))}}}, hive_partitioning = false)"
    where = "" if parts[0].is_whole else f" WHERE {_within(parts[0].ranges)}"
    return f"SELECT {_selected(columns, by_name)} FROM {scan}{where}"


def _column(found: pa.Field, with_nan: frozenset[str]) -> str:
    # A footer's bounds leave NaN out, and the engine skips rows by them, though NaN is above all numbers to
    # it. It takes no bounds through TRY, which of a column alone can hide no error.
    may_hold_nan = found.name in with_nan or (pa.types.is_nested(found.type) and _has_floats(found.type))
    return f"try(c{_id(found)})" if may_hold_nan else f"c{_id(found)}"


def _selected(columns: pa.Schema, by_name: dict[str, str]) -> str:
    return ", ".join(
        f"{by_name.get(found.name) or _not_filled(found)} AS {quoted(found.name)}" for found in columns
    )


def _not_filled(found: pa.Field) -> str:
    return (
        f"CAST(error('no record fills column {_escaped(found.name)}') AS {sql_type(found.type) or 'VARCHAR'})"
    )


def _escaped(name: str) -> str:
    return name.replace("'", "''").replace("\0", "")


def _within(ranges: Sequence[OffsetRange]) -> str:
    partition, offset = (f"c{_id(found)}" for found in PLACE if found.name in (PARTITION, OFFSET))
    starts, ends = ([_NEVER] * (max(r.partition for r in ranges) + 1) for _ in range(2))
    for r in ranges:
        starts[r.partition], ends[r.partition] = r.start, r.end
    # A partition beyond the lists has no start there, and so no row that is wanted.
    return f"{offset} >= {starts}[{partition} + 1] AND {offset} < {ends}[{partition} + 1]"


def _id(found: pa.Field) -> int:
    return int(found.metadata[b"PARQUET:field_id"])


def _has_floats(kind: pa.DataType) -> bool:
    inner = (kind.field(at).type for at in range(kind.num_fields))
    return bool(pa.types.is_floating(kind)) or any(_has_floats(each) for each in inner)
