"""Records that are one value and nothing else: text or bytes.

They have no fields, so they fill exactly one column, whatever it is called.
This file must not know which column that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import Decoded, Decoder, Fault, batch_of
from hotset.errors import UnsupportedFormatError

_HOLDS: Final[dict[str, Callable[[pa.DataType], bool]]] = {
    "string": pa.types.is_string,
    "bytes": lambda wanted: bool(pa.types.is_binary(wanted) or pa.types.is_fixed_size_binary(wanted)),
}

RAW: Final = tuple(sorted(_HOLDS))


def require_raw_column(format_name: str, field: pa.Field) -> None:
    """Raise unless a column can hold the payloads of a raw format.

    Raises:
        UnsupportedFormatError: It cannot.
    """
    if not _HOLDS[format_name](field.type):
        wants = "a string" if format_name == "string" else "a binary"
        raise UnsupportedFormatError(
            f"format {format_name!r} fills {wants} column, and column {field.name!r} is of type {field.type}",
            column=field.name,
        )


def raw_decoder(format_name: str) -> Decoder:
    """Return the decoder of a raw format.

    Raises:
        Nothing of its own.
    """

    def decode(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
        if not schema.names:
            return Decoded(batch_of([], schema, len(payloads)))
        if len(schema) > 1:
            raise UnsupportedFormatError(
                f"format {format_name!r} fills one column, and there are {', '.join(schema.names)}"
            )
        wanted = schema.field(0)
        require_raw_column(format_name, wanted)
        try:
            return Decoded(batch_of([payloads.cast(wanted.type)], schema, len(payloads)))
        except pa.ArrowInvalid:
            return _one_by_one(payloads, schema)

    return decode


def _one_by_one(payloads: pa.BinaryArray, schema: pa.Schema) -> Decoded:
    wanted = schema.field(0).type
    found: list[object] = []
    faults = []
    for row, payload in enumerate(payloads.to_pylist()):
        reason = None if payload is None else _flaw(payload, wanted)
        if reason is not None:
            faults.append(Fault(row, reason))
        found.append(None if reason is not None else payload)
    array = pa.array(found, pa.binary()).cast(wanted)
    return Decoded(batch_of([array], schema, len(payloads)), tuple(faults))


def _flaw(payload: bytes, wanted: pa.DataType) -> str | None:
    if pa.types.is_fixed_size_binary(wanted):
        if len(payload) == wanted.byte_width:
            return None
        return f"it has {len(payload)} bytes, and the column has {wanted.byte_width}"
    try:
        payload.decode()
    except UnicodeDecodeError as exc:
        return f"it is not UTF-8 (byte {exc.start})"
    return None
