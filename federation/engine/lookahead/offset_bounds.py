"""Which hot records a statement can look at, as far as their places in the log tell.

A log is in order of its places and about of its times, and has no statistics;
so of what is asked for, only the limits of whole numbers and times count. The
file must not know plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from coldset.prune import AllOf, AnyOf, Compared, Literals, Predicate
from federation.read import Bounds

_LARGEST: Final = (1 << 63) - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def bounds_of(where: Predicate | None) -> Mapping[str, Bounds]:
    """Return bounds of columns outside of which a predicate is true for no row."""
    if isinstance(where, AllOf):
        found: dict[str, Bounds] = {}
        for part in where.parts:
            for name, bounds in bounds_of(part).items():
                found[name] = found.get(name, Bounds()).both(bounds)
        return found
    if isinstance(where, AnyOf):
        first, *others = (bounds_of(part) for part in where.parts)
        found = dict(first)
        for other in others:
            found = {name: found[name].either(other[name]) for name in found.keys() & other.keys()}
        return {name: each for name, each in found.items() if each != Bounds()}
    if not isinstance(where, Compared):
        return {}
    number = _whole(where.value)
    # A bound beyond the largest number is one that nothing can be compared with.
    if number is None or not -_LARGEST < number < _LARGEST:
        return {}
    low = number + 1 if where.sign == ">" else number if where.sign in ("=", ">=") else None
    high = number - 1 if where.sign == "<" else number if where.sign in ("=", "<=") else None
    return {where.column: Bounds(low, high)}


def _whole(value: Literals) -> int | None:
    if isinstance(value, datetime):
        since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
        return since // timedelta(microseconds=1)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
