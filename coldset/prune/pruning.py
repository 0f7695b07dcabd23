"""Which of some files may have a row for which a predicate is true.

The answer is about whole files, or row groups, of which facts are known: it is
no only where no row can be meant, whatever the facts leave open. Comparisons
are the engine's: null is neither, and NaN is above all numbers. Where the facts
come from is decided elsewhere; nothing is opened here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from pyiceberg.types import IcebergType

from coldset.prune.column_facts import Fact, Value, bucket_of, comparable
from coldset.prune.predicate import AllOf, AnyOf, Compared, IsNull, NotNull, Predicate, StartsWith

# What is known of a column, file by file, and its type; None if nothing is known of it anywhere.
FactsOf = Callable[[str], tuple[Sequence[Fact], IcebergType] | None]

_Test = Callable[[Fact], bool]


def may_match(predicate: Predicate, facts_of: FactsOf, count: int) -> list[bool]:
    """Return, for each of `count` files, whether a row of it may be meant."""
    if isinstance(predicate, AllOf | AnyOf):
        join = all if isinstance(predicate, AllOf) else any
        found = [may_match(part, facts_of, count) for part in predicate.parts]
        return [join(each) for each in zip(*found, strict=True)]
    known = facts_of(predicate.column)
    test = None if known is None else _test_of(predicate, known[1])
    return [True] * count if known is None or test is None else [test(fact) for fact in known[0]]


def _test_of(leaf: Compared | IsNull | NotNull | StartsWith, kind: IcebergType) -> _Test | None:
    if isinstance(leaf, IsNull):
        return lambda fact: fact.has_null
    if isinstance(leaf, NotNull):
        return lambda fact: fact.has_value
    if isinstance(leaf, StartsWith):
        prefix = comparable(leaf.prefix, kind)
        return _starts_with(prefix) if isinstance(prefix, bytes) else None
    value = comparable(leaf.value, kind)
    if value is None:
        return None
    is_nan = isinstance(value, float) and math.isnan(value)
    return _with_nan(leaf.sign) if is_nan else _compared(leaf.sign, value, kind)


def _compared(sign: str, value: Value, kind: IcebergType) -> _Test:
    if sign == "=":
        buckets: dict[int, int | None] = {}

        def is_equal(fact: Fact) -> bool:
            if not fact.has_value or _is_above(fact.low, value) or _is_above(value, fact.high):
                return False
            if fact.bucket is None:
                return True
            number, held = fact.bucket
            if number not in buckets:
                buckets[number] = bucket_of(value, kind, number)
            return buckets[number] in (None, held)

        return is_equal
    return {
        "<": lambda fact: fact.has_value and (fact.low is None or fact.low < value),
        "<=": lambda fact: fact.has_value and not _is_above(fact.low, value),
        ">": lambda fact: fact.has_value and (fact.has_nan or fact.high is None or fact.high > value),
        ">=": lambda fact: fact.has_value and (fact.has_nan or not _is_above(value, fact.high)),
    }[sign]


def _with_nan(sign: str) -> _Test | None:
    if sign in ("=", ">="):
        return lambda fact: fact.has_value and fact.has_nan
    return (lambda _fact: False) if sign == ">" else None


def _starts_with(prefix: bytes) -> _Test:
    size: Final = len(prefix)

    def may_start(fact: Fact) -> bool:
        low, high = fact.low, fact.high
        is_below = isinstance(high, bytes) and high[:size] < prefix
        return fact.has_value and not is_below and not (isinstance(low, bytes) and low[:size] > prefix)

    return may_start


def _is_above(one: Value | None, other: Value | None) -> bool:
    # Facts and values of one column have one form.
    return one is not None and other is not None and one > other  # type: ignore[operator]
