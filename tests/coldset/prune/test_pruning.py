"""What is left out of a read can have no row that is asked for, whatever is known and whatever is not.

Rows are made by seed and asked one by one what a predicate is for them; facts are made of the same rows, with
some of them forgotten.
"""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from coldset.prune.column_facts import Fact, comparable, of_partition, of_partitions, transformed
from coldset.prune.predicate import (
    AllOf,
    AnyOf,
    Compared,
    IsNull,
    NotNull,
    Predicate,
    StartsWith,
    all_of,
    any_of,
)
from coldset.prune.pruning import may_match
from coldset.prune.table_facts import parts_made_of

DAY_US = 86_400_000_000
NAN = float("nan")
TEXTS = ("", "a", "ab", "abc", "b", "ü", "\U0001f600", "\uffff", "a\0b")
NUMBERS = (-2, -1, 0, 1, 2, 5)
FLOATS = (-math.inf, -1.5, -0.0, 0.0, 0.1, 2.5, math.inf, NAN)


def is_true(predicate: Predicate, row: dict[str, Any]) -> bool:
    """What the engine makes of a predicate: null is neither, NaN is above all."""
    if isinstance(predicate, AllOf | AnyOf):
        join = all if isinstance(predicate, AllOf) else any
        return join(is_true(part, row) for part in predicate.parts)
    found = row[predicate.column]
    if isinstance(predicate, IsNull):
        return found is None
    if isinstance(predicate, NotNull):
        return found is not None
    if found is None:
        return False
    if isinstance(predicate, StartsWith):
        return bool(found.startswith(predicate.prefix))
    one, other = _ordered(found), _ordered(predicate.value)
    return {"=": one == other, "<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[
        predicate.sign
    ]


def _ordered(value: Any) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


KINDS: dict[str, tuple[IcebergType, tuple[Any, ...]]] = {
    "i": (LongType(), NUMBERS),
    "s": (StringType(), TEXTS),
    "f": (DoubleType(), FLOATS),
}
SCHEMA = Schema(*(NestedField(number, name, kind) for number, (name, (kind, _)) in enumerate(KINDS.items())))


def some_predicate(random: Random, depth: int = 2) -> Predicate:
    if depth and random.random() < 0.5:
        parts = tuple(some_predicate(random, depth - 1) for _ in range(random.randint(1, 3)))
        return AllOf(parts) if random.random() < 0.5 else AnyOf(parts)
    name = random.choice("isf")
    leaf = random.random()
    if leaf < 0.1:
        return IsNull(name)
    if leaf < 0.2:
        return NotNull(name)
    if leaf < 0.3:
        return StartsWith("s", random.choice(TEXTS))
    return Compared(name, random.choice(("=", "<", "<=", ">", ">=")), random.choice(KINDS[name][1]))


def some_fact(random: Random, name: str, values: list[Any]) -> Fact:
    """What a writer may say of values, or only a part of it."""
    kind = KINDS[name][0]
    said = [comparable(value, kind) for value in values if value is not None and value == value]
    forgets = [random.random() < 0.3 for _ in range(4)]
    has_nan = any(isinstance(value, float) and math.isnan(value) for value in values)
    fact = Fact(
        None if forgets[0] or not said else min(said),  # type: ignore[type-var]
        None if forgets[1] or not said else max(said),  # type: ignore[type-var]
        has_null=forgets[2] or None in values,
        has_value=any(value is not None for value in values),
        has_nan=(forgets[3] or has_nan) if name == "f" else False,
    )
    buckets = {transformed(BucketTransform(3), kind, value) for value in said if value is not None}
    if name == "i" and len(buckets) == 1 and None not in values:
        fact = fact.both(of_partition(BucketTransform(3), kind, buckets.pop()))
    if said and name in "is" and random.random() < 0.5:
        cut = TruncateTransform(1 if name == "s" else 3)
        images = [transformed(cut, kind, value) for value in said]
        fact = fact.both(of_partitions(cut, kind, min(images), max(images)))  # type: ignore[type-var]
    return fact


@pytest.mark.parametrize("seed", range(20))
def test_no_file_is_left_out_that_has_a_row_that_is_meant(seed: int) -> None:
    random = Random(seed)
    files = [
        [
            {name: random.choice((*values, None)) for name, (_, values) in KINDS.items()}
            for _ in range(random.randint(1, 3))
        ]
        for _ in range(60)
    ]
    facts = {name: [some_fact(random, name, [row[name] for row in rows]) for rows in files] for name in KINDS}
    left_out = 0
    for _ in range(200):
        predicate = some_predicate(random)
        found = may_match(predicate, SCHEMA, lambda field: facts[field.name], len(files))
        meant = [any(is_true(predicate, row) for row in rows) for rows in files]

        assert not [predicate for is_kept, is_meant in zip(found, meant, strict=True) if is_meant > is_kept]
        left_out += found.count(False)
    assert left_out > 500


@pytest.mark.parametrize(
    ("transform", "kind"),
    [
        (IdentityTransform(), LongType()),
        (IdentityTransform(), StringType()),
        (IdentityTransform(), DecimalType(9, 2)),
        (TruncateTransform(3), LongType()),
        (TruncateTransform(2), StringType()),
        (TruncateTransform(2), BinaryType()),
        (TruncateTransform(50), DecimalType(9, 2)),
        (BucketTransform(5), LongType()),
        (BucketTransform(5), StringType()),
        (BucketTransform(5), DecimalType(9, 2)),
        (BucketTransform(5), DateType()),
        (BucketTransform(5), TimestamptzType()),
        (YearTransform(), DateType()),
        (MonthTransform(), DateType()),
        (DayTransform(), DateType()),
        (YearTransform(), TimestampType()),
        (MonthTransform(), TimestamptzType()),
        (DayTransform(), TimestampType()),
        (HourTransform(), TimestamptzType()),
    ],
    ids=str,
)
def test_a_value_is_where_its_partition_says(transform: Transform[Any, Any], kind: IcebergType) -> None:
    random = Random(7)
    make = transform.transform(kind)
    left_out = 0
    for number in range(200):
        value, other, asked = (some_value(random, kind) for _ in range(3))
        sides = sorted(comparable(make(each), transform.result_type(kind)) for each in (value, other))  # type: ignore[type-var]
        sign: Any = random.choice(("=", "<", "<=", ">", ">="))
        where: Predicate = Compared("c", sign, value if number % 2 else asked)
        if isinstance(kind, StringType) and number % 5 == 0:
            where = StartsWith("c", asked)
        is_meant, is_other_meant = (is_true(where, {"c": each}) for each in (value, other))

        one, both = of_partition(transform, kind, make(value)), of_partitions(transform, kind, *sides)
        is_one_kept, is_either_kept = is_kept(where, kind, one), is_kept(where, kind, both)

        assert not one.has_null
        assert is_one_kept or not is_meant
        assert is_either_kept or not (is_one_kept or is_other_meant)
        left_out += not is_one_kept
    assert left_out > 5


def is_kept(where: Predicate, kind: IcebergType, fact: Fact) -> bool:
    [found] = may_match(where, Schema(NestedField(1, "c", kind)), lambda _field: [fact], 1)
    return found


def some_value(random: Random, kind: IcebergType) -> Any:
    if isinstance(kind, StringType):
        return "".join(random.choice("aü\U0001f600") for _ in range(random.randint(0, 4)))
    if isinstance(kind, BinaryType):
        return random.randbytes(random.randint(0, 4))
    if isinstance(kind, DecimalType):
        return Decimal(random.randint(-10_000, 10_000)).scaleb(-2)
    if isinstance(kind, DateType):
        return random.randint(-40_000, 40_000)
    widest = 1000 if isinstance(kind, LongType) else 40_000 * DAY_US
    return random.randint(-widest, widest)


def test_an_hour_before_1970_may_be_in_the_period_that_some_writers_take_it_for() -> None:
    an_hour_before = Compared("c", "=", datetime.fromisoformat("1969-12-31T23:00"))
    long_before = Compared("c", "=", datetime.fromisoformat("1967-12-31T23:00"))

    for transform in (HourTransform(), DayTransform(), MonthTransform(), YearTransform()):
        fact = of_partition(transform, TimestampType(), 0)
        assert is_kept(an_hour_before, TimestampType(), fact)
        assert not is_kept(long_before, TimestampType(), fact)


@pytest.mark.parametrize("transform", [VoidTransform(), UnknownTransform("other")])
def test_a_partition_by_what_is_not_understood_says_nothing(transform: Transform[Any, Any]) -> None:
    understood = PartitionField(1, 1000, BucketTransform(3), "b")
    spec = PartitionSpec(PartitionField(1, 1001, transform, "p"), understood)

    assert parts_made_of(1, {0: spec}) == {0: [(1, understood.transform)]}
    assert parts_made_of(2, {0: spec}) == {0: []}


def test_the_bucket_of_a_number_of_many_digits_is_that_of_all_its_digits() -> None:
    kind, value = DecimalType(38, 2), Decimal("123456789012345678901234567890123.45")
    fact = of_partition(BucketTransform(5), kind, BucketTransform(5).transform(kind)(value))

    assert is_kept(Compared("c", "=", value), kind, fact)


def test_what_is_not_understood_is_no_condition() -> None:
    one, other = IsNull("a"), NotNull("b")

    assert all_of([None, one]) == one
    assert all_of([one, other, one]) == AllOf((one, other))
    assert all_of([None]) is None
    assert any_of([one, None]) is None
    assert any_of([one, one]) == one
    assert any_of([]) is None
