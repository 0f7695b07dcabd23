"""Records that name their schemas: frames, headers, identities and message indexes, hurt like the rest.

A batch has records of several schemas, of schemas of other formats, of one that no row can be made of, and
of ids that nobody knows. What a body means is asked of fastavro, Google's runtime and the exact JSON decoder,
one record at a time; which body it is, and of which schema, is read here by hand. The registry is a table in
memory, since hurt ids are millions, and a real one would be asked for each.
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import fastavro
import pyarrow as pa
from google.protobuf.message import DecodeError

from hotset.decode import Decoded, Fault
from hotset.decode.decoded import nulls_of
from hotset.decode.framed import KINDS, FramedDecoder
from hotset.decode.json_exact import decode_exactly
from hotset.errors import SchemaNotFoundError
from hotset.native import PURE
from hotset.registered import RegisteredSchema
from hotset.registry import SchemaRegistry
from hotset.registry_settings import parse_registry
from tests.fuzz.avro_bytes import blocks, counted, number, some_text
from tests.fuzz.avro_target import STRICTER
from tests.fuzz.frame import Refusal, Round, Verdict, plain_rows
from tests.fuzz.mutations import mutate
from tests.hotset.proto import message_class, proto3

SCHEMA: Final = pa.schema([("n", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.string()))])
_HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_NAME: Final = "__value_schema_id"
# In place of a header's length: there is none.
_NO_HEADER: Final = 255
# Ids with this lowest byte nobody knows.
_UNKNOWN: Final = 0x2A
_LARGEST_ID: Final = (1 << 32) - 1
_DEEPEST_PATH: Final = 100


@dataclass(frozen=True, slots=True)
class _Writer:
    """A schema; bodies of it, and what they mean. One that no row can be made of has neither."""

    registered: RegisteredSchema
    body: Callable[[random.Random], bytes] | None
    mean: Callable[[bytes], Verdict]


def make_round(rng: random.Random) -> Round:
    """Return records of one format; the same id always means the same schema."""
    name = rng.choice(list(KINDS))
    decoder = FramedDecoder(name, _Shelf(), isolates=True)
    return Round(
        about=f"{name}; ids modulo {len(_WRITERS)}: {[each.registered.kind for each in _WRITERS]}",
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


def _writer_of(schema_id: int) -> _Writer | None:
    if schema_id & 0xFF == _UNKNOWN:
        return None
    return _WRITERS[schema_id % len(_WRITERS)]


# A record as one word of bytes: the length of its header, the header, the payload.
def _packed(header: bytes | None, payload: bytes) -> bytes:
    return bytes([_NO_HEADER]) + payload if header is None else bytes([len(header)]) + header + payload


def _unpacked(packed: bytes) -> tuple[bytes | None, bytes]:
    if not packed or packed[0] == _NO_HEADER:
        return None, packed[1:]
    return packed[1 : 1 + packed[0]], packed[1 + packed[0] :]


def _record(name: str, rng: random.Random) -> bytes:
    place = rng.choice(_fitting(name))
    write = _WRITERS[place].body
    assert write is not None
    return _named(name, rng, _id_of(rng, place), write(rng))


def _fitting(name: str) -> list[int]:
    return [n for n, each in enumerate(_WRITERS) if each.registered.kind == KINDS[name] and each.body]


def _named(name: str, rng: random.Random, schema_id: int, body: bytes) -> bytes:
    told = b"\0" + struct.pack(">I", schema_id)
    choice = rng.random()
    if choice < 0.6:
        return _packed(None, told + body)
    if choice < 0.8:
        told = b"\1" + uuid.UUID(int=schema_id).bytes
    index = _index_size(body) if name == "protobuf" else 0
    return _packed(told + body[:index], body[index:])


def _id_of(rng: random.Random, place: int) -> int:
    while True:
        found = place + len(_WRITERS) * rng.choice([0, 0, 0, 0, 0, 1, 7, rng.randrange(1 << 28)])
        if _writer_of(found) is not None:
            return found


def _hurt(name: str, rng: random.Random, packed: bytes) -> bytes:
    """Exchange what names the schema, and leave the rest as it was; or hurt just that."""
    header, payload = _unpacked(packed)
    told = payload[:5] if header is None else header
    if rng.random() < 0.5:
        told = mutate(rng, told)
    else:
        place = rng.choice([*_fitting(name), rng.randrange(len(_WRITERS))])
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


def _nobody(_body: bytes) -> Verdict:
    return Refusal("no row can be made of its schema")


def _avro(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in fields]}


def _of_avro(tree: dict[str, Any], body: Callable[[random.Random], bytes]) -> _Writer:
    parsed = fastavro.parse_schema(tree)

    def mean(payload: bytes) -> Verdict:
        stream = io.BytesIO(payload)
        try:
            found: Any = fastavro.schemaless_reader(stream, parsed, None)
        except (EOFError, IndexError, ValueError, OverflowError, StopIteration) as exc:
            return Refusal(repr(exc))
        if stream.tell() < len(payload):
            return Refusal("bytes are left over")
        # fastavro does not look whether a number is an int.
        is_int = {"name": "n", "type": "int"} in tree["fields"]
        if is_int and not -(1 << 31) <= found["n"] < 1 << 31:
            return Refusal("no int")
        return [found.get(name) for name in SCHEMA.names]

    return _Writer(RegisteredSchema("AVRO", json.dumps(tree)), body, mean)


def _texts(rng: random.Random) -> list[bytes]:
    return [some_text(rng) for _ in range(rng.randint(0, 3))]


def _of_protobuf(text: str, path: bytes, names: list[str]) -> _Writer:
    registered = proto3(text)
    # In the order of their indexes; the message inside of the second is [1, 0].
    classes = [message_class(registered, name) for name in names]
    types = {(place,): each for place, each in enumerate(classes)}
    types |= {
        (place, n): getattr(each, inner.name)
        for (place,), each in list(types.items())
        for n, inner in enumerate(each.DESCRIPTOR.nested_types)
    }
    of_path = {b"\0": (0,), b"\2\2": (1,), b"\4\2\0": (1, 0)}

    def body(rng: random.Random) -> bytes:
        texts = [each.decode() for each in _texts(rng)]
        made = types[of_path[path]](n=rng.randrange(-(1 << 31), 1 << 31), l=texts)
        if rng.random() < 0.8:
            made.t = some_text(rng).decode()
        return path + bytes(made.SerializeToString())

    def mean(payload: bytes) -> Verdict:
        try:
            place, at = _index(payload)
            made = types[place].FromString(payload[at:])
        except (KeyError, IndexError, ValueError, DecodeError) as exc:
            return Refusal(repr(exc))
        return [_field(made, name) for name in SCHEMA.names]

    return _Writer(registered, body, mean)


def _field(message: Any, name: str) -> Any:
    found = getattr(message, name, None)
    return found if found is None or isinstance(found, int | str) else list(found)


def _index(body: bytes) -> tuple[tuple[int, ...], int]:
    count, at = _zigzag(body, 0)
    if not 0 <= count <= _DEEPEST_PATH:
        raise ValueError(count)
    path = []
    for _ in range(count):
        index, at = _zigzag(body, at)
        path.append(index)
    return tuple(path) or (0,), at


def _index_size(body: bytes) -> int:
    return _index(body)[1]


def _zigzag(body: bytes, at: int) -> tuple[int, int]:
    told, shift = 0, 0
    while True:
        byte = body[at]
        told |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (told >> 1) ^ -(told & 1), at


def _of_json(payload: bytes) -> Verdict:
    decoded = decode_exactly(pa.array([payload], pa.binary()), SCHEMA)
    return Refusal(decoded.faults[0].reason) if decoded.faults else plain_rows(decoded.rows)[0]


def _json_body(rng: random.Random) -> bytes:
    row = {"n": rng.randrange(-(1 << 63), 1 << 63), "t": some_text(rng).decode(), "more": [None]}
    return json.dumps({**row, "l": [each.decode() for each in _texts(rng)]}).encode()


_TEXTS: Final = {"type": "array", "items": "string"}
_PROTO: Final = "int64 n = 1; string t = 2; repeated string l = 3;"
_OTHER_PROTO: Final = (
    "message A { string x = 1; } "
    "message B { repeated string l = 7; message C { %s } sint32 n = 4; string t = 5; }"
)

_WRITERS: Final = (
    _of_avro(
        _avro(("n", "long"), ("t", ["null", "string"]), ("l", _TEXTS)),
        lambda rng: (
            number(rng.randrange(-(1 << 63), 1 << 63))
            + rng.choice([b"\0", b"\2" + counted(some_text(rng))])
            + blocks(rng, [counted(each) for each in _texts(rng)])
        ),
    ),
    _of_avro(
        _avro(("l", _TEXTS), ("x", "double"), ("n", "int")),
        lambda rng: (
            blocks(rng, [counted(each) for each in _texts(rng)])
            + rng.randbytes(8)
            + number(rng.randrange(-(1 << 31), 1 << 31))
        ),
    ),
    _Writer(RegisteredSchema("AVRO", json.dumps(_avro(("n", "string")))), None, _nobody),
    _Writer(RegisteredSchema("JSON", "{}"), _json_body, _of_json),
    _Writer(RegisteredSchema("JSON", '{"type": "object"}'), _json_body, _of_json),
    _of_protobuf(f"message A {{ {_PROTO} }}", b"\0", ["A"]),
    _of_protobuf(_OTHER_PROTO % _PROTO, b"\2\2", ["A", "B"]),
    _of_protobuf(_OTHER_PROTO % _PROTO, b"\4\2\0", ["A", "B"]),
    _Writer(proto3("message A { string n = 1; }"), None, _nobody),
)
