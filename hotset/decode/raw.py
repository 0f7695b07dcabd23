"""Records that are one value and nothing else: text or bytes.

They have no fields, so they fill exactly one column, whatever it is called.
This file must not know which column that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from hotset.decode.byte_text import parse_uuid
from hotset.decode.decoded import Decoded, Decoder, MisfitError, batch_of, decode_one_by_one
from hotset.errors import UnsupportedFormatError


def _holds_text(wanted: pa.DataType) -> bool:
    return bool(pa.types.is_string(wanted) or wanted == pa.uuid())


def _holds_bytes(wanted: pa.DataType) -> bool:
    return bool(pa.types.is_binary(wanted) or pa.types.is_fixed_size_binary(wanted) or wanted == pa.uuid())


_HOLDS: Final[dict[str, Callable[[pa.DataType], bool]]] = {"string": _holds_text, "bytes": _holds_bytes}

RAW: Final = tuple(sorted(_HOLDS))


def require_raw_column(format_name: str, field: pa.Field) -> None:
    """Raise unless a column can hold the payloads of a raw format.

    Raises:
        UnsupportedFormatError: It cannot.
    """
    if not _HOLDS[format_name](field.type):
        wants = "a string or uuid" if format_name == "string" else "a binary, fixed or uuid"
        raise UnsupportedFormatError(
            f"format {format_name!r} fills {wants} column, and column {field.name!r} is of type {field.type}",
            column=field.name,
        )


def raw_decoder(format_name: str) -> Decoder:
    """Return the decoder of a raw format.

    Raises:
        UnsupportedFormatError: From the decoder, for columns that the format cannot fill.
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
        if format_name == "string" and wanted.type == pa.uuid():
            return _one_by_one(payloads, schema, _read_uuid)
        try:
            return Decoded(batch_of([payloads.cast(wanted.type)], schema, len(payloads)))
        except pa.ArrowInvalid:
            return _one_by_one(payloads, schema, _read_text if format_name == "string" else _read_fixed)

    return decode


def _one_by_one(
    payloads: pa.BinaryArray, schema: pa.Schema, read: Callable[[bytes, pa.DataType], object]
) -> Decoded:
    [field] = schema
    return decode_one_by_one(payloads, schema, lambda payload: [read(payload, field.type)])


def _read_text(payload: bytes, _wanted: pa.DataType) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as exc:
        raise MisfitError(f"it is not UTF-8 (byte {exc.start})") from None


def _read_uuid(payload: bytes, wanted: pa.DataType) -> bytes:
    try:
        return parse_uuid(_read_text(payload, wanted))
    except ValueError:
        raise MisfitError("it is text that is no UUID") from None


def _read_fixed(payload: bytes, wanted: pa.DataType) -> bytes:
    if len(payload) != wanted.byte_width:
        raise MisfitError(f"it has {len(payload)} bytes, and the column has {wanted.byte_width}")
    return payload
