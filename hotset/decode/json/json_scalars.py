"""What a JSON value becomes in a column without parts: one function for each column, made of its type.

What is plainly right costs a comparison or a pattern, and Arrow decides of all other dates and timestamps.
The reasons for refusing a value are written here. This file must not know records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from hotset.decode.byte_text import parse_base64, parse_uuid
from hotset.decode.decoded import MisfitError
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.json.json_document import kind_of

# Makes a column's value of a JSON value that is not null; raises MisfitError.
Convert = Callable[[Any], Any]

_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_HOUR: Final = "([01][0-9]|2[0-3])"
_TIME: Final = re.compile(rf"{_HOUR}:[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?")
# If these are days at all, Python reads them as Arrow does.
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(f"{_DATE.pattern}[T ]{_TIME.pattern}")
_TIMESTAMPTZ: Final = re.compile(f"{_TIMESTAMP.pattern}(Z|[-+]{_HOUR}:[0-5][0-9])")
# Numbers from here on would round to infinity, by the bits of the column.
_INFINITE: Final = {16: 2.0**16 - 2.0**4, 32: 2.0**128 - 2.0**103, 64: math.inf}
_MICROS: Final = {EpochUnit.SECONDS: 1_000_000, EpochUnit.MILLIS: 1000, EpochUnit.MICROS: 1}
_MOST_MICROS: Final = 2**63 - 1
_MOST_DIGITS: Final = 100  # more than any column has


def scalar_converter(wanted: pa.DataType, epoch_unit: EpochUnit) -> Convert | None:
    """Return what makes values of a type that has no parts, or None if it is none with a JSON form."""
    if pa.types.is_timestamp(wanted):
        return _timestamp(wanted, epoch_unit)
    return next((make(wanted) for matches, make in _MAKERS if matches(wanted)), None)


def misfit(wanted: pa.DataType, held: str) -> MisfitError:
    """Return the error that a value does not fit.

    Args:
        wanted: The column's type.
        held: What the value is, in words.
    """
    return MisfitError(f"wants {wanted}, and holds {held}")


def _boolean(wanted: pa.DataType) -> Convert:
    def convert(value: Any) -> bool:
        if value is True or value is False:
            return value
        raise misfit(wanted, kind_of(value))

    return convert


def _integer(wanted: pa.DataType) -> Convert:
    limit = 1 << (wanted.bit_width - 1)

    def convert(value: Any) -> int:
        if type(value) is int:
            if -limit <= value < limit:
                return value
            raise misfit(wanted, "a number outside its range")
        is_fraction = type(value) is Decimal
        raise misfit(wanted, "a number with fraction or exponent" if is_fraction else kind_of(value))

    return convert


def _floating(wanted: pa.DataType) -> Convert:
    infinite = _INFINITE[wanted.bit_width]

    def convert(value: Any) -> float:
        if type(value) is float:
            return value  # NaN, Infinity or -Infinity
        if type(value) is not Decimal and type(value) is not int:
            raise misfit(wanted, kind_of(value))
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if -infinite < number < infinite:
            return number
        raise misfit(wanted, "a number outside its range")

    return convert


def _decimal(wanted: pa.DataType) -> Convert:
    context = Context(prec=_MOST_DIGITS, traps=[InvalidOperation])
    step, limit = Decimal(1).scaleb(-wanted.scale), Decimal(1).scaleb(wanted.precision - wanted.scale)

    def convert(value: Any) -> Decimal:
        if type(value) is str:
            if not _DECIMAL.fullmatch(value):
                raise misfit(wanted, "what is no decimal number")
        elif type(value) is not Decimal and type(value) is not int:
            raise misfit(wanted, kind_of(value))
        try:
            number = Decimal(value, context)
            scaled = context.quantize(number, step)
        except InvalidOperation:
            raise misfit(wanted, "what is no decimal number") from None
        if scaled != number:
            raise misfit(wanted, "a number that would have to be rounded")
        if scaled.copy_abs() >= limit:  # abs() would round
            raise misfit(wanted, "a number outside its range")
        return scaled

    return convert


def string_converter(wanted: pa.DataType) -> Convert:
    """Return what makes text of a string, for a column or key of this type."""

    def convert(value: Any) -> str:
        if type(value) is not str:
            raise misfit(wanted, kind_of(value))
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise misfit(wanted, "a lone surrogate") from None
        return value

    return convert


def _date(wanted: pa.DataType) -> Convert:
    as_text = string_converter(wanted)

    def convert(value: Any) -> Any:
        text = as_text(value)
        if _DATE.fullmatch(text):
            try:
                return date.fromisoformat(text)
            except ValueError:
                pass  # and Arrow says whether it is one
        return _arrow_cast(text, pa.string(), wanted)

    return convert


def _time(wanted: pa.DataType) -> Convert:
    as_text = string_converter(wanted)

    def convert(value: Any) -> time:
        text = as_text(value)
        if not _TIME.fullmatch(text):
            raise misfit(wanted, "a value that is none")
        return time.fromisoformat(text)

    return convert


def _timestamp(wanted: pa.DataType, epoch_unit: EpochUnit) -> Convert:
    as_text = string_converter(wanted)
    counted = None if epoch_unit is EpochUnit.NONE else pa.timestamp(epoch_unit.value, wanted.tz)
    # What is simply multiplied is a number of microseconds in 64 bits then.
    times = _MICROS.get(epoch_unit, 0)
    most = _MOST_MICROS // times if times else -1
    plain = _TIMESTAMPTZ if wanted.tz else _TIMESTAMP
    is_micros = wanted.unit == "us"  # as Python's are

    def convert(value: Any) -> Any:
        if type(value) is int:
            if is_micros and -most <= value <= most:
                return value * times
            if counted is None:
                raise misfit(wanted, "a number, and its writer takes none for a time")
            return _arrow_cast(value, counted, wanted)
        text = as_text(value)
        if is_micros and plain.fullmatch(text):
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                pass  # and Arrow says whether it is one
        return _arrow_cast(text, pa.string(), wanted)

    return convert


def _binary(wanted: pa.DataType) -> Convert:
    as_text = string_converter(wanted)
    size = wanted.byte_width if pa.types.is_fixed_size_binary(wanted) else None

    def convert(value: Any) -> bytes:
        try:
            found = parse_base64(as_text(value))
        except ValueError:
            raise misfit(wanted, "a string that is not base64") from None
        if size is not None and len(found) != size:
            raise misfit(wanted, f"{len(found)} bytes")
        return found

    return convert


def _uuid(wanted: pa.DataType) -> Convert:
    as_text = string_converter(wanted)

    def convert(value: Any) -> bytes:
        try:
            return parse_uuid(as_text(value))
        except ValueError:
            raise misfit(wanted, "text that is no UUID") from None

    return convert


def _arrow_cast(value: Any, source: pa.DataType, wanted: pa.DataType) -> Any:
    try:
        # Arrow's own number, since Python's dates end before Arrow's do.
        return pa.array([value], source).cast(wanted)[0].value
    except (pa.ArrowInvalid, OverflowError):
        raise misfit(wanted, "a value that is none") from None


_MAKERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Convert]], ...]] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_string, string_converter),
    (pa.types.is_time64, _time),
    (pa.types.is_date32, _date),
    (pa.types.is_binary, _binary),
    (pa.types.is_fixed_size_binary, _binary),
    (lambda wanted: bool(wanted == pa.uuid()), _uuid),
)
