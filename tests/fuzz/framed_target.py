"""Records that name their schemas: frames, headers, identities and message indexes, hurt like the rest.

A batch has records of several schemas, of schemas of other formats, of one that no row can be made of, and
of ids that nobody knows. What a body means is asked of fastavro, Google's runtime and the exact JSON decoder,
one record at a time; which body it is, and of which schema, is read here by hand. The registry is a table in
memory, since hurt ids are millions, and a real one would be asked for each.
"""

from __future__ import annotations

import os
import random
import struct
import uuid
from functools import partial
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import Decoded, Fault, nulls_of
from hotset.decode.framed import KINDS, FramedDecoder
from hotset.errors import SchemaNotFoundError
from hotset.native.availability import PURE
from hotset.registry.registered_schema import RegisteredSchema
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.fuzz.avro_target import STRICTER
from tests.fuzz.frame import Refusal, Round, Verdict
from tests.fuzz.framed_writers import SCHEMA, WRITERS, Writer, index_size
from tests.fuzz.mutations import mutate

_HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_NAME: Final = "__value_schema_id"
# In place of a header's length: there is none.
_NO_HEADER: Final = 255
# Ids with this lowest byte nobody knows.
_UNKNOWN: Final = 0x2A
_LARGEST_ID: Final = (1 << 32) - 1


def make_round(rng: random.Random) -> Round:
    """Return records of one format; the same id always means the same schema."""
    name = rng.choice(list(KINDS))
    decoder = FramedDecoder(name, _Shelf(), isolates=True)
    return Round(
        about=f"{name}; ids modulo {len(WRITERS)}: {[each.registered.kind for each in WRITERS]}",
        schema=SCHEMA,
        record=partial(_record, name),
        paths={
            "built": partial(_decode, decoder, is_pure=False),
            "pure": partial(_decode, decoder, is_pure=True),
        },
        reference=partial(_meaning, name),
        stricter={**STRICTER, "its message index is cut short or too long": "an index has up to five bytes"},
        hurt=partial(_hurt, name),
    )


class _Shelf(SchemaRegistry):
    """Knows a schema for nearly every id, and for every identity by its last four bytes."""

    def __init__(self) -> None:
        super().__init__(parse_registry({"url": "http://127.0.0.1:9"}))

    def by_id(self, schema_id: int) -> RegisteredSchema:
        found = _writer_of(schema_id)
        if found is None:
            raise SchemaNotFoundError(f"nobody knows {schema_id}")
        return found.registered

    def by_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        return self.by_id(guid.int & _LARGEST_ID)


def _writer_of(schema_id: int) -> Writer | None:
    if schema_id & 0xFF == _UNKNOWN:
        return None
    return WRITERS[schema_id % len(WRITERS)]


# A record as one word of bytes: the length of its header, the header, the payload.
def _packed(header: bytes | None, payload: bytes) -> bytes:
    return bytes([_NO_HEADER]) + payload if header is None else bytes([len(header)]) + header + payload


def _unpacked(packed: bytes) -> tuple[bytes | None, bytes]:
    if not packed or packed[0] == _NO_HEADER:
        return None, packed[1:]
    return packed[1 : 1 + packed[0]], packed[1 + packed[0] :]


def _record(name: str, rng: random.Random) -> bytes:
    place = rng.choice(_fitting(name))
    write = WRITERS[place].body
    assert write is not None
    return _named(name, rng, _id_of(rng, place), write(rng))


def _fitting(name: str) -> list[int]:
    return [n for n, each in enumerate(WRITERS) if each.registered.kind == KINDS[name] and each.body]


def _named(name: str, rng: random.Random, schema_id: int, body: bytes) -> bytes:
    told = b"\0" + struct.pack(">I", schema_id)
    choice = rng.random()
    if choice < 0.6:
        return _packed(None, told + body)
    if choice < 0.8:
        told = b"\1" + uuid.UUID(int=schema_id).bytes
    index = index_size(body) if name == "protobuf" else 0
    return _packed(told + body[:index], body[index:])


def _id_of(rng: random.Random, place: int) -> int:
    while True:
        found = place + len(WRITERS) * rng.choice([0, 0, 0, 0, 0, 1, 7, rng.randrange(1 << 28)])
        if _writer_of(found) is not None:
            return found


def _hurt(name: str, rng: random.Random, packed: bytes) -> bytes:
    """Exchange what names the schema, and leave the rest as it was; or hurt just that."""
    header, payload = _unpacked(packed)
    told = payload[:5] if header is None else header
    if rng.random() < 0.5:
        told = mutate(rng, told)
    else:
        place = rng.choice([*_fitting(name), rng.randrange(len(WRITERS))])
        known = _id_of(rng, place) if rng.random() < 0.9 else rng.randrange(1 << 32)
        told = rng.choice([b"\0" + struct.pack(">I", known), b"\1" + uuid.UUID(int=known).bytes])
    if rng.random() < 0.2:
        # In the other place, or in both.
        return _packed(told, payload) if header is None else _packed(None, told + payload)
    return _packed(None, told + payload[5:]) if header is None else _packed(told[:254], payload)


def _decode(decoder: FramedDecoder, packed: pa.BinaryArray, *, is_pure: bool) -> Decoded:
    """Decode a batch; records whose schema nobody knows, which are errors of their batch, are taken out."""
    pairs = [_unpacked(each) for each in packed.to_pylist()]
    values = pa.array([payload for _, payload in pairs], pa.binary())
    beside = {"key": "other", "value": b"\0\0\0\0\1"}
    told = [[beside, *([] if h is None else [{"key": _NAME, "value": h}]), beside] for h, _ in pairs]
    headers = pa.array(told, _HEADERS)
    places, faults = list(range(len(pairs))), {}
    os.environ[PURE] = "1" if is_pure else ""
    try:
        while True:
            rows = pa.array(places, pa.int64())
            try:
                found = decoder(values.take(rows), SCHEMA, headers.take(rows))
                break
            except SchemaNotFoundError as exc:
                row = exc.details["row"]
                assert isinstance(row, int)
                faults[places.pop(row)] = "nobody knows its schema"
    finally:
        os.environ.pop(PURE)
    faults.update((places[fault.row], fault.reason) for fault in found.faults)
    order = [len(places)] * len(pairs)
    for row, place in enumerate(places):
        order[place] = row
    whole = pa.concat_batches([found.rows, nulls_of(SCHEMA, 1)]).take(pa.array(order, pa.int64()))
    return Decoded(whole, tuple(Fault(row, faults[row]) for row in sorted(faults)))


def _meaning(name: str, packed: bytes) -> Verdict:
    header, payload = _unpacked(packed)
    told, body = (payload[:5], payload[5:]) if header is None else (header, payload)
    size = 5 if told[:1] == b"\0" else 17 if told[:1] == b"\1" and header is not None else 0
    if not size or len(told) < size:
        return Refusal("it names no schema")
    if header is not None and name == "protobuf":
        body = told[size:] + body
    elif len(told) > size:
        return Refusal("its header has more than a schema")
    writer = _writer_of(int.from_bytes(told[1:size]) & _LARGEST_ID)
    if writer is None or writer.registered.kind != KINDS[name]:
        return Refusal("its schema is unknown, or of another format")
    return writer.mean(body)
