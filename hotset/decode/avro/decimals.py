"""The number in a decimal's bytes at the scale of a column, if it is exactly one.

Python's integers have no end, and C's do: where a number is too long to be looked
at there, it is refused here as well. This file must not know records.
"""

from __future__ import annotations

from hotset.decode.avro.avro_program import MAX_DECIMAL_BYTES, Code


def scale_decimal(data: bytes, times: int, precision: int) -> int | Code:
    """Return a big-endian number times a power of ten, or why it does not fit.

    Args:
        data: The number, which may be longer than it need be.
        times: The power; a negative one has to divide without a rest.
        precision: How many digits the result may have.
    """
    value = int.from_bytes(data, signed=True)
    if (value if value >= 0 else ~value).bit_length() >= 8 * MAX_DECIMAL_BYTES:
        return Code.RANGE
    while times < 0 and value:
        value, rest = divmod(value, 10)
        if rest:
            return Code.ROUNDED
        times += 1
    if value and (times > precision or abs(value) >= 10 ** (precision - times)):
        return Code.RANGE
    return value * 10**times if value else 0
