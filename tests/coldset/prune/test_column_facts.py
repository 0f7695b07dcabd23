"""A value, a bound and a partition are put into one form, or are not known.

What follows for files is in `test_pruning`.
"""

from __future__ import annotations

import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
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

from coldset.prune.column_facts import comparable, decoded, of_partition

DAY_US = 86_400_000_000
NAN = float("nan")


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
