"""Protobuf records: the program in C and the way without it against one message at a time.

The reference is Google's runtime; how its values become a column's, the cells of
`tests/hotset/decode/protobuf/test_protobuf.py` say. Where the program was not built there is one path.
"""

from __future__ import annotations

import random
from typing import Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from hotset.decode.protobuf.protobuf_native import payload_decoder
from hotset.decode.protobuf.protobuf_plan import plan_columns
from hotset.decode.protobuf.protobuf_python import DecodePayloads, reference_decoder
from tests.fuzz.frame import Refusal, Round, Verdict, plain_rows
from tests.fuzz.protobuf_schemas import SCHEMAS, columns_for, fill, message_of

_MADE: Final = 200


def make_round(rng: random.Random) -> Round:
    """Return records of a random schema, and some of its fields as columns."""
    number = rng.randrange(SCHEMAS)
    message = message_of(number)
    columns = columns_for(rng, message)
    schema = pa.schema(columns or [("nobody", pa.string())])
    parts = plan_columns(message, schema)
    built, pure = payload_decoder(message, parts, schema), reference_decoder(message, parts, schema)
    good: list[bytes] = []

    def record(rng: random.Random) -> bytes:
        while not good:
            good.extend(_fitting([_message(rng, message) for _ in range(_MADE)], pure))
        return good.pop()

    def meaning(payload: bytes) -> Verdict:
        decoded = pure(pa.array([payload], pa.binary()), 0)
        return Refusal(decoded.faults[0].reason) if decoded.faults else plain_rows(decoded.rows)[0]

    return Round(
        about=f"schema {number}, columns {schema}",
        schema=schema,
        record=record,
        paths={"built": lambda payloads: built(payloads, 0), "pure": lambda payloads: pure(payloads, 0)},
        reference=meaning,
    )


def _message(rng: random.Random, message: Descriptor) -> bytes:
    made = GetMessageClass(message)()
    fill(rng, made)
    payload: bytes = made.SerializeToString()
    return payload


def _fitting(payloads: list[bytes], pure: DecodePayloads) -> list[bytes]:
    bad = {fault.row for fault in pure(pa.array(payloads, pa.binary()), 0).faults}
    return [payload for row, payload in enumerate(payloads) if row not in bad]
