"""Schemas that records may name in one topic, bodies of them, and what a body means.

What a body means is asked of fastavro, Google's runtime and the exact JSON decoder, one at a time. Nothing
here knows how a record names its schema.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import pyarrow as pa
from google.protobuf.message import DecodeError

from hotset.decode.json.json_exact import decode_exactly
from hotset.registry.registered_schema import RegisteredSchema
from tests.fuzz.avro_bytes import blocks, counted, number, some_text
from tests.fuzz.avro_shapes import MisfitError, some_uuid, uuid_bytes
from tests.fuzz.frame import Refusal, Verdict, plain_rows
from tests.hotset.proto import message_class, proto3

SCHEMA: Final = pa.schema(
    [("n", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.string())), ("u", pa.uuid())]
)
_DEEPEST_PATH: Final = 100


@dataclass(frozen=True, slots=True)
class Writer:
    """A schema; bodies of it, and what they mean. One that no row can be made of has neither."""

    registered: RegisteredSchema
    body: Callable[[random.Random], bytes] | None
    mean: Callable[[bytes], Verdict]


def _nobody(_body: bytes) -> Verdict:
    return Refusal("no row can be made of its schema")


def _avro(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": n, "type": t} for n, t in fields]}


def _of_avro(tree: dict[str, Any], body: Callable[[random.Random], bytes]) -> Writer:
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
        try:
            found["u"] = uuid_bytes(found["u"].encode()) if "u" in found else None
        except MisfitError:
            return Refusal("no UUID")
        return [found.get(name) for name in SCHEMA.names]

    return Writer(RegisteredSchema("AVRO", json.dumps(tree)), body, mean)


def _texts(rng: random.Random) -> list[bytes]:
    return [some_text(rng) for _ in range(rng.randint(0, 3))]


def _of_protobuf(text: str, path: bytes, names: list[str]) -> Writer:
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
        if path == b"\0":
            made.u = some_uuid(rng).decode()
        return path + bytes(made.SerializeToString())

    def mean(payload: bytes) -> Verdict:
        try:
            place, at = _index(payload)
            made = types[place].FromString(payload[at:])
        except (KeyError, IndexError, ValueError, DecodeError) as exc:
            return Refusal(repr(exc))
        try:
            return [_field(made, name) for name in SCHEMA.names]
        except MisfitError:
            return Refusal("no UUID")

    return Writer(registered, body, mean)


def _field(message: Any, name: str) -> Any:
    found = getattr(message, name, None)
    if name == "u":
        return uuid_bytes(found.encode()) if found is not None and message.HasField("u") else None
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


def index_size(body: bytes) -> int:
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
    row |= {"u": some_uuid(rng).decode()} if rng.random() < 0.5 else {}
    return json.dumps({**row, "l": [each.decode() for each in _texts(rng)]}).encode()


_TEXTS: Final = {"type": "array", "items": "string"}
_PROTO: Final = "int64 n = 1; string t = 2; repeated string l = 3;"
_OTHER_PROTO: Final = (
    "message A { string x = 1; } "
    "message B { repeated string l = 7; message C { %s } sint32 n = 4; string t = 5; }"
)

WRITERS: Final = (
    _of_avro(
        _avro(("n", "long"), ("t", ["null", "string"]), ("l", _TEXTS), ("u", "string")),
        lambda rng: (
            number(rng.randrange(-(1 << 63), 1 << 63))
            + rng.choice([b"\0", b"\2" + counted(some_text(rng))])
            + blocks(rng, [counted(each) for each in _texts(rng)])
            + counted(some_uuid(rng))
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
    Writer(RegisteredSchema("AVRO", json.dumps(_avro(("n", "string")))), None, _nobody),
    Writer(RegisteredSchema("JSON", "{}"), _json_body, _of_json),
    Writer(RegisteredSchema("JSON", '{"type": "object"}'), _json_body, _of_json),
    _of_protobuf(f"message A {{ {_PROTO} optional string u = 4; }}", b"\0", ["A"]),
    _of_protobuf(_OTHER_PROTO % _PROTO, b"\2\2", ["A", "B"]),
    _of_protobuf(_OTHER_PROTO % _PROTO, b"\4\2\0", ["A", "B"]),
    Writer(proto3("message A { string n = 1; }"), None, _nobody),
)
