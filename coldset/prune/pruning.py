"""Which of some files may have a row for which a predicate is true.

The answer is about whole files, or row groups, of which facts are known: it is
no only where no row can be meant, whatever the facts leave open. Comparisons
are the engine's: null is neither, and NaN is above all numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, Transform
from pyiceberg.types import IcebergType, NestedField

from coldset.prune.column_facts import FLOATS, Fact, Facts, comparable, transformed
from coldset.prune.predicate import AllOf, AnyOf, Compared, IsNull, NotNull, Predicate, StartsWith

FactsOf = Callable[[NestedField], Facts]
_Leaf = Compared | IsNull | NotNull | StartsWith
_Test = Callable[[Fact], bool]
_Holds = Callable[[Any, Any], bool]
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
        return _test([prefix], kind, _starting) if isinstance(prefix, bytes) else None
    values: list[Any] = [comparable(each.value, kind) for each in leaves if isinstance(each, Compared)]
    if None in values:
        return None
    if leaf.sign == "=":
        numbers = sorted(value for value in values if value == value)
        return _test(numbers, kind, _one_of, may_be_nan=len(numbers) < len(values))
    is_up, end = leaf.sign in (">", ">="), values[0]
    if isinstance(end, int):
        end += (leaf.sign == ">") - (leaf.sign == "<")
    may_be_nan = is_up and isinstance(kind, FLOATS)
    return _test([end], kind, _at_least if is_up else _at_most, may_be_nan=may_be_nan)


def _test(
    wanted: list[Any], kind: IcebergType, form: Callable[[list[Any]], _Holds], *, may_be_nan: bool = False
) -> _Test:
    holds, is_in_order = form(wanted), form is not _one_of

    @cache
    def image(transform: Transform[Any, Any]) -> _Holds | None:
        if isinstance(transform, BucketTransform) and is_in_order:
            return None
        found: list[Any] = [transformed(transform, kind, value) for value in wanted]
        return None if None in found else form(sorted(found))

    def test(fact: Fact) -> bool:
        if not fact.has_value or (may_be_nan and fact.has_nan):
            return fact.has_value
        if not holds(fact.low, fact.high):
            return False
        if is_in_order and fact.low is not None and fact.high is not None:
            return True  # of what is in order, bounds say as much as any transform
        for transform, low, high in fact.parts:
            image_holds = image(transform)
            if image_holds is not None and not image_holds(low, high):
                return False
        return True

    return test


def _one_of(values: list[Any]) -> _Holds:
    def holds(low: Any, high: Any) -> bool:
        first = 0 if low is None else bisect_left(values, low)
        return first < len(values) and (high is None or values[first] <= high)

    return holds


def _at_least(values: list[Any]) -> _Holds:
    [first] = values
    return lambda _low, high: high is None or high >= first  # not so of NaN, which only itself reaches


def _at_most(values: list[Any]) -> _Holds:
    [last] = values
    return lambda low, _high: low is None or not low > last  # so of NaN, which is above all


def _starting(values: list[Any]) -> _Holds:
    first, last = values[0], values[0] + _ABOVE
    return lambda low, high: (low is None or low <= last) and (high is None or high >= first)
