"""What is known of one column in some rows, and how bounds and partition values say it.

A fact holds for every row it is about, deleted or not, or it is not known. All
values of a type are put into one form that compares as the engine compares:
whole numbers for numbers and times, bytes for texts, floats for floats. A bound
may be cut off and a file older than its column's type, so what has another
length than the type is not known. The file opens nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
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
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from pyiceberg.utils.decimal import unscaled_to_decimal

Value = int | float | bytes
_Sides = tuple[Value | None, Value | None]

_WHOLE: Final = (IntegerType, LongType)
_FLOATS: Final = (FloatType, DoubleType)
_INSTANTS: Final = (TimestampType, TimestamptzType)
_EIGHT_BYTES: Final = (TimeType, TimestampType, TimestamptzType)
_DAY_US: Final = 86_400_000_000
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Above every continuation of a text, because UTF-8 has no such byte.
_ABOVE: Final = b"\xff"


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a column in some rows.

    Attributes:
        low, high: No value but NaN is below or above; None if that is not known.
        has_null, has_value, has_nan: Whether a null, another value, a NaN may be among them.
        bucket: Number of buckets and the one that all values are in.
    """

    low: Value | None = None
    high: Value | None = None
    has_null: bool = True
    has_value: bool = True
    has_nan: bool = True
    bucket: tuple[int, int] | None = None

    def both(self, other: Fact) -> Fact:
        """Return what is known from both."""
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return Fact(
            max(lows) if lows else None,
            min(highs) if highs else None,
            self.has_null and other.has_null,
            self.has_value and other.has_value,
            self.has_nan and other.has_nan,
            self.bucket or other.bucket,
        )


UNKNOWN: Final = Fact()
_ONLY_NULL: Final = Fact(has_value=False, has_nan=False)


def comparable(value: Any, kind: IcebergType) -> Value | None:
    """Return a value of a predicate or a partition in the form of facts; None if it is not of that type."""
    if isinstance(kind, BooleanType):
        return int(value) if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if isinstance(kind, _FLOATS):
        return _as_float(value, kind)
    if isinstance(kind, DecimalType):
        return _unscaled(value, kind.scale)
    if isinstance(kind, StringType):
        return value.encode(errors="surrogatepass") if isinstance(value, str) else None
    if isinstance(kind, BinaryType):
        return value if isinstance(value, bytes) else None
    if isinstance(value, int):
        return value if isinstance(kind, (*_WHOLE, DateType, *_EIGHT_BYTES)) else None
    return _of_time(value, kind)


def decoded(data: bytes, kind: IcebergType) -> Value | None:
    """Return a bound of a manifest in that form, or None if it is none of this type."""
    size = len(data)
    if isinstance(kind, StringType | BinaryType):
        return bytes(data)
    if isinstance(kind, _WHOLE):
        # Four bytes where the column was an int when the file was written, eight where a long.
        return int.from_bytes(data, "little", signed=True) if size in (4, 8) else None
    if isinstance(kind, _FLOATS):
        found = struct.unpack("<f" if size == 4 else "<d", data)[0] if size in (4, 8) else math.nan
        return None if math.isnan(found) else float(found)
    if isinstance(kind, DecimalType):
        return int.from_bytes(data, "big", signed=True) if size else None
    if isinstance(kind, BooleanType):
        return int(data != b"\0") if size == 1 else None
    fits = (isinstance(kind, DateType) and size == 4) or (isinstance(kind, _EIGHT_BYTES) and size == 8)
    return int.from_bytes(data, "little", signed=True) if fits else None


def of_partition(transform: Transform[Any, Any], kind: IcebergType, value: Any) -> Fact:
    """Return what the value of a partition's field says of the column it is made of."""
    if not isinstance(transform, _UNDERSTOOD):
        return UNKNOWN
    if value is None:
        return _ONLY_NULL
    if isinstance(value, float) and math.isnan(value):
        return Fact(has_null=False)
    low, high = _range(transform, kind, value)
    bucket = None
    if isinstance(transform, BucketTransform) and isinstance(value, int):
        bucket = (transform.num_buckets, value)
    return Fact(low, high, has_null=False, has_nan=False, bucket=bucket)


def of_summary(
    transform: Transform[Any, Any], kind: IcebergType, sides: Sequence[Any], *, has_null: bool, has_nan: bool
) -> Fact:
    """Return what the smallest and the largest value of a field say, over the partitions of a manifest."""
    if not isinstance(transform, _UNDERSTOOD):
        return UNKNOWN
    low, high = (UNKNOWN if side is None else of_partition(transform, kind, side) for side in sides)
    is_one = sides[0] is not None and sides[0] == sides[1]
    is_nan = has_nan and isinstance(kind, _FLOATS)
    return Fact(low.low, high.high, has_null, has_nan=is_nan, bucket=low.bucket if is_one else None)


def bucket_of(value: Any, kind: IcebergType, buckets: int) -> int | None:
    """Return the bucket of a value, given in the form of facts; None if it has none."""
    if isinstance(kind, StringType):
        value = value.decode()
    elif isinstance(kind, DecimalType):
        value = unscaled_to_decimal(value, kind.scale)
    found: int | None = BucketTransform(buckets).transform(kind)(value)
    return found


_UNDERSTOOD: Final = (
    IdentityTransform,
    TruncateTransform,
    BucketTransform,
    YearTransform,
    MonthTransform,
    DayTransform,
    HourTransform,
)


def _range(
    transform: Transform[Any, Any], kind: IcebergType, value: Any
) -> tuple[Value | None, Value | None]:
    if isinstance(transform, IdentityTransform):
        found = comparable(value, kind)
        if isinstance(kind, DoubleType) and isinstance(found, float):
            return _filed_under(found)
        return found, found
    if isinstance(transform, TruncateTransform):
        return _truncated(transform.width, kind, value)
    if isinstance(transform, BucketTransform) or not isinstance(value, int):
        return None, None
    # Before 1970 some writers have rounded towards zero, so a period may hold what belongs to the one before.
    first, last = _start(transform, kind, value - (value <= 0)), _start(transform, kind, value + 1)
    return first, None if last is None else last - 1


def _truncated(width: int, kind: IcebergType, value: Any) -> _Sides:
    found = comparable(value, kind)
    if isinstance(kind, StringType) and isinstance(found, bytes):
        return found, found if len(value) < width else found + _ABOVE
    if isinstance(kind, BinaryType) and isinstance(found, bytes):
        return found, found if len(found) < width else None
    if isinstance(kind, (*_WHOLE, DecimalType)) and isinstance(found, int):
        return found, found + width - 1
    return None, None


def _start(transform: Transform[Any, Any], kind: IcebergType, value: int) -> int | None:
    """Return the first value of a period, in days or microseconds."""
    if isinstance(transform, HourTransform):
        return value * (_DAY_US // 24) if isinstance(kind, _INSTANTS) else None
    if isinstance(transform, DayTransform):
        days = value
    else:
        months = value * 12 if isinstance(transform, YearTransform) else value
        year = 1970 + months // 12
        if not 1 <= year <= 9999:
            return None
        days = date(year, 1 + months % 12, 1).toordinal() - _EPOCH_DAY
    if isinstance(kind, DateType):
        return days
    return days * _DAY_US if isinstance(kind, _INSTANTS) else None


def _as_float(value: Any, kind: IcebergType) -> float | None:
    if not isinstance(value, int | float | Decimal):
        return None
    try:
        found = float(value)
        return _single(found) if isinstance(kind, FloatType) else found
    except OverflowError:
        return None


def _filed_under(value: float) -> _Sides:
    # PyIceberg files a double under the single that is next to it.
    try:
        if _single(value) != value:
            return value, value
    except OverflowError:
        return value, value
    around = abs(value) * 2.0**-23 + 2.0**-148
    return (None, None) if math.isinf(value) else (value - around, value + around)


def _single(value: float) -> float:
    [found] = struct.unpack("<f", struct.pack("<f", value))
    return float(found)


def _unscaled(value: Any, scale: int) -> int | None:
    if not isinstance(value, int | Decimal):
        return None
    sign, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int) or exponent < -scale:
        return None
    whole = int("".join(map(str, digits)) or "0") * int(10 ** (exponent + scale))
    return -whole if sign else whole


def _of_time(value: Any, kind: IcebergType) -> int | None:
    if isinstance(value, datetime):
        if isinstance(kind, TimestamptzType) and value.tzinfo is not None:
            since = value - _EPOCH
        elif isinstance(kind, TimestampType) and value.tzinfo is None:
            since = value.replace(tzinfo=UTC) - _EPOCH
        else:
            return None
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY if isinstance(kind, DateType) else None
    if isinstance(value, time) and isinstance(kind, TimeType) and value.tzinfo is None:
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return None
