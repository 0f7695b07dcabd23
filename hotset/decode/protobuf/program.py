"""A plan as the numbers that the C interpreter runs on (`hotset/native/protobuf/program.h`).

A message that is wanted is compiled once for each place where it is, because its
values go to builders of that place; one that is only checked is compiled once, so
a recursive message ends. This file must not know how a program is run.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from hotset.decode.builders import Kind
from hotset.decode.protobuf.plan import Form, Part, Shape, Value

_MOST_REQUIRED: Final = 62


@dataclass(frozen=True, slots=True)
class Program:
    """One message type, compiled.

    Attributes:
        numbers: All the interpreter needs but texts.
        blob: Names of enums, and defaults.
        kinds: How each builder keeps values; those of the columns come first.
        first_children: For each builder, its first child; the others follow it.
        schema: The columns wanted.
    """

    numbers: array[int]
    blob: bytes
    kinds: tuple[Kind, ...]
    first_children: tuple[int, ...]
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
        self._builders: list[tuple[Kind, int, int, int]] = []
        self._messages: list[tuple[int, ...]] = []
        self._fields: list[tuple[int, ...]] = []
        self._names: list[tuple[int, int, int]] = []
        self._absents: list[int] = []
        self._blob = bytearray()
        self._slots = 0
        self._checked: dict[str, int] = {}
        self._name_tables: dict[str, tuple[int, int]] = {}

    def compile(self, message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> Program:
        columns = self._new_builders([field.type for field in schema])
        self._message(message, parts, columns)
        sections = (self._builders, self._messages, self._fields, self._names)
        header = [*(len(section) for section in sections), len(self._absents), self._slots, len(schema)]
        rows = [number for section in sections for row in section for number in row]
        return Program(
            numbers=array("q", [*header, *rows, *self._absents]),
            blob=bytes(self._blob) or b"\0",
            kinds=tuple(Kind(kind) for kind, _, _, _ in self._builders),
            first_children=tuple(first for _, _, first, _ in self._builders),
            schema=schema,
        )

    def _new_builders(self, types: list[pa.DataType]) -> int:
        first = len(self._builders)
        self._builders += [(Kind.BIT, 0, 0, 0)] * len(types)
        for place, wanted in enumerate(types, start=first):
            children = children_of(wanted)
            self._builders[place] = (
                *_kept_as(wanted),
                self._new_builders(children) if children else 0,
                len(children),
            )
        return first

    def _message(self, message: Descriptor, parts: tuple[Part, ...], first_builder: int) -> int:
        index = self._new_message()
        targets: dict[str, _Target] = {}
        absents = []
        for place, part in enumerate(parts, start=first_builder):
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
        items = self._builders[builder][2]
        if part.key is None:
            return self._value_target(part.value, items, slot, around=builder)
        key, value = self._builders[items][2], self._builders[items][2] + 1
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
            message = self._message(held, value.parts, self._builders[builder][2])
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
        digits = (wanted.precision, wanted.scale) if pa.types.is_decimal(wanted) else (0, 0)
        return (
            *(field.number, field.type, shape),
            oneof.index if oneof is not None and len(oneof.fields) > 1 else -1,
            *(required, message, target.slot, target.form, target.builder, target.around),
            int(field.has_presence and not field.has_default_value),
            int(target.must),
            *(self._default(field) if target.slot >= 0 else (0, 0, 0)),
            *(self._name_table(field.enum_type) if is_name or is_closed else (0, 0)),
            *(int(is_closed), *digits),
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


def children_of(wanted: pa.DataType) -> list[pa.DataType]:
    """Return the types that a column of this type is made of.

    Raises:
        Nothing of its own.
    """
    if pa.types.is_map(wanted):
        return [pa.struct([wanted.key_field, wanted.item_field])]
    if pa.types.is_list(wanted):
        return [wanted.value_type]
    return [field.type for field in wanted] if pa.types.is_struct(wanted) else []


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
    raise NotCompiledError
