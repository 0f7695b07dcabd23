"""The reference JSON decoder: one record at a time, and it can name the bad one.

It defines what a JSON record means; the reader in C must agree, and leaves to it what
that does not take. Where there is no C, it decodes everything.

    column              JSON value
    boolean             true, false
    int, long           a number written without fraction or exponent, in range
    float, double       a number (NaN and Infinity literals included)
    decimal(p, s)       a number, or a string holding one, that fits without rounding
    string              a string
    date                "YYYY-MM-DD"
    time                "HH:MM:SS[.ffffff]"
    timestamp           "YYYY-MM-DDTHH:MM:SS[.ffffff]", or integer epoch milliseconds; in a column
                        of nanoseconds with up to nine digits of fraction, from 1677 to 2262
    timestamptz         the same with an offset or Z, or integer epoch milliseconds
    binary, fixed       a base64 string
    uuid                a string of the form "8-4-4-4-12", of hexadecimal digits
    struct              an object        list   an array      map   an object
"""

from __future__ import annotations

import json
import math
import re
from datetime import time
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, Final

import pyarrow as pa

from hotset.decode.byte_text import parse_bytes
from hotset.decode.decoded import Decoded, MisfitError, decode_one_by_one
from hotset.errors import UnsupportedFormatError

_LONGEST_INT: Final = 400
_HUGE_EXPONENT: Final = 1_000_000
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TIME: Final = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")


def decode_exactly(
    payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None
) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`, one by one.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """

    def read(value: bytes) -> list[Any]:
        record = _parse(value)
        return [_convert_column(record.get(field.name), field) for field in schema]

    return decode_one_by_one(payloads, schema, read)


def _parse_int(digits: str) -> int | Decimal:
    # Python refuses to read very long integers, and no column can hold one.
    return int(digits) if len(digits) < _LONGEST_INT else Decimal(digits)


def _parse_float(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        # Python refuses exponents of some twenty digits. A smaller one is out of every range, too.
        mantissa, _, exponent = text.lower().partition("e")
        size = 0 if not Decimal(mantissa) else _HUGE_EXPONENT
        return Decimal(f"{mantissa}e{'-' if exponent.startswith('-') else ''}{size}")


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found.setdefault(key, value)
    return found


def _parse(value: bytes) -> dict[str, Any]:
    try:
        record = json.loads(
            value.decode(), parse_float=_parse_float, parse_int=_parse_int, object_pairs_hook=_first_wins
        )
    except UnicodeDecodeError as exc:
        raise MisfitError(f"its value is not UTF-8 (byte {exc.start})") from None
    except RecursionError:
        raise MisfitError("its value is nested too deeply") from None
    except ValueError as exc:
        raise MisfitError(f"its value is not one JSON document ({exc})") from None
    if not isinstance(record, dict):
        raise MisfitError(f"its value is {_kind(record)}, not a JSON object")
    return record


def _convert_column(value: Any, field: pa.Field) -> Any:
    # Whether a column may be null is asked where all that fills it is known.
    return None if value is None else _convert_field(value, field)


def _convert_field(value: Any, field: pa.Field) -> Any:
    if value is None:
        if not field.nullable:
            raise MisfitError(f"column {field.name!r} is required, and is absent or null")
        return None
    try:
        return _convert(value, field.type)
    except MisfitError as exc:
        raise MisfitError(f"column {field.name!r} {exc}") from None


def _convert(value: Any, wanted: pa.DataType) -> Any:
    types = pa.types
    if types.is_boolean(wanted):
        return _expect(value, bool, wanted)
    if types.is_integer(wanted):
        return _integer(value, wanted)
    if types.is_floating(wanted):
        return _floating(value, wanted)
    if types.is_decimal(wanted):
        return _decimal(value, wanted)
    if types.is_string(wanted):
        return _string(value, wanted)
    if types.is_timestamp(wanted) and _is_integer(value):
        return _arrow_cast(value, pa.timestamp("ms", wanted.tz), wanted)
    if types.is_time64(wanted):
        return _time(value, wanted)
    if types.is_date32(wanted) or types.is_timestamp(wanted):
        return _arrow_cast(_string(value, wanted), pa.string(), wanted)
    if types.is_binary(wanted) or types.is_fixed_size_binary(wanted) or wanted == pa.uuid():
        return _binary(value, wanted)
    return _convert_nested(value, wanted)


def _convert_nested(value: Any, wanted: pa.DataType) -> Any:
    if pa.types.is_struct(wanted):
        _expect(value, dict, wanted)
        return {field.name: _convert_field(value.get(field.name), field) for field in wanted}
    if pa.types.is_list(wanted):
        return [_convert_field(item, wanted.value_field) for item in _expect(value, list, wanted)]
    if pa.types.is_map(wanted):
        _expect(value, dict, wanted)
        if not pa.types.is_string(wanted.key_type):
            raise UnsupportedFormatError(
                f"a JSON object cannot be a {wanted}: its keys are strings; use another value format"
            )
        keys = [_string(key, wanted.key_type) for key in value]
        return [(key, _convert_field(value[key], wanted.item_field)) for key in keys]
    raise UnsupportedFormatError(f"JSON has no form for a column of type {wanted}; use another format")


def _kind(value: Any) -> str:
    names: Final = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        type(None): "null",
    }
    return names.get(type(value), "a number")


def _expect(value: Any, cls: type, wanted: pa.DataType) -> Any:
    if not isinstance(value, cls):
        raise MisfitError(f"wants {wanted}, and holds {_kind(value)}")
    return value


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integer(value: Any, wanted: pa.DataType) -> int:
    if not _is_integer(value):
        what = "a number with fraction or exponent" if isinstance(value, Decimal) else _kind(value)
        raise MisfitError(f"wants {wanted}, and holds {what}")
    limit = 1 << (wanted.bit_width - 1)
    if not -limit <= value < limit:
        raise MisfitError(f"wants {wanted}, and holds a number outside its range")
    return int(value)


def _floating(value: Any, wanted: pa.DataType) -> float:
    if isinstance(value, float):
        return value  # NaN, Infinity or -Infinity: parse_float made every other number a Decimal
    if not isinstance(value, Decimal) and not _is_integer(value):
        raise MisfitError(f"wants {wanted}, and holds {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number in (float("inf"), float("-inf")) or not math.isfinite(_narrowed(number, wanted)):
        raise MisfitError(f"wants {wanted}, and holds a number outside its range")
    return number


def _narrowed(number: float, wanted: pa.DataType) -> float:
    narrowed: float = pa.array([number], pa.float64()).cast(wanted)[0].as_py()
    return narrowed


def _time(value: Any, wanted: pa.DataType) -> time:
    text = _string(value, wanted)
    try:
        if _TIME.fullmatch(text):
            return time.fromisoformat(text)
    except ValueError:
        pass
    raise MisfitError(f"wants {wanted}, and holds a value that is none")


def _decimal(value: Any, wanted: pa.DataType) -> Decimal:
    if isinstance(value, bool | float) or not isinstance(value, str | int | Decimal):
        raise MisfitError(f"wants {wanted}, and holds {_kind(value)}")
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise MisfitError(f"wants {wanted}, and holds what is no decimal number")
    with localcontext(prec=100) as context:
        context.traps[InvalidOperation] = True
        try:
            number = Decimal(value)
            scaled = number.quantize(Decimal(1).scaleb(-wanted.scale))
        except InvalidOperation:
            raise MisfitError(f"wants {wanted}, and holds what is no decimal number") from None
        if not number.is_finite() or scaled != number:
            raise MisfitError(f"wants {wanted}, and holds a number that would have to be rounded")
        if len(scaled.as_tuple().digits) > wanted.precision:
            raise MisfitError(f"wants {wanted}, and holds a number outside its range")
    return scaled


def _string(value: Any, wanted: pa.DataType) -> str:
    text: str = _expect(value, str, wanted)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MisfitError(f"wants {wanted}, and holds a lone surrogate") from None
    return text


def _binary(value: Any, wanted: pa.DataType) -> bytes:
    try:
        data = parse_bytes(_string(value, wanted), wanted)
    except ValueError:
        what = "text that is no UUID" if wanted == pa.uuid() else "a string that is not base64"
        raise MisfitError(f"wants {wanted}, and holds {what}") from None
    if pa.types.is_fixed_size_binary(wanted) and len(data) != wanted.byte_width:
        raise MisfitError(f"wants {wanted}, and holds {len(data)} bytes")
    return data


def _arrow_cast(value: Any, source: pa.DataType, wanted: pa.DataType) -> Any:
    try:
        # Arrow's own number, since Python's dates end before Arrow's do.
        return pa.array([value], source).cast(wanted)[0].value
    except (pa.ArrowInvalid, OverflowError):
        raise MisfitError(f"wants {wanted}, and holds a value that is none") from None
