"""Which hot records a planned statement can look at, as far as their places in the log tell.

Filters of the plan that stand directly above a scan are read, and only what is
surely understood counts: comparisons of a column with a whole number or a time.
The engine applies its filters again, so a bound that is not found costs time
and no row. The file executes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from federation.within import Bounds

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPARED: Final = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*) (=|>=|>|<=|<) "
    r"(?:(-?[0-9]{1,19})|'([0-9 :.+-]+)'::TIMESTAMP(?: WITH TIME ZONE)?)"
)

_LARGEST: Final = (1 << 63) - 1


def choose_bounds(plan: str, columns: Collection[str]) -> Mapping[str, Bounds]:
    """Return bounds of columns outside of which no scan of the plan looks at a row.

    Args:
        plan: What `EXPLAIN (FORMAT JSON)` answers for a statement over one table.
        columns: All columns of that table.

    Raises:
        Nothing of its own.
    """
    # A plan writes names as they are, so one with blanks or signs could look like a condition.
    if not all(_PLAIN.fullmatch(name) for name in columns):
        return {}
    found: dict[str, Bounds] | None = None
    for condition in _conditions(json.loads(plan)):
        mine = _bounds_of(condition)
        if found is None:
            found = mine
        else:
            found = {name: found[name].either(mine[name]) for name in found.keys() & mine.keys()}
    return found or {}


def _conditions(plan: Any) -> Iterator[str]:
    """Yield what each scan is filtered by, or nothing."""
    pending = [(node, "") for node in plan]
    while pending:
        node, above = pending.pop()
        name = node.get("name", "")
        if "ARROW_SCAN" in name:
            yield above
        expression = node.get("extra_info", {}).get("Expression", "") if name == "FILTER" else ""
        below = expression if isinstance(expression, str) else ""
        pending.extend((child, below) for child in node.get("children", []))


def _bounds_of(condition: str) -> dict[str, Bounds]:
    found: dict[str, Bounds] = {}
    for part in _parts(condition):
        match = _COMPARED.fullmatch(part)
        if match is None:
            continue
        name, sign = match[1], match[2]
        number = int(match[3]) if match[3] else _microseconds(match[4])
        # A bound beyond the largest number is one that nothing can be compared with.
        if number is None or not -_LARGEST < number < _LARGEST:
            continue
        low = number + 1 if sign == ">" else number if sign in ("=", ">=") else None
        high = number - 1 if sign == "<" else number if sign in ("=", "<=") else None
        found[name] = found.get(name, Bounds()).both(Bounds(low, high))
    return found


def _parts(condition: str) -> list[str]:
    """Return what a condition joins by AND at its top, each without its brackets."""
    whole = _bare(condition)
    parts: list[str] = []
    begin = 0
    for at, depth in _depths(whole):
        if depth == 0 and whole.startswith(" AND ", at):
            parts.append(_bare(whole[begin:at]))
            begin = at + len(" AND ")
        elif depth == 0 and whole.startswith(" OR ", at):
            return []
    return [*parts, _bare(whole[begin:])]


def _microseconds(text: str) -> int | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1)


def _bare(part: str) -> str:
    return part[1:-1] if _is_bracketed(part) else part


def _is_bracketed(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    closed = next((at for at, depth in _depths(text) if depth == 0), -1)
    return text.startswith("(") and closed == len(text) - 1


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Yield each place that is not in quotes, and how many brackets are open behind it."""
    depth, is_text = 0, False
    for at, character in enumerate(text):
        if character == "'":
            is_text = not is_text
        elif not is_text:
            depth += (character == "(") - (character == ")")
            yield at, depth
