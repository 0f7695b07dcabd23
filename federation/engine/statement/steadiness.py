"""Whether a statement surely means the same at any time, over tables of the same columns.

What a steady statement looks at in its tables is found out once. So it is said only of what plainly is: no
clock, no chance, no function that is not on a short list. This file must not know tables.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import duckdb

from federation.engine.statement.syntax_tree import nodes_of

# Functions of nothing but their arguments. The engine says so of others too, and not rightly: of `age`.
_STEADY: Final = frozenset(
    {
        "!~~",
        "%",
        "*",
        "+",
        "-",
        "/",
        "//",
        "abs",
        "avg",
        "count",
        "count_star",
        "date_part",
        "date_trunc",
        "floor",
        "length",
        "lower",
        "max",
        "min",
        "round",
        "starts_with",
        "sum",
        "upper",
        "||",
        "~~",
    }
)
# What the engine takes for a function where no column is called so.
_CALLED_BARE: Final = frozenset(
    {
        "current_catalog",
        "current_date",
        "current_role",
        "current_schema",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtime",
        "localtimestamp",
        "session_user",
        "user",
    }
)


def is_steady(tree: Any) -> bool:
    """Return whether a statement surely means the same at any time, over tables of the same columns.

    Args:
        tree: What `json_serialize_sql` answers.
    """
    for node in nodes_of(tree):
        if "function_name" in node and node["function_name"] not in _STEADY:
            return False
        if any(name.lower() in _CALLED_BARE for name in node.get("column_names", ())):
            return False
    return True


def changing_names(tree: Any) -> list[str]:
    """Return the functions of a tree that the engine says depend on more than their arguments.

    Args:
        tree: What `json_serialize_sql` answers.
    """
    found = set()
    for node in nodes_of(tree):
        found |= {str(node.get("function_name", "")).lower()} & _changing_functions()
        found |= {str(name).lower() for name in node.get("column_names", ())} & _CALLED_BARE
    return sorted(found)


@functools.cache
def _changing_functions() -> frozenset[str]:
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE function_type = 'scalar' AND stability <> 'CONSISTENT'"
        ).fetchall()
    return frozenset(name for (name,) in rows)
