"""What the text of a statement alone tells: the names in it, if it only counts, and if it is steady.

The first two are hints that save planning. A column that a statement looks at without naming it is found out
when the engine runs it (see `views`), so a hint that is wrong costs time and no row. The last is no hint: a
steady statement is planned once, so it is said only of what plainly is. This file must not know tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from federation.engine.statement.syntax_tree import nodes_of, texts_of

# Nodes by which a statement looks at columns that it does not name.
_UNNAMED: Final = frozenset({"POSITIONAL_REFERENCE", "SHOW_REF", "STAR"})
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
# This one turns errors into nulls, and so would hide what it looked at.
_TRY: Final = "OPERATOR_TRY"

_COUNT: Final[Mapping[str, Any]] = {
    "class": "FUNCTION",
    "type": "FUNCTION",
    "function_name": "count_star",
    "schema": "",
    "filter": None,
    "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
    "distinct": False,
    "is_operator": False,
    "export_state": False,
    "catalog": "",
    "arguments": [],
}
_FROM: Final[Mapping[str, Any]] = {
    "type": "BASE_TABLE",
    "sample": None,
    "column_name_alias": [],
    "at_clause": None,
}
_SELECT: Final[Mapping[str, Any]] = {
    "type": "SELECT_NODE",
    "modifiers": [],
    "cte_map": {"map": []},
    "where_clause": None,
    "group_expressions": [],
    "group_sets": [],
    "aggregate_handling": "STANDARD_HANDLING",
    "having": None,
    "sample": None,
    "qualify": None,
}
_COUNT_NAME: Final = "count_star()"


def names_told(tree: Any) -> frozenset[str] | None:
    """Return every text in a statement's tree, folded, or None if it looks at columns that it does not name.

    Args:
        tree: What `json_serialize_sql` answers.
    """
    found: set[str] = set()
    for text in texts_of(tree):
        if text in _UNNAMED or text == _TRY or "PIVOT" in text:
            return None
        found.add(text.lower())
    return frozenset(found)


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


def counted_as(tree: Any) -> str | None:
    """Return the name of the one column of a statement that is nothing but `SELECT count(*) FROM t`, or None.

    Args:
        tree: What `json_serialize_sql` answers.
    """
    [statement] = tree["statements"]
    node = statement["node"]
    selected, source = node.get("select_list"), node.get("from_table")
    if not isinstance(selected, list) or len(selected) != 1 or not isinstance(source, dict):
        return None
    if not (_is_only(node, _SELECT, {"select_list", "from_table"}) and _is_only(source, _FROM, _NAMED)):
        return None
    if not _is_only(selected[0], _COUNT, {"alias", "qualified_name"}):
        return None
    return selected[0].get("alias") or _COUNT_NAME


_NAMED: Final = frozenset({"alias", "schema_name", "table_name", "catalog_name", "qualified_name"})
_PLACES: Final = frozenset({"query_location", "query_location_length"})


def _is_only(node: Mapping[str, Any], told: Mapping[str, Any], free: frozenset[str] | set[str]) -> bool:
    """Whether a node says what is told and nothing else, but for what is free."""
    return {key: value for key, value in node.items() if key not in free and key not in _PLACES} == told
