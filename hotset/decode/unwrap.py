"""JSON that has its schema beside it, as Connect's converter writes it unless told not to.

Such a document is `{"schema": {"type": "struct", ...}, "payload": {...}}`, and what
is meant is in the payload. A topic may hold both kinds. This file must not know
what a payload means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, Decoder, batch_of

_SCHEMA: Final = "schema"
_PAYLOAD: Final = "payload"


def decode_unwrapped(
    decode: Decoder,
    payloads: pa.BinaryArray,
    wanted: pa.Schema,
    headers: pa.ListArray | None,
    *,
    may_be_wrapped: bool,
) -> Decoded:
    """Decode payloads into `wanted`, of which each document may be the payload of another.

    Args:
        decode: The decoder of the format.
        payloads: Record values or keys.
        wanted: The columns, all of which may be null.
        headers: As a decoder takes them.
        may_be_wrapped: False if the format has no such documents.

    Raises:
        HotsetError: As the decoder.
    """
    if not may_be_wrapped:
        return decode(payloads, wanted, headers)
    beside = [
        pa.field(_SCHEMA, pa.struct([("type", pa.string())])),
        pa.field(_PAYLOAD, pa.struct(list(wanted))),
    ]
    plain = [column for column in wanted if column.name not in (_SCHEMA, _PAYLOAD)]
    told = decode(payloads, pa.schema([*plain, *beside]), headers)
    is_wrapped = pc.is_in(told.rows.column(_SCHEMA).flatten()[0], pa.array(["struct"]))
    rows = len(payloads)
    inner = dict(zip(wanted.names, told.rows.column(_PAYLOAD).flatten(), strict=True))
    places = pc.if_else(is_wrapped, pc.add(pa.arange(0, rows), rows), pa.arange(0, rows))
    arrays = []
    for column in wanted:
        outer = told.rows.column(column.name) if column in plain else pa.nulls(rows, column.type)
        arrays.append(pa.concat_arrays([outer, inner[column.name]]).take(places))
    return Decoded(batch_of(arrays, wanted, rows), told.faults, frozenset(_unwrapped(told.unmapped)))


def _unwrapped(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of fields as a document has them that has no schema beside it."""
    for path in paths:
        if path.startswith(f"{_PAYLOAD}."):
            yield path.removeprefix(f"{_PAYLOAD}.")
        elif not path.startswith(f"{_SCHEMA}."):
            yield path
