"""A plan as the numbers that the C interpreter runs on (`hotset/native/protobuf/program.h`).

A message that is wanted is compiled once for each place where it is, because its
values go to builders of that place; one that is only checked is compiled once, so
a recursive message ends. This file must not know how a program is run.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from hotset.decode.builders import Builder, Kind
from hotset.decode.protobuf.protobuf_plan import UNITS, Form, Part, Shape, Value

_MOST_REQUIRED: Final = 62


@dataclass(frozen=True, slots=True)
class Program:
    """One message type, compiled.

    Attributes:
        numbers: All the interpreter needs but texts.
        blob: Names of enums, and defaults.
        builders: What is filled; those of the columns come first, and children are side by side.
        schema: The columns wanted.
    """

    numbers: array[int]
    blob: bytes
    builders: tuple[Builder, ...]
    schema: pa.Schema


class NotCompiledError(Exception):
    """The message has what the interpreter leaves to the reference."""


# What a well-known message's value is made of, in the order of its slots.
_KEPT: Final = {
    Form.TIMESTAMP: ("seconds", "nanos"),
    Form.DATE: ("year", "month", "day"),
    Form.TIME_OF_DAY: ("hours", "minutes", "seconds", "nanos"),
    Form.DECIMAL: ("value", "scale"),
}
_FORMS: Final = {form: number for number, form in enumerate(Form, start=1)}
_SHAPES: Final = {Shape.SINGLE: 0, Shape.LIST: 1, Shape.MAP: 2}
_IS_KEPT: Final = 0


def compile_program(message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> Program:
    """Return the program that fills columns from messages of one type.

    Raises:
        NotCompiledError: Only the reference can read such messages.
    """
    return _Compiler().compile(message, parts, schema)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a field's values go and how, and the builder of the list or map around them."""

    slot: int
    form: int = _IS_KEPT
    builder: int = -1
    around: int = -1
    message: int = -1
    must: bool = False
    value: Value | None = None


class _Compiler:
    def __init__(self) -> None:
        self._builders: list[Builder] = []
        self._messages: list[tuple[int, ...]] = []
        self._fields: list[tuple[int, ...]] = []
        self._names: list[tuple[int, int, int]] = []
        self._absents: list[int] = []
        self._blob = bytearray()
        self._slots = 0
        self._checked: dict[str, int] = {}
        self._name_tables: dict[str, tuple[int, int]] = {}

    def compile(self, message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> Program:
        columns = self._new_builders(list(schema))
        self._message(message, parts, columns)
        builders = [_packed(builder) for builder in self._builders]
        sections = (builders, self._messages, self._fields, self._names)
        header = [*(len(section) for section in sections), len(self._absents), self._slots, len(schema)]
        rows = [number for section in sections for row in section for number in row]
        return Program(
            numbers=array("q", [*header, *rows, *self._absents]),
            blob=bytes(self._blob) or b"\0",
            builders=tuple(self._builders),
            schema=schema,
        )

    def _new_builders(self, fields: list[pa.Field]) -> tuple[int, ...]:
        places = tuple(range(len(self._builders), len(self._builders) + len(fields)))
        made = [
            Builder(field.name, *_kept_as(field.type), field.nullable, (), field.type) for field in fields
        ]
        self._builders += made
        for place, builder in zip(places, made, strict=True):
            self._builders[place] = replace(builder, children=self._new_builders(_parts_of(builder.type)))
        return places

    def _message(self, message: Descriptor, parts: tuple[Part, ...], builders: tuple[int, ...]) -> int:
        index = self._new_message()
        targets: dict[str, _Target] = {}
        absents = []
        for place, part in zip(builders, parts, strict=True):
            if part.source is None:
                absents.append(place)
            else:
                targets[part.source.name] = self._target(part, place, len(targets))
        return self._fill(index, message, targets, absents)

    def _new_message(self) -> int:
        self._messages.append(())
        return len(self._messages) - 1

    def _fill(
        self, index: int, message: Descriptor, targets: dict[str, _Target], absents: list[int] | None = None
    ) -> int:
        rows, required = [], 0
        for field in sorted(message.fields, key=lambda field: int(field.number)):
            bit = 0
            if field.is_required:
                bit = required + 1
                required += bit
            rows.append(self._field_row(field, targets.get(field.name, _Target(slot=-1)), bit))
        if required >> _MOST_REQUIRED:
            raise NotCompiledError
        takes_unknown = not (message.is_extendable or message.GetOptions().map_entry)
        self._messages[index] = (
            *(len(self._fields), len(rows), self._slots, len(targets)),
            *(len(self._absents), len(absents or ()), required, int(takes_unknown)),
        )
        self._slots += len(targets)
        self._fields += rows
        self._absents += absents or ()
        return index

    def _target(self, part: Part, builder: int, slot: int) -> _Target:
        assert part.value is not None
        must = not (part.is_column or part.wanted.nullable)
        if part.shape is Shape.SINGLE:
            return self._value_target(part.value, builder, slot, must=must)
        items = self._builders[builder].children[0]
        if part.key is None:
            return self._value_target(part.value, items, slot, around=builder)
        key, value = self._builders[items].children
        entry = self._fill(
            self._new_message(),
            part.value.source.containing_type,
            {
                "key": self._value_target(part.key, key, 0),
                "value": self._value_target(part.value, value, 1),
            },
        )
        return _Target(slot, builder=items, around=builder, message=entry)

    def _value_target(
        self, value: Value, builder: int, slot: int, *, around: int = -1, must: bool = False
    ) -> _Target:
        message, held = -1, value.source.message_type
        if value.form is Form.STRUCT:
            message = self._message(held, value.parts, self._builders[builder].children)
        elif value.form is Form.WRAPPER:
            inner = value.parts[0].value
            assert inner is not None
            index = self._new_message()
            message = self._fill(index, held, {"value": self._value_target(inner, builder, 0)})
        elif value.form in _KEPT:
            kept = {name: _Target(place) for place, name in enumerate(_KEPT[value.form])}
            message = self._fill(self._new_message(), held, kept)
        return _Target(slot, _FORMS[value.form], builder, around, message, must, value)

    def _check(self, message: Descriptor) -> int:
        if message.full_name not in self._checked:
            self._checked[message.full_name] = self._new_message()
            self._fill(self._checked[message.full_name], message, {})
        return self._checked[message.full_name]

    def _field_row(self, field: FieldDescriptor, target: _Target, required: int) -> tuple[int, ...]:
        held, oneof = field.message_type, field.containing_oneof
        is_map = held is not None and held.GetOptions().map_entry
        shape = _SHAPES[Shape.MAP if is_map else Shape.LIST if field.is_repeated else Shape.SINGLE]
        message = target.message if target.message >= 0 or held is None else self._check(held)
        is_name = target.form == _FORMS[Form.NAME]
        is_closed = field.enum_type is not None and field.enum_type.is_closed
        wanted = target.value.wanted if target.value else pa.null()
        return (
            *(field.number, field.type, shape),
            oneof.index if oneof is not None and len(oneof.fields) > 1 else -1,
            *(required, message, target.slot, target.form, target.builder, target.around),
            int(field.has_presence and not field.has_default_value),
            int(target.must),
            *(self._default(field) if target.slot >= 0 else (0, 0, 0)),
            *(self._name_table(field.enum_type) if is_name or is_closed else (0, 0)),
            *(int(is_closed), *_digits(wanted)),
        )

    def _default(self, field: FieldDescriptor) -> tuple[int, int, int]:
        found = field.default_value if not field.is_repeated and field.message_type is None else 0
        if isinstance(found, str | bytes):
            return (0, *self._keep(found.encode() if isinstance(found, str) else found))
        if field.type == FieldDescriptor.TYPE_DOUBLE:
            return struct.unpack("<q", struct.pack("<d", found))[0], 0, 0
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return struct.unpack("<I", struct.pack("<f", found))[0], 0, 0
        number = int(found)
        return number - (1 << 64) if number >= 1 << 63 else number, 0, 0

    def _name_table(self, enum: EnumDescriptor) -> tuple[int, int]:
        if enum.full_name not in self._name_tables:
            first, found = len(self._names), sorted(enum.values_by_number.items())
            self._names += [(number, *self._keep(value.name.encode())) for number, value in found]
            self._name_tables[enum.full_name] = (first, len(found))
        return self._name_tables[enum.full_name]

    def _keep(self, text: bytes) -> tuple[int, int]:
        self._blob += text
        return len(self._blob) - len(text), len(text)


def _digits(wanted: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(wanted):
        return wanted.precision, wanted.scale
    return (UNITS[wanted.unit], 0) if pa.types.is_timestamp(wanted) else (0, 0)


def _packed(builder: Builder) -> tuple[int, ...]:
    children = builder.children
    return builder.kind, builder.width, children[0] if children else 0, len(children)


def _parts_of(wanted: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(wanted):
        return [pa.field("entries", pa.struct([wanted.key_field, wanted.item_field]), nullable=False)]
    if pa.types.is_list(wanted):
        return [wanted.value_field]
    return list(wanted) if pa.types.is_struct(wanted) else []


def _kept_as(wanted: pa.DataType) -> tuple[Kind, int]:
    types = pa.types
    if types.is_boolean(wanted):
        return Kind.BIT, 0
    if types.is_string(wanted) or types.is_binary(wanted):
        return Kind.BYTES, 0
    if types.is_map(wanted) or types.is_list(wanted):
        return Kind.LIST, 0
    if types.is_struct(wanted):
        return Kind.STRUCT, 0
    if types.is_primitive(wanted) or types.is_fixed_size_binary(wanted) or types.is_decimal128(wanted):
        return Kind.FIXED, wanted.bit_width // 8
    if wanted == pa.uuid():
        return Kind.FIXED, wanted.byte_width
    raise NotCompiledError
