"""What one statement may use, and what comes of it.

Both are plain values; what enforces the limits is `clock` and `collect`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from federation.errors import SqlError
from federation.receipt import TableReceipt


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may use.

    Attributes:
        timeout_ms: Milliseconds from the start of planning to the last row.
        max_rows: Rows of the result, at most.
        max_bytes: Bytes of the result as Arrow, about at most.
    """

    timeout_ms: int = 60_000
    max_rows: int = 1_000_000
    max_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole result, and the cut of every table it was made of.

    `stages_ms` has the milliseconds of the statement; each receipt has its table's.
    """

    rows: pa.Table
    receipts: tuple[TableReceipt, ...]
    stages_ms: Mapping[str, float]

    def values(self) -> list[list[Any]]:
        """Return the rows column by column, as Python values.

        Raises:
            SqlError: A value is none in Python, such as a time after the year 9999.
        """
        columns = []
        for name, column in zip(self.rows.schema.names, self.rows.columns, strict=True):
            try:
                columns.append(column.to_pylist())
            except (OverflowError, ValueError) as exc:
                raise SqlError(
                    f"column {name!r} of type {column.type} has a value that can be shown as text only "
                    "(a time outside of the years 1 to 9999, or finer than microseconds); cast it to VARCHAR",
                    column=name,
                ) from exc
        return columns
