"""One payload as one JSON object, with its numbers as they were written.

Python's own parser reads it, told to keep the digits of numbers, which it would lose. Of equal names the last
counts. This file must not know columns.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from hotset.decode.decoded import MisfitError

_LONGEST_INT: Final = 400
_HUGE_EXPONENT: Final = 1_000_000
_KINDS: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


def parse_object(payload: bytes) -> dict[str, Any]:
    """Return a JSON object's fields.

    Whole numbers are int, others Decimal; NaN and the infinities alone are float. A whole number that no
    column can hold is a Decimal, too.

    Raises:
        MisfitError: The payload is not one JSON object in UTF-8.
    """
    try:
        record = _DECODER.decode(payload.decode())
    except UnicodeDecodeError as exc:
        raise MisfitError(f"its value is not UTF-8 (byte {exc.start})") from None
    except RecursionError:
        raise MisfitError("its value is nested too deeply") from None
    except ValueError as exc:
        raise MisfitError(f"its value is not one JSON document ({_reason(payload, exc)})") from None
    if not isinstance(record, dict):
        raise MisfitError(f"its value is {kind_of(record)}, not a JSON object")
    return record


def kind_of(value: Any) -> str:
    """Return what a value is in JSON, for an error's text."""
    return _KINDS.get(type(value), "a number")


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


def _reason(payload: bytes, exc: ValueError) -> ValueError:
    text = payload.decode()
    # A byte order mark cannot be seen, so it is named.
    if text.startswith("\ufeff"):
        return json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    return exc


_DECODER: Final = json.JSONDecoder(parse_float=_parse_float, parse_int=_parse_int)
