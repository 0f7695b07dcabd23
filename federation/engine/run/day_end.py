"""The time 24:00:00, which the engine has and Arrow's times of a day have not.

Whoever reads such a value out of Arrow gets 00:00:00, or an error of his own. So an answer that has one is
refused before anybody reads it. This file must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from federation.errors import SqlError

_DAY: Final = {"us": 86_400_000_000, "ns": 86_400_000_000_000}


def require_times_of_day(rows: pa.Table) -> None:
    """Raise if a time in a result is the end of a day.

    Raises:
        SqlError: A column has one.
    """
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        for times in _times_in(column.type, column.chunks):
            latest = pc.max(times.cast(pa.int64())).as_py()
            if latest is not None and latest >= _DAY[times.type.unit]:
                raise SqlError(
                    f"column {name!r} has the time 24:00:00, which no answer can hold; cast it to VARCHAR",
                    column=name,
                )


def _times_in(kind: pa.DataType, arrays: list[pa.Array]) -> Iterator[pa.Array]:
    if pa.types.is_time64(kind):
        yield from arrays
    elif pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            yield from _times_in(kind.field(place).type, [array.field(place) for array in arrays])
    elif pa.types.is_map(kind):
        yield from _times_in(kind.key_type, [array.keys for array in arrays])
        yield from _times_in(kind.item_type, [array.items for array in arrays])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _times_in(kind.value_type, [array.flatten() for array in arrays])
