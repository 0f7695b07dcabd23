"""From raw record values to rows: one file per format, one face for all.

A decoder takes a `RAW_SCHEMA` batch and the Arrow schema of the columns that
are wanted, and returns a batch of exactly that schema with one row per record,
in the same order, or raises an error that names the record. It must not know
where the schema came from.
"""

from __future__ import annotations

from typing import Final, Protocol

import pyarrow as pa

from hotset.decode.json import decode_json
from hotset.errors import UnsupportedFormatError


class Decoder(Protocol):
    """Turns raw records into rows."""

    def __call__(self, raw: pa.RecordBatch, schema: pa.Schema, *, topic: str) -> pa.RecordBatch:
        """Return one row of `schema` per record of `raw`, in order.

        Raises:
            DecodeError: A record cannot be such a row; names partition and offset.
        """
        ...


_DECODERS: Final[dict[str, Decoder]] = {"json": decode_json}

FORMATS: Final = tuple(sorted(_DECODERS))


def decoder_for(value_format: str) -> Decoder:
    """Return the decoder of a value format.

    Raises:
        UnsupportedFormatError: There is none of that name.
    """
    try:
        return _DECODERS[value_format]
    except KeyError:
        known = ", ".join(FORMATS)
        raise UnsupportedFormatError(
            f"value format {value_format!r} is not supported; supported: {known}",
            format=value_format,
        ) from None
