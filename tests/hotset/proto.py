"""Protobuf schemas as a registry hands them out, messages of them, and rows of bodies.

Nothing here says what a record means; messages are made by the runtime.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from hotset.decode.decoded import Decoded
from hotset.decode.protobuf.descriptors import describe
from hotset.decode.protobuf.protobuf_compiler import compile_protobuf
from hotset.registry.registered_schema import RegisteredSchema


def registered(text: str, *references: tuple[str, RegisteredSchema]) -> RegisteredSchema:
    return RegisteredSchema("PROTOBUF", text, references)


def proto3(text: str) -> RegisteredSchema:
    return registered('syntax = "proto3"; ' + text)


def message_class(writer: RegisteredSchema, name: str) -> Any:
    return GetMessageClass(describe(writer).message_types_by_name[name])


def only_field(
    declaration: str, *, around: str = "", syntax: str = "proto3", imports: str = ""
) -> RegisteredSchema:
    """A schema whose first message has one field, `c`."""
    imported = "".join(f'import "{name}"; ' for name in imports.split())
    return registered(f'syntax = "{syntax}"; {imported} message M {{ {declaration} }} {around}')


def decode(writer: RegisteredSchema, schema: pa.Schema, *bodies: bytes | None) -> Decoded:
    decoder: Callable[[pa.BinaryArray], Decoded] = compile_protobuf(writer, schema)
    decoded = decoder(pa.array(bodies, pa.binary()))
    assert decoded.rows.schema == schema
    assert decoded.rows.num_rows == len(bodies)
    decoded.rows.validate(full=True)
    for fault in decoded.faults:
        assert all(column[fault.row].as_py() is None for column in decoded.rows.columns)
    return decoded


def cell(writer: RegisteredSchema, wanted: pa.DataType, message: bytes) -> Any:
    """The value of column `c`, or the reason why there is none."""
    decoded = decode(writer, pa.schema([("c", wanted)]), b"\0" + message)
    if decoded.faults:
        return decoded.faults[0].reason
    return decoded.rows.column("c")[0].as_py()
