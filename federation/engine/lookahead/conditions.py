"""What a condition in a plan says of columns, as far as it is surely understood.

The text of a plan's filter is SQL, which the engine's own parser takes apart.
Comparisons of a column with a value of its type, tests for null, prefixes and
what joins them are understood; anything else says nothing. The planner has put
both sides of a comparison into one type, so that a value's form tells its type.
The engine applies its filters again, so what is not found costs time and no row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

from coldset.prune import Compared, IsNull, Literals, NotNull, Predicate, Sign, StartsWith, all_of, any_of

Node = Mapping[str, Any]
# Returns the tree of a text, as `json_serialize_sql` has it.
Parse = Callable[[str], Any]

_SIGNS: Final[Mapping[str, Sign]] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_OPPOSITES: Final[Mapping[str, Sign]] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PREFIX: Final = frozenset({"prefix", "starts_with", "^@"})
_EXACT_DOUBLES: Final = 2**53


def condition_of(
    text: str, columns: Mapping[str, str], parse: Parse, *, whole: Collection[str] = ()
) -> Predicate | None:
    """Return what must be true of a row for a condition to be, or None if nothing is understood.

    Args:
        text: The condition, as a plan has it.
        columns: The names of columns in the text, and what they are called in the table.
        parse: The engine's parser.
        whole: Those of the names that are of whole numbers.
    """
    try:
        [statement] = parse(f"SELECT {text}")["statements"]
        [root] = statement["node"]["select_list"]
        return _Reading(columns, whole).of(root, is_negated=False)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None  # another form than a filter's


class _Reading:
    """The names that a condition may be about."""

    def __init__(self, columns: Mapping[str, str], whole: Collection[str]) -> None:
        self._columns = columns
        self._whole = whole

    def of(self, node: Node, *, is_negated: bool) -> Predicate | None:
        kind = node["type"]
        if kind == "OPERATOR_NOT":
            return self.of(node["children"][0], is_negated=not is_negated)
        if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
            parts = [self.of(part, is_negated=is_negated) for part in node["children"]]
            return all_of(parts) if (kind == "CONJUNCTION_AND") != is_negated else any_of(parts)
        if kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            column = self._column(node["children"][0])
            is_null = (kind == "OPERATOR_IS_NULL") != is_negated
            return None if column is None else IsNull(column) if is_null else NotNull(column)
        if kind == "COLUMN_REF":
            column = self._column(node)
            return None if column is None else Compared(column, "=", not is_negated)
        if kind == "FUNCTION":
            return self._prefix(node, is_negated=is_negated)
        return self._comparison(node, kind, is_negated=is_negated)

    def _comparison(self, node: Node, kind: str, *, is_negated: bool) -> Predicate | None:
        if kind == "COMPARE_BETWEEN":
            # A plan writes so also what leaves out its ends, so the ends are always in.
            ends = [(node["lower"], ">="), (node["upper"], "<=")]
            if is_negated:
                ends = [(node["lower"], "<="), (node["upper"], ">=")]
            parts = [self._compared(node["input"], cast("Sign", sign), end) for end, sign in ends]
            return any_of(parts) if is_negated else all_of(parts)
        if kind == "COMPARE_NOTEQUAL" or (kind == "COMPARE_EQUAL" and is_negated):
            if kind == "COMPARE_NOTEQUAL" and is_negated:
                return self._compared(node["left"], "=", node["right"])
            column = self._column(node["left"])
            return None if column is None or _literal(node["right"]) is None else NotNull(column)
        if kind not in _SIGNS:
            return None
        sign = _SIGNS[kind]
        return self._compared(node["left"], _OPPOSITES[sign] if is_negated else sign, node["right"])

    def _compared(self, left: Node, sign: Sign, right: Node) -> Predicate | None:
        value = _literal(right)
        if _is_cast(left, "DOUBLE"):
            return self._about(left["child"], sign, value)
        column = self._column(left)
        return None if column is None or value is None else Compared(column, sign, value)

    def _about(self, node: Node, sign: Sign, value: Literals | None) -> Predicate | None:
        """Return what follows for a whole number of which the nearest double is compared."""
        is_whole = node["type"] == "COLUMN_REF" and node["column_names"][0] in self._whole
        column = self._column(node) if is_whole else None
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        # Below this limit each whole number is its own double, and none beyond it is rounded to one below.
        if column is None or not is_number or not abs(cast("float", value)) < _EXACT_DOUBLES:
            return None
        number = cast("float", value)
        return all_of(
            [
                Compared(column, ">=", math.floor(number)) if sign in ("=", ">", ">=") else None,
                Compared(column, "<=", math.ceil(number)) if sign in ("=", "<", "<=") else None,
            ]
        )

    def _prefix(self, node: Node, *, is_negated: bool) -> Predicate | None:
        if node["function_name"] not in _PREFIX:
            return None
        text, prefix = (argument["expression"] for argument in node["arguments"])
        column, value = self._column(text), _literal(prefix)
        if column is None or not isinstance(value, str):
            return None
        return NotNull(column) if is_negated else StartsWith(column, value)

    def _column(self, node: Node) -> str | None:
        is_cast = _is_cast(node, "BIGINT")
        node = node["child"] if is_cast else node
        if node["type"] != "COLUMN_REF" or len(node["column_names"]) != 1:
            return None
        name = node["column_names"][0]
        # A smaller whole number stays the same number; others are rounded, and texts may become null.
        return None if is_cast and name not in self._whole else self._columns.get(name)


def _is_cast(node: Node, kind: str) -> bool:
    return bool(node["type"] == "OPERATOR_CAST" and node["type_expr"]["type_name"] == kind)


def _literal(node: Node) -> Literals | None:
    if node["type"] == "OPERATOR_CAST":
        read = _TYPES.get(node["type_expr"]["type_name"])
        kind, text = _constant(node["child"])
        return None if read is None or kind != "STRING" else _read(read, text)
    kind, text = _constant(node)
    if kind == "STRING":
        return text
    if kind == "BOOLEAN":
        return {"true": True, "false": False}.get(text)
    return _read(_NUMBERS.get(kind), text)


def _constant(node: Node) -> tuple[str, str]:
    if node["type"] != "VALUE_CONSTANT" or not isinstance(node["literal"]["text"], str):
        return "", ""
    return node["literal"]["kind"], node["literal"]["text"]


def _read(read: Callable[[str], Literals] | None, text: str) -> Literals | None:
    try:
        return None if read is None else read(text)
    except (ValueError, InvalidOperation):
        return None  # infinity, or a time that is none in Python


def _number(text: str) -> Decimal | float:
    found = Decimal(text)
    # What no float can hold stands for infinity.
    return found if math.isfinite(float(found)) else math.copysign(math.inf, found)


def _naive(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError(text)
    return found


def _zoned(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found


_NUMBERS: Final[Mapping[str, Callable[[str], Literals]]] = {"INTEGER": int, "NUMERIC": _number}
_TYPES: Final[Mapping[str, Callable[[str], Literals]]] = {
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "TIMESTAMP": _naive,
    "TIMESTAMP WITH TIME ZONE": _zoned,
    "DOUBLE": float,
    "FLOAT": float,
}


def tree_of(answer: str) -> Any:
    """Return what `json_serialize_sql` has answered, for which there must be a statement.

    Raises:
        ValueError: There is none.
    """
    tree = json.loads(answer)
    if tree.get("error"):
        raise ValueError(str(tree.get("error_message")))
    return tree
