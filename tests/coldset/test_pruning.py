"""What is left out of a read can have no row that is asked for, whatever is known and whatever is not.

Rows are made by seed and asked one by one what a predicate is for them; facts are made of the same rows, with
some of them forgotten.
"""

from __future__ import annotations

import math
import struct
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
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
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

from coldset.prune.column_facts import UNKNOWN, Fact, bucket_of, comparable, decoded, of_partition, of_summary
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
    if name == "i" and len({bucket_of(value, kind, 3) for value in said}) == 1 and None not in values:
        number = bucket_of(said[0], kind, 3)
        fact = fact.both(of_partition(BucketTransform(3), kind, number))
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
        found = may_match(predicate, lambda name: (facts[name], KINDS[name][0]), len(files))
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
    for _ in range(500):
        value = some_value(random, kind)
        fact = of_partition(transform, kind, make(value))
        found = comparable(value, kind)

        assert found is not None
        assert fact.low is None or fact.low <= found  # type: ignore[operator]
        assert fact.high is None or found <= fact.high  # type: ignore[operator]
        assert fact.bucket is None or fact.bucket[1] == bucket_of(found, kind, fact.bucket[0])
        assert not fact.has_null
        assert (fact.low, fact.bucket) != (None, None)
        sides = (make(value), make(value))
        assert of_summary(transform, kind, sides, has_null=False, has_nan=False) == fact


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
    an_hour_before = comparable(datetime.fromisoformat("1969-12-31T23:00"), TimestampType())

    assert an_hour_before == -3_600_000_000
    for transform in (HourTransform(), DayTransform(), MonthTransform(), YearTransform()):
        fact = of_partition(transform, TimestampType(), 0)
        assert fact.low <= an_hour_before  # type: ignore[operator]


@pytest.mark.parametrize("transform", [VoidTransform(), UnknownTransform("other")])
def test_a_partition_by_what_is_not_understood_says_nothing(transform: Transform[Any, Any]) -> None:
    assert of_partition(transform, LongType(), None) == UNKNOWN
    assert of_summary(transform, LongType(), (1, 1), has_null=False, has_nan=False) == UNKNOWN


def test_the_bucket_of_a_number_of_many_digits_is_that_of_all_its_digits() -> None:
    kind, value = DecimalType(38, 2), Decimal("123456789012345678901234567890123.45")
    fact = of_partition(BucketTransform(5), kind, BucketTransform(5).transform(kind)(value))

    assert may_match(Compared("c", "=", value), lambda _name: ([fact], kind), 1) == [True]


def test_a_partition_of_nulls_has_nothing_else_and_one_of_nan_says_so() -> None:
    nothing = of_partition(IdentityTransform(), LongType(), None)
    no_number = of_partition(IdentityTransform(), DoubleType(), NAN)

    assert (nothing.has_null, nothing.has_value) == (True, False)
    assert (no_number.has_null, no_number.has_nan, no_number.low) == (False, True, None)


@pytest.mark.parametrize(
    ("data", "kind", "value"),
    [
        (struct.pack("<i", -5), LongType(), -5),
        (struct.pack("<q", -5), LongType(), -5),
        (b"\1\2", LongType(), None),
        (struct.pack("<f", 0.5), DoubleType(), 0.5),
        (struct.pack("<d", NAN), DoubleType(), None),
        (b"", DoubleType(), None),
        (b"\xff\x38", DecimalType(20, 2), -200),
        (b"", DecimalType(20, 2), None),
        (struct.pack("<i", 3), DateType(), 3),
        (struct.pack("<i", 3), TimestampType(), None),
        (struct.pack("<q", 3), TimestampType(), 3),
        (b"\xc3", StringType(), b"\xc3"),
        (b"\1", BooleanType(), 1),
        (b"", BooleanType(), None),
        (b"0" * 16, UUIDType(), None),
    ],
)
def test_a_bound_is_read_as_it_was_written_or_not_at_all(data: bytes, kind: IcebergType, value: Any) -> None:
    assert decoded(data, kind) == value


@pytest.mark.parametrize(
    ("value", "kind", "form"),
    [
        (Decimal("1.5"), DecimalType(9, 2), 150),
        (Decimal("-1.5"), DecimalType(9, 2), -150),
        (Decimal("1.555"), DecimalType(9, 2), None),
        (7, DecimalType(9, 2), 700),
        (0.1, FloatType(), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
        (1e300, FloatType(), None),
        (Decimal("0.1"), DoubleType(), 0.1),
        (True, LongType(), None),
        (1, BooleanType(), None),
        ("1", LongType(), None),
        (1, StringType(), None),
        (date(1970, 1, 2), DateType(), 1),
        (date(1970, 1, 2), TimestampType(), None),
        (datetime.fromisoformat("1970-01-02"), TimestampType(), DAY_US),
        (datetime.fromisoformat("1970-01-02"), TimestamptzType(), None),
        (datetime.fromisoformat("1970-01-02"), DateType(), None),
    ],
)
def test_a_value_of_another_type_than_its_column_is_no_condition(
    value: Any, kind: IcebergType, form: Any
) -> None:
    assert comparable(value, kind) == form


def test_what_is_not_understood_is_no_condition() -> None:
    one, other = IsNull("a"), NotNull("b")

    assert all_of([None, one]) == one
    assert all_of([one, other, one]) == AllOf((one, other))
    assert all_of([None]) is None
    assert any_of([one, None]) is None
    assert any_of([one, one]) == one
    assert any_of([]) is None
