"""Default values of a schema as the bytes that a record would have held.

So a default takes the same way into a column as a value, with the same checks, and
interpreters need to know nothing of JSON.
"""

from __future__ import annotations

import struct
from typing import Any

from hotset.decode.avro.avro_schema import Array, AvroType, Map, NoDefault, Record, Scalar, Union, resolve
from hotset.errors import SchemaMismatchError

_INTEGERS = {"int": 1 << 31, "long": 1 << 63}
_FLOATS = {"float": "<f", "double": "<d"}


def encode_default(value: Any, avro: AvroType, path: str) -> bytes:
    """Return a field's default as Avro.

    Raises:
        SchemaMismatchError: It is no value of the field's type.
    """
    try:
        return _encode(value, avro)
    except (_NoValueError, OverflowError, ValueError, RecursionError):
        raise SchemaMismatchError(
            f"the newest Avro schema has a default for {path!r} that is no value of its type; "
            "correct the default"
        ) from None


class _NoValueError(Exception):
    """The value is not of the type."""


def _encode(value: Any, avro: AvroType) -> bytes:
    found = resolve(avro)
    if isinstance(found, Scalar):
        return _scalar(value, found)
    if isinstance(found, Union):
        return _union(value, found)
    if isinstance(found, Array) and isinstance(value, list):
        return _blocks([_encode(item, found.items) for item in value])
    if isinstance(found, Map) and isinstance(value, dict):
        return _blocks([_counted(key.encode()) + _encode(item, found.values) for key, item in value.items()])
    if isinstance(found, Record) and isinstance(value, dict):
        return b"".join(_encode(value.get(each.name, each.default), each.type) for each in found.fields)
    raise _NoValueError


def _union(value: Any, union: Union) -> bytes:
    # Of the first branch, said the specification for long; of any, it says now.
    for place, branch in enumerate(union.branches):
        try:
            return _number(place) + _encode(value, branch)
        except (_NoValueError, OverflowError, ValueError):
            continue
    raise _NoValueError


def _scalar(value: Any, scalar: Scalar) -> bytes:
    kind = scalar.kind
    if value is NoDefault:
        raise _NoValueError
    if kind == "null" and value is None:
        return b""
    if kind == "boolean" and isinstance(value, bool):
        return bytes([value])
    if kind in _INTEGERS and type(value) is int and -_INTEGERS[kind] <= value < _INTEGERS[kind]:
        return _number(value)
    if kind in _FLOATS and type(value) in (int, float):
        return struct.pack(_FLOATS[kind], value)
    if isinstance(value, str):
        return _text(value, scalar)
    raise _NoValueError


def _text(value: str, scalar: Scalar) -> bytes:
    if scalar.kind == "string":
        return _counted(value.encode())
    if scalar.kind == "enum" and value in scalar.symbols:
        return _number(scalar.symbols.index(value))
    if scalar.kind == "bytes":
        return _counted(value.encode("latin-1"))
    if scalar.kind == "fixed" and len(value) == scalar.size:
        return value.encode("latin-1")
    raise _NoValueError


def _blocks(items: list[bytes]) -> bytes:
    return (_number(len(items)) + b"".join(items) if items else b"") + b"\0"


def _counted(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)
