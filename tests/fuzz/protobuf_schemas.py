"""Random Protobuf schemas, columns for them, and messages whose values mostly fit.

A schema is a function of a number, so that compiling it is worth keeping. Nothing
here decodes.
"""

from __future__ import annotations

import functools
import random
import struct
import uuid
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hotset.decode.protobuf.descriptors import describe
from hotset.registry.registered_schema import RegisteredSchema

SCHEMAS: Final = 48
_HEADS: Final = ('syntax = "proto3";', 'syntax = "proto2";', 'edition = "2023";')
_IMPORTS: Final = "".join(
    f'import "{name}.proto"; '
    for name in (
        "google/protobuf/timestamp",
        "google/protobuf/wrappers",
        "google/protobuf/any",
        "google/protobuf/struct",
        "google/type/date",
        "google/type/timeofday",
        "confluent/type/decimal",
    )
)
_INTEGERS: Final = [f"{sign}int{width}" for sign in ("", "s", "u") for width in (32, 64)]
_FIXED: Final = [f"{sign}fixed{width}" for sign in ("", "s") for width in (32, 64)]
_SCALARS: Final = [*_INTEGERS, *_FIXED, "bool", "float", "double", "string", "string", "bytes", "E"]
_MESSAGES: Final = [
    "google.protobuf.Timestamp",
    *(f"google.protobuf.{name}Value" for name in ("Int32", "UInt64", "String", "Double", "Bool", "Bytes")),
    "google.protobuf.Any",
    "google.protobuf.Value",
    "google.type.Date",
    "google.type.TimeOfDay",
    "confluent.type.Decimal",
]
_RECURSIVE: Final = (
    "M",
    "google.protobuf.ListValue",
    "google.protobuf.Struct",
    "google.protobuf.Value",
)
_INSTANTS: Final = [
    pa.timestamp("us", tz="UTC"),
    pa.timestamp("us"),
    pa.timestamp("ns", tz="UTC"),
    pa.timestamp("ns"),
]
_NUMBERS: Final = [pa.int32(), pa.int64(), pa.int64(), pa.decimal128(20, 0), pa.decimal128(9, 3)]
_LONGS: Final = ("int64", "sint64", "sfixed64")
_OF_MESSAGE: Final = {
    "google.protobuf.Timestamp": _INSTANTS,
    "google.type.Date": [pa.date32()],
    "google.type.TimeOfDay": [pa.time64("us")],
    "confluent.type.Decimal": [pa.decimal128(12, 4)],
}
_NAMES: Final = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


@functools.cache
def message_of(number: int) -> Descriptor:
    """The message type of schema `number`."""
    rng = random.Random(number)
    syntax = number % len(_HEADS)
    text = (
        f"{_HEADS[syntax]} {_IMPORTS} enum E {{ ZERO = 0; ONE = 1; MINUS = -1; MANY = 1000; }} "
        f"message M {{ {_fields(rng, syntax, ['S', 'T', 'M'])} }} "
        f"message S {{ {_fields(rng, syntax, ['T'])} }} "
        f"message T {{ {_fields(rng, syntax, ['M'])} }}"
    )
    return describe(RegisteredSchema("PROTOBUF", text)).message_types_by_name["M"]


def _fields(rng: random.Random, syntax: int, messages: list[str]) -> str:
    numbers = rng.sample([*range(1, 16), 16, 31, 2047, 2048, 536870911], rng.randint(2, 9))
    label = ("", "optional ", "")[syntax]
    written = []
    for place, number in enumerate(numbers):
        kind = rng.choice(_SCALARS if rng.random() < 0.6 else [*_MESSAGES, *messages * 3])
        shape = rng.random()
        name = f"f{place} = {number}"
        if shape < 0.2:
            written.append(f"repeated {kind} {name};")
        elif shape < 0.35:
            key = rng.choice([*_INTEGERS, *_FIXED, "bool", "string", "string"])
            written.append(f"map<{key}, {kind}> {name};")
        elif shape < 0.5:
            written.append(f"oneof o{place // 3}x{place} {{ {kind} {name}; }}")
        elif syntax == 0 and shape < 0.6:
            written.append(f"optional {kind} {name};")
        elif syntax == 1 and shape < 0.55 and kind in _SCALARS:
            written.append(f"required {kind} {name};")
        elif syntax == 1 and shape < 0.62 and kind in _INTEGERS:
            written.append(f"optional {kind} {name} [default = {rng.randrange(9)}];")
        else:
            written.append(f"{label}{kind} {name};")
    chosen = " ".join(rng.choice(_SCALARS) + f" m{n} = {n};" for n in rng.sample(range(100, 120), 3))
    rest = f"S m99 = 99; {chosen}" if "S" in messages else chosen
    end = "extensions 200 to 300;" if syntax == 1 and rng.random() < 0.3 else ""
    return f"{' '.join(written)} oneof several {{ {rest} }} {end}"


def column_for(rng: random.Random, field: FieldDescriptor, depth: int) -> pa.DataType | None:
    """A type that the field can become, or None if it shall not be a column."""
    held = field.message_type
    if not field.is_repeated:
        return _single(rng, field, depth)
    if held is not None and held.GetOptions().map_entry:
        key = _single(rng, held.fields_by_name["key"], depth)
        value = _single(rng, held.fields_by_name["value"], depth)
        return None if value is None else pa.map_(key, value)
    item = _single(rng, field, depth)
    return None if item is None else pa.list_(item)


def _single(rng: random.Random, field: FieldDescriptor, depth: int) -> pa.DataType | None:
    held = field.message_type
    if held is None:
        return _scalar(rng, field)
    name = held.full_name
    if name in _RECURSIVE:
        return None
    if name in _MESSAGES and name.endswith("Value"):
        return _scalar(rng, held.fields_by_name["value"])
    if name in _OF_MESSAGE and rng.random() < 0.8:
        return rng.choice(_OF_MESSAGE[name])
    if depth > 2:
        return None
    found = columns_for(rng, held, depth + 1)
    return pa.struct(found) if found else None


def columns_for(rng: random.Random, message: Descriptor, depth: int = 0) -> list[pa.Field]:
    """Columns for some of the fields, and now and then one that messages do not have."""
    chosen = rng.sample(list(message.fields), rng.randint(1, len(message.fields)))
    found = [(field.name, column_for(rng, field, depth)) for field in chosen]
    columns = [pa.field(name, wanted) for name, wanted in found if wanted is not None]
    return [*columns, pa.field("nobody", pa.string())] if rng.random() < 0.2 else columns


def _scalar(rng: random.Random, field: FieldDescriptor) -> pa.DataType:
    kind = _NAMES[field.type]
    if kind in ("float", "double"):
        return rng.choice([pa.float64(), pa.float32()] if kind == "double" else [pa.float32()])
    fixed = {"bool": pa.bool_(), "string": pa.string(), "bytes": pa.binary()}
    if _is_uuid(field) and rng.random() < 0.5:
        return pa.uuid()
    if kind in fixed:
        return fixed[kind]
    if kind == "enum":
        return rng.choice([pa.string(), pa.int32()])
    return rng.choice([*_NUMBERS, *_INSTANTS[::2]] if kind in _LONGS else _NUMBERS)


def _is_uuid(field: FieldDescriptor) -> bool:
    """Whether messages mostly have UUIDs there, as text or as bytes."""
    is_chosen = sum(map(ord, field.full_name)) % 3 == 0
    return is_chosen and _NAMES[field.type] in ("string", "bytes")


def fill(rng: random.Random, message: Any, depth: int = 0) -> None:
    """Set some fields of a message, and all that it requires."""
    for field in message.DESCRIPTOR.fields:
        is_left_out = rng.random() < (0.1 if _is_uuid(field) else 1)
        if not field.is_required and is_left_out and rng.random() < (0.4 if depth < 3 else 0.9):
            continue
        held, name = field.message_type, field.name
        if held is not None and held.GetOptions().map_entry:
            _fill_map(rng, getattr(message, name), held, depth)
        elif held is not None and field.is_repeated:
            for _ in range(rng.randint(0, 3)):
                fill(rng, getattr(message, name).add(), depth + 1)
        elif held is not None:
            getattr(message, name).SetInParent()
            fill(rng, getattr(message, name), depth + 1)
        elif field.is_repeated:
            getattr(message, name).extend(_value(rng, field) for _ in range(rng.randint(0, 4)))
        else:
            setattr(message, name, _value(rng, field))


def _fill_map(rng: random.Random, entries: Any, entry: Descriptor, depth: int) -> None:
    for _ in range(rng.randint(0, 3)):
        key, value = _value(rng, entry.fields_by_name["key"]), entry.fields_by_name["value"]
        if value.message_type is not None:
            fill(rng, entries[key], depth + 1)
        else:
            entries[key] = _value(rng, value)


def _value(rng: random.Random, field: FieldDescriptor) -> Any:
    kind = _NAMES[field.type]
    if kind == "bool":
        return rng.random() < 0.5
    if _is_uuid(field) and rng.random() < 0.97:
        found = uuid.UUID(int=rng.randrange(3)) if rng.random() < 0.1 else uuid.UUID(bytes=rng.randbytes(16))
        return found.bytes if kind == "bytes" else rng.choice([str(found), str(found), str(found).upper()])
    if kind == "string":
        return "".join(rng.choice("abc é😀\0") for _ in range(rng.randint(0, 12)))
    if kind == "bytes":
        return rng.randbytes(rng.randint(1, 5))
    if kind == "enum":
        return rng.choice([0, 1, -1, 1000])
    if kind in ("float", "double"):
        return struct.unpack("<f", rng.randbytes(4))[0] if rng.random() < 0.5 else rng.gauss(0, 1e6)
    if field.name in ("month", "day", "hours", "minutes", "scale"):
        return rng.randrange(1, 4)
    if field.name == "nanos":
        return rng.randrange(1_000_000) * 1000 + rng.choice([0, 0, 0, rng.randrange(1000)])
    if field.name == "seconds" and rng.random() < 0.2:
        return rng.randrange(60) if kind == "int32" else rng.randrange(-(10**10), 10**10)
    if rng.random() < 0.9:
        return rng.randrange(1000)
    bits = 31 if "32" in kind else 63
    return rng.randrange(2 ** (bits + 1)) if kind[0] in "uf" else rng.randrange(-(2**bits), 2**bits)
