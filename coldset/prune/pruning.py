"""Which of some files may have a row for which a predicate is true.

The answer is about whole files, or row groups, of which facts are known: it is
no only where no row can be meant, whatever the facts leave open. Comparisons
are the engine's: null is neither, and NaN is above all numbers. Where the facts
come from is decided elsewhere; nothing is opened here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, Transform
from pyiceberg.types import IcebergType, NestedField

from coldset.prune.column_facts import FLOATS, Fact, comparable, transformed
from coldset.prune.predicate import AllOf, AnyOf, Compared, IsNull, NotNull, Predicate, StartsWith

# What is known of a column, file by file; None if nothing is.
FactsOf = Callable[[NestedField], Sequence[Fact] | None]

_Leaf = Compared | IsNull | NotNull | StartsWith
_Test = Callable[[Fact], bool]
_Holds = Callable[[Any, Any, list[Any]], bool]
# Above every continuation of a text, because UTF-8 has no such byte.
_ABOVE: Final = b"\xff"


def may_match(predicate: Predicate, schema: Schema, facts_of: FactsOf, count: int) -> list[bool]:
    """Return, for each of `count` files, whether a row of it may be meant, by the names of a schema."""
    join = all if isinstance(predicate, AllOf) else any
    groups: dict[object, list[_Leaf]] = {}
    found = []
    for part in predicate.parts if isinstance(predicate, AllOf | AnyOf) else [predicate]:
        if isinstance(part, AllOf | AnyOf):
            found.append(may_match(part, schema, facts_of, count))
        else:
            # An IN may have many values, so those of a column are looked for together.
            is_value = join is any and isinstance(part, Compared) and part.sign == "="
            groups.setdefault(part.column if is_value else part, []).append(part)
    for leaves in groups.values():
        field = next((each for each in schema.fields if each.name == leaves[0].column), None)
        test = None if field is None else _test_of(leaves, field.field_type)
        facts = None if field is None or test is None else facts_of(field)
        found.append([True] * count if facts is None or test is None else [test(fact) for fact in facts])
    return found[0] if len(found) == 1 else [join(each) for each in zip(*found, strict=True)]


def _test_of(leaves: Sequence[_Leaf], kind: IcebergType) -> _Test | None:
    """Return the test of a leaf, or of many that all say what a column equals."""
    leaf = leaves[0]
    if isinstance(leaf, IsNull):
        return lambda fact: fact.has_null
    if isinstance(leaf, NotNull):
        return lambda fact: fact.has_value
    if isinstance(leaf, StartsWith):
        prefix = comparable(leaf.prefix, kind)
        return _test([prefix], kind, _may_start) if isinstance(prefix, bytes) else None
    values: list[Any] = [comparable(each.value, kind) for each in leaves if isinstance(each, Compared)]
    if None in values:
        return None
    if leaf.sign == "=":
        numbers = sorted(value for value in values if value == value)
        return _test(numbers, kind, _has_one, may_be_nan=len(numbers) < len(values))
    is_up, end = leaf.sign in (">", ">="), values[0]
    if isinstance(end, int):
        end += (leaf.sign == ">") - (leaf.sign == "<")
    may_be_nan = is_up and isinstance(kind, FLOATS)
    return _test([end, None] if is_up else [None, end], kind, _overlap, may_be_nan=may_be_nan)


def _test(wanted: list[Any], kind: IcebergType, holds: _Holds, *, may_be_nan: bool = False) -> _Test:
    @cache
    def image(transform: Transform[Any, Any]) -> list[Any] | None:
        if isinstance(transform, BucketTransform) and holds is not _has_one:
            return None
        found: list[Any] = [transformed(transform, kind, value) for value in wanted]
        if found.count(None) > wanted.count(None):
            return None
        return found if holds is _overlap else sorted(found)

    def test(fact: Fact) -> bool:
        if not fact.has_value or (may_be_nan and fact.has_nan):
            return fact.has_value
        if not holds(fact.low, fact.high, wanted):
            return False
        for transform, low, high in fact.parts:
            found = image(transform)
            if found is not None and not holds(low, high, found):
                return False
        return True

    return test


def _has_one(low: Any, high: Any, values: list[Any]) -> bool:
    first = 0 if low is None else bisect_left(values, low)
    return first < len(values) and (high is None or values[first] <= high)


def _may_start(low: Any, high: Any, prefixes: list[Any]) -> bool:
    return _overlap(low, high, [prefixes[0], prefixes[0] + _ABOVE])


def _overlap(low: Any, high: Any, ends: list[Any]) -> bool:
    first, last = ends
    if first is not None and high is not None and not high >= first:
        return False  # nothing but itself reaches NaN, and nothing is above it
    return last is None or low is None or not low > last
