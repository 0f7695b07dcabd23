"""Avro records: both interpreters against fastavro, on random schemas.

Records are nested, with fields that no column wants, columns that no field fills, old
names, and defaults of a newer schema. fastavro reads the bytes; `avro_shapes` says what
the raw values mean. Where fastavro takes what is no Avro, a rule below says so.
"""

from __future__ import annotations

import functools
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import pyarrow as pa

from hotset.decode.avro.avro_compiler import compile_program
from hotset.decode.avro.avro_native import is_native, native_runner
from hotset.decode.avro.avro_python import python_runner
from hotset.registry.registered_schema import RegisteredSchema
from tests.fuzz.avro_nested import array, chain, mapping, optional, several
from tests.fuzz.avro_shapes import MisfitError, Names, Shape, other, whole
from tests.fuzz.frame import Refusal, Round, Verdict

# fastavro reads on where the specification has nothing to read.
STRICTER: Final = {
    "holds a number longer than any number is": "a varint of more than ten bytes is cut by fastavro",
    r"holds branch -\d+ of a union": "a negative branch counts from a union's end in fastavro",
    "block whose items are not as long as it says": "the size of a block is not looked at by fastavro",
    "says that it has 9223372036854775807 items": "fastavro takes the least of all counts for none",
    "nested more than 200 levels deep": "records nested in themselves are read to any depth by fastavro",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """A field of a record: what it is, what it is called, and whether a column wants it."""

    shape: Shape
    name: str
    column: str
    is_wanted: bool


def make_round(rng: random.Random) -> Round:
    """Return records of a few random fields."""
    names = Names()
    record = _record(rng, names, depth=0)
    absent = [
        pa.field(f"absent{n}", wanted)
        for n, wanted in enumerate(rng.sample(_ABSENT_TYPES, rng.randint(0, 2)))
    ]
    newest, defaults = _newest(rng, absent)
    schema = pa.schema([*record.wanted, *absent])
    writer = RegisteredSchema("AVRO", json.dumps(record.avro))
    program = compile_program(writer, schema, newest)
    paths: dict[str, Callable[[pa.BinaryArray], Any]] = {"python": python_runner(program)}
    if is_native():
        paths = {"native": native_runner(program), **paths}
    return Round(
        about=f"{writer.text}\n  newest {newest and newest.text}\n  columns {schema}",
        schema=schema,
        record=record.write,
        paths=paths,
        reference=functools.partial(_meaning, fastavro.parse_schema(record.plain), record, defaults),
        stricter=STRICTER,
    )


_UUID: Final = "01234567-89ab-cdef-0123-456789abcdef"
_ABSENT_TYPES: Final[Sequence[pa.DataType]] = (
    pa.int64(),
    pa.string(),
    pa.float64(),
    pa.bool_(),
    pa.uuid(),
)
_DEFAULTS: Final[dict[pa.DataType, tuple[Any, Any, Any]]] = {
    pa.int64(): ("int", 7, 7),
    pa.string(): (["null", "string"], None, None),
    pa.float64(): ("long", 3, (3.0).hex()),
    pa.bool_(): (["boolean", "null"], True, True),
    pa.uuid(): (
        {"type": "string", "logicalType": "uuid"},
        _UUID.upper(),
        bytes.fromhex(_UUID.replace("-", "")),
    ),
}


def _newest(rng: random.Random, absent: Sequence[pa.Field]) -> tuple[RegisteredSchema | None, list[Any]]:
    if rng.random() < 0.5:
        return None, [None] * len(absent)
    fields = [{"name": f.name, "type": _DEFAULTS[f.type][0], "default": _DEFAULTS[f.type][1]} for f in absent]
    tree = {"type": "record", "name": "newest", "fields": fields}
    return RegisteredSchema("AVRO", json.dumps(tree)), [_DEFAULTS[f.type][2] for f in absent]


def _meaning(plain: Any, record: Shape, defaults: Sequence[Any], payload: bytes) -> Verdict:
    stream = io.BytesIO(payload)
    try:
        raw = fastavro.schemaless_reader(stream, plain, None, return_record_name=True)
        if stream.tell() < len(payload):
            return Refusal("bytes are left over")
        return [*record.mean(raw).values(), *defaults]
    except (
        MisfitError,
        EOFError,
        IndexError,
        ValueError,
        OverflowError,
        RecursionError,
        StopIteration,
    ) as exc:
        return Refusal(repr(exc))


def _shape(rng: random.Random, names: Names, depth: int) -> Shape:
    choice = rng.random()
    if depth > 2 or choice < 0.55:
        return rng.choice([whole, other, other])(rng, names)
    if choice < 0.72:
        return optional(rng, names, _shape(rng, names, depth + 1))
    if choice < 0.78:
        return several(rng, names)
    if choice < 0.85:
        return array(rng, names, _shape(rng, names, depth + 1))
    if choice < 0.92:
        return mapping(rng, names, _shape(rng, names, depth + 1))
    return _record(rng, names, depth + 1)


def _record(rng: random.Random, names: Names, depth: int) -> Shape:
    parts = []
    for place in range(rng.randint(1, 8 if depth == 0 else 3)):
        column = f"c{place}" if rng.random() < 0.15 else f"f{place}"
        parts.append(_Part(_shape(rng, names, depth), f"f{place}", column, is_wanted=rng.random() < 0.75))
    if rng.random() < 0.1:
        parts.insert(rng.randint(0, len(parts)), _Part(chain(rng, names), "chain", "chain", is_wanted=False))
    wanted = [part for part in parts if part.is_wanted]
    rng.shuffle(wanted)

    def mean(value: dict[str, Any]) -> dict[str, Any]:
        # In the order of the bytes, as both would find what does not fit.
        found = {part.column: part.shape.mean(value[part.name]) for part in parts if part.is_wanted}
        return {part.column: found[part.column] for part in wanted}

    return Shape(
        _avro_record(names, [_avro_field(part) for part in parts]),
        _avro_record(
            names, [_field(p.name, p.shape.plain if p.is_wanted else p.shape.skipped) for p in parts]
        ),
        _avro_record(names, [_field(p.name, p.shape.skipped) for p in parts]),
        pa.struct([pa.field(part.column, part.shape.wanted) for part in wanted]),
        lambda rng: b"".join(part.shape.write(rng) for part in parts),
        mean,
    )


def _avro_field(part: _Part) -> dict[str, Any]:
    return _field(part.name, part.shape.avro) | (
        {"aliases": [part.column]} if part.column != part.name else {}
    )


def _field(name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro}


def _avro_record(names: Names, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": names.fresh("record"), "fields": fields}
