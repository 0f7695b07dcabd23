"""What is known of one column in some rows, and how bounds and partition values say it.

A fact holds for every row it is about, deleted or not, or it is not known. All
values of a type are put into one form that compares as the engine compares:
whole numbers for numbers and times, bytes for texts, floats for floats. A bound
may be cut off and a file older than its column's type, so what has another
length than the type is not known. What a partition says stays in the values of
its transform, and what is asked for is transformed, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from pyiceberg.conversions import from_bytes
from pyiceberg.transforms import IdentityTransform, TimeTransform, Transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros, time_to_micros
from pyiceberg.utils.decimal import unscaled_to_decimal

# None if it is not known, or there is none.
Value = int | float | bytes | None

FLOATS: Final = (FloatType, DoubleType)
_WHOLE: Final = (IntegerType, LongType, DateType, TimeType, TimestampType, TimestamptzType)


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a column in some rows.

    Attributes:
        low, high: No value but NaN is below or above; None if that is not known.
        has_null, has_value, has_nan: Whether a null, another value, a NaN may be among them.
        parts: Transforms of the column, and what none of its values is below or above then.
    """

    low: Value = None
    high: Value = None
    has_null: bool = True
    has_value: bool = True
    has_nan: bool = True
    parts: tuple[tuple[Transform[Any, Any], Value, Value], ...] = ()

    def both(self, other: Fact) -> Fact:
        """Return what is known from both, with the bounds of the first that has some."""
        return Fact(
            other.low if self.low is None else self.low,
            other.high if self.high is None else self.high,
            self.has_null and other.has_null,
            self.has_value and other.has_value,
            self.has_nan and other.has_nan,
            self.parts + other.parts,
        )


UNKNOWN: Final = Fact()
# File by file, or row group by row group; None if nothing is known of any.
Facts = Sequence[Fact] | None


def comparable(value: Any, kind: IcebergType) -> Value:
    """Return a value of a predicate or a partition in the form of facts; None if it is not of that type."""
    if isinstance(value, str):
        return value.encode(errors="surrogatepass") if isinstance(kind, StringType) else None
    if isinstance(value, bytes):
        return value if isinstance(kind, BinaryType) else None
    if isinstance(value, bool):
        return int(value) if isinstance(kind, BooleanType) else None
    if isinstance(value, int) and isinstance(kind, _WHOLE):
        return value
    return _number(value, kind) if isinstance(value, int | float | Decimal) else _of_time(value, kind)


def decoded(data: bytes | None, kind: IcebergType) -> Value:
    """Return a bound of a manifest in that form, or None if it is none of this type."""
    if data is None or type(kind) in (StringType, BinaryType):
        return data
    try:
        found = from_bytes(kind, data)  # type: ignore[arg-type]
    except struct.error:
        return None  # what another type has written
    return None if not data or found != found else comparable(found, kind)


@lru_cache(maxsize=10_000)
def of_partition(transform: Transform[Any, Any], kind: IcebergType, value: Any) -> Fact:
    """Return what the value of a partition's field says of the column it is made of."""
    found = None if value != value else comparable(value, transform.result_type(kind))
    fact = of_partitions(transform, kind, found, found)
    return replace(fact, has_null=value is None, has_value=value is not None, has_nan=found is None)


def of_partitions(transform: Transform[Any, Any], kind: IcebergType, low: Value, high: Value) -> Fact:
    """Return what the smallest and the largest value of some partitions' field say of the values."""
    if isinstance(transform, IdentityTransform):
        return Fact(_filed_under(low, kind, -1), _filed_under(high, kind, 1))
    if isinstance(transform, TimeTransform) and isinstance(low, int) and low <= 0:
        low -= 1  # some writers have rounded towards 1970, so what belongs to the period before may be in one
    return Fact(parts=((transform, low, high),))


def transformed(transform: Transform[Any, Any], kind: IcebergType, value: Value) -> Value:
    """Return what a transform makes of a value, both in the form of facts; None if that is nothing."""
    plain: Any = value
    try:
        if isinstance(kind, StringType) and isinstance(value, bytes):
            plain = value.decode()
        elif isinstance(kind, DecimalType) and isinstance(value, int):
            plain = unscaled_to_decimal(value, kind.scale)
        return comparable(transform.transform(kind)(plain), transform.result_type(kind))
    except (OverflowError, ValueError, struct.error):
        return None  # a time that is none in Python, or more than a long


def _filed_under(value: Value, kind: IcebergType, side: int) -> Value:
    if not isinstance(kind, DoubleType) or not isinstance(value, float):
        return value
    # PyIceberg files a double under the single that is next to it.
    return None if math.isinf(value) else value + side * (abs(value) * 2.0**-23 + 2.0**-148)


def _number(value: float | Decimal, kind: IcebergType) -> int | float | None:
    try:
        if isinstance(kind, FLOATS):
            code = "<f" if isinstance(kind, FloatType) else "<d"
            return float(struct.unpack(code, struct.pack(code, value))[0])
        if not isinstance(kind, DecimalType) or isinstance(value, float):
            return None
        over, under = value.as_integer_ratio()
        whole, rest = divmod(over * 10**kind.scale, under)
        return None if rest else whole
    except (OverflowError, ValueError, struct.error):
        return None  # no number, or more than the type has


def _of_time(value: Any, kind: IcebergType) -> int | None:
    if isinstance(value, datetime):
        is_of_kind = isinstance(kind, TimestampType if value.tzinfo is None else TimestamptzType)
        return datetime_to_micros(value) if is_of_kind else None
    if isinstance(value, date) and isinstance(kind, DateType):
        return date_to_days(value)
    is_time = isinstance(value, time) and isinstance(kind, TimeType) and value.tzinfo is None
    return time_to_micros(value) if is_time else None
