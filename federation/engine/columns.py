"""Which columns of its tables a planned statement looks at, and which it does not.

The plan of the statement itself says so, and a column that is left out is null
in the engine's eyes; so in doubt a column is read. The form of a plan is no
stable interface of DuckDB, which is why its version is fixed. This file
executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any


def choose_columns(plan: str, tables: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return, for each table, those of its columns that the plan's scans look at.

    Args:
        plan: What `EXPLAIN (FORMAT JSON)` answers.
        tables: The column names of each table.

    Raises:
        Nothing of its own.
    """
    projected = set(_projected(json.loads(plan)))
    everything = [tuple(names) for names in tables]
    # A plan separates columns by line ends, and so tears apart a name that has one.
    if any("\n" in name for names in tables for name in names):
        return everything
    chosen = [tuple(name for name in names if _is_meant(name, projected)) for names in tables]
    known = {name for names in chosen for name in names}
    if any(text not in known and not _is_inside(text, known) for text in projected):
        return everything
    return chosen


def _is_meant(column: str, projected: set[str]) -> bool:
    # A field of a struct is written `column.field`, without quotes.
    return column in projected or any(text.startswith(f"{column}.") for text in projected)


def _is_inside(text: str, columns: set[str]) -> bool:
    return any(text.startswith(f"{column}.") for column in columns)


def _projected(plan: Any) -> Iterator[str]:
    pending = list(plan)
    while pending:
        node = pending.pop()
        pending.extend(node.get("children", []))
        if "ARROW_SCAN" in node.get("name", ""):
            columns = node.get("extra_info", {}).get("Projections", [])
            yield from [columns] if isinstance(columns, str) else columns
