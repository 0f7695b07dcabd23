"""Arrays, maps, unions and chains of random Avro types, for the shapes that a record is made of.

A union's branches and a map's entries are records in the plain schema: the same bytes, and
fastavro then says which branch it took and forgets no entry. Records are made elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from tests.fuzz.avro_bytes import blocks, counted, number, some_double, some_float, some_int, some_text
from tests.fuzz.avro_shapes import MisfitError, Names, Shape, some_uuid, uuid_bytes, within
from tests.fuzz.frame import plain_float


def array(rng: random.Random, names: Names, item: Shape) -> Shape:
    return Shape(
        {"type": "array", "items": item.avro},
        {"type": "array", "items": item.plain},
        {"type": "array", "items": item.skipped},
        pa.list_(pa.field("element", item.wanted)),
        lambda rng: blocks(rng, [item.write(rng) for _ in range(rng.choice([0, 1, 3]))]),
        lambda values: [item.mean(value) for value in values],
    )


def mapping(rng: random.Random, names: Names, item: Shape) -> Shape:
    has_uuids = rng.random() < 0.2
    some_key, wanted = (some_uuid, pa.uuid()) if has_uuids else (some_text, pa.string())
    kind, mean_key = ("bytes", uuid_bytes) if has_uuids else ("string", str)

    def entries(key: str, value: Any) -> dict[str, Any]:
        fields = [{"name": "k", "type": key}, {"name": "v", "type": value}]
        return {"type": "array", "items": {"type": "record", "name": names.fresh("entry"), "fields": fields}}

    def write(rng: random.Random) -> bytes:
        keys = {some_key(rng) for _ in range(rng.choice([0, 1, 3, 20]))}
        return blocks(rng, [counted(key) + item.write(rng) for key in sorted(keys)])

    def mean(values: list[dict[str, Any]]) -> list[Any]:
        found = [[mean_key(each["k"]), item.mean(each["v"])] for each in values]
        if len({key for key, _ in found}) < len(found):
            raise MisfitError("key twice")
        return found

    return Shape(
        {"type": "map", "values": item.avro},
        entries(kind, item.plain),
        entries("bytes", item.skipped),
        pa.map_(wanted, item.wanted),
        write,
        mean,
    )


def optional(rng: random.Random, names: Names, shape: Shape) -> Shape:
    """Null or a value, in either order; a union in a union is left as it is."""
    if isinstance(shape.avro, list):
        return shape
    null = Shape("null", "null", "null", shape.wanted, lambda rng: b"", lambda value: value)
    return _union(names, [null, shape] if rng.random() < 0.7 else [shape, null])


def several(rng: random.Random, names: Names) -> Shape:
    """A union of types that all become one column, without null among them or with it."""
    wanted, all_branches = rng.choice(_SEVERAL)
    chosen = rng.sample(all_branches, rng.randint(1, len(all_branches)))
    return _union(
        names,
        [Shape(avro, plain, skipped, wanted, write, mean) for avro, plain, skipped, write, mean in chosen],
    )


def _union(names: Names, branches: Sequence[Shape]) -> Shape:
    def boxes(kinds: Sequence[Any]) -> list[Any]:
        called = names.fresh("box")
        return [
            {"type": "record", "name": f"{called}_{place}", "fields": [{"name": "v", "type": kind}]}
            for place, kind in enumerate(kinds)
        ]

    def write(rng: random.Random) -> bytes:
        branch = rng.randrange(len(branches))
        return number(branch) + branches[branch].write(rng)

    def mean(value: tuple[str, dict[str, Any]]) -> Any:
        name, box = value
        return branches[int(name.rpartition("_")[2])].mean(box["v"])

    plain, skipped = boxes([each.plain for each in branches]), boxes([each.skipped for each in branches])
    return Shape([each.avro for each in branches], plain, skipped, branches[0].wanted, write, mean)


def _whole_double(bits: int) -> Callable[[int], str]:
    return lambda value: plain_float(float(within(-(1 << bits - 1), (1 << bits - 1) - 1, value)))


def _nothing(value: Any) -> None:
    assert value is None


_SEVERAL: list[tuple[pa.DataType, list[Any]]] = [
    (
        pa.float64(),
        [
            ("null", "null", "null", lambda rng: b"", _nothing),
            ("int", "long", "long", lambda rng: number(some_int(rng, 32)), _whole_double(32)),
            ("long", "long", "long", lambda rng: number(some_int(rng, 64)), _whole_double(64)),
            ("float", "float", "float", some_float, plain_float),
            ("double", "double", "double", some_double, plain_float),
        ],
    ),
    (
        pa.string(),
        [
            ("null", "null", "null", lambda rng: b"", _nothing),
            ("string", "string", "bytes", lambda rng: counted(some_text(rng)), str),
            ("bytes", "string", "bytes", lambda rng: counted(some_text(rng)), str),
        ],
    ),
]


def chain(rng: random.Random, names: Names) -> Shape:
    """A record that may stand inside of itself, which nobody can want."""

    def link() -> dict[str, Any]:
        name = names.fresh("link")
        fields = [
            {"name": "next", "type": ["null", name]},
            {"name": "more", "type": {"type": "array", "items": name}},
        ]
        return {"type": "record", "name": name, "fields": fields}

    def write(rng: random.Random, depth: int = 0) -> bytes:
        more = depth < 3 and rng.random() < 0.5
        following = number(1) + write(rng, depth + 1) if more else number(0)
        return following + blocks(
            rng, [write(rng, depth + 1) for _ in range(rng.randint(0, 2) if more else 0)]
        )

    return Shape(link(), link(), link(), pa.null(), write, lambda value: value)
