"""Protobuf records: the program in C and the way without it against one message at a time.

The reference is Google's runtime; how its values become a column's, the cells of
`tests/hotset/test_protobuf.py` say. Where the program was not built there is one path.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from hotset.decode import Decoded
from hotset.decode.protobuf.native import payload_decoder
from hotset.decode.protobuf.plan import Part, plan_columns
from hotset.decode.protobuf.reference import decode_messages
from tests.fuzz.frame import Refusal, Round, Verdict, plain_rows
from tests.fuzz.protobuf_schemas import SCHEMAS, columns_for, fill, message_of

_TRIES = 20


def make_round(rng: random.Random) -> Round:
    """Return records of a random schema, and some of its fields as columns."""
    number = rng.randrange(SCHEMAS)
    message = message_of(number)
    columns = columns_for(rng, message)
    schema = pa.schema(columns or [("nobody", pa.string())])
    parts = plan_columns(message, schema)
    reference = functools.partial(_meaning, message, parts, schema)
    make = GetMessageClass(message)

    def record(rng: random.Random) -> bytes:
        for _ in range(_TRIES):
            made = make()
            fill(rng, made)
            payload: bytes = made.SerializeToString()
            if not isinstance(reference(payload), Refusal):
                return payload
        return payload

    return Round(
        about=f"schema {number}, columns {schema}",
        schema=schema,
        record=record,
        paths={
            "built": _path(payload_decoder(message, parts, schema)),
            "pure": lambda payloads: decode_messages(payloads, message, parts, schema),
        },
        reference=reference,
    )


def _path(decode: Callable[[pa.BinaryArray, int], Decoded]) -> Callable[[pa.BinaryArray], Decoded]:
    return lambda payloads: decode(payloads, 0)


def _meaning(message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema, payload: bytes) -> Verdict:
    decoded = decode_messages(pa.array([payload], pa.binary()), message, parts, schema)
    return Refusal(decoded.faults[0].reason) if decoded.faults else plain_rows(decoded.rows)[0]
