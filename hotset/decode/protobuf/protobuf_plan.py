"""Which field of a Protobuf message becomes which column, and how.

A plan follows the columns that are wanted; fields without a column are left out.
It is found once per message type, and every way of decoding goes by it. This
file reads no record.

    field                            column
    bool                             boolean
    int32, sint32, sfixed32, fixed32,
    uint32, and the same with 64     int, long, decimal(p, s): if the number fits
    int64, sint64, sfixed64          timestamps of either unit: epoch milliseconds
    float, double                    float, double: a float is the nearest one
    string                           string; uuid: if it is one
    bytes                            binary, fixed(n): if it has n bytes; uuid: if it has 16
    enum                             string: the name; int, long: the number
    message                          struct, fields by name
    repeated                         list
    map                              map
    google.protobuf.Timestamp        timestamp, timestamptz: if whole microseconds;
                                     timestamp_ns, timestamptz_ns: if in range
    google.protobuf.*Value (wrapper) what its value becomes, or null
    google.type.Date                 date
    google.type.TimeOfDay            time: if whole microseconds
    confluent.type.Decimal           decimal(p, s): if the number fits without rounding

A field that is not there is null if the schema tells it apart from its default
(`optional`, messages, members of a oneof, proto2), and else its default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from hotset.decode.matching_fields import describe_stranger, is_marked
from hotset.errors import SchemaMismatchError

_types: Final = pa.types

# Of columns of timestamps, and how many of them are a second.
UNITS: Final = {"us": 1_000_000, "ns": 1_000_000_000}


class Form(Enum):
    """How one value of a message becomes one of a column."""

    BOOLEAN = auto()
    INTEGER = auto()
    WHOLE_DECIMAL = auto()
    MILLISECONDS = auto()
    FLOATING = auto()
    STRING = auto()
    BINARY = auto()
    FIXED = auto()
    NAME = auto()
    STRUCT = auto()
    WRAPPER = auto()
    TIMESTAMP = auto()
    DATE = auto()
    TIME_OF_DAY = auto()
    DECIMAL = auto()
    UUID_TEXT = auto()


class Shape(Enum):
    """How many values a field has; ABSENT if messages have no such field."""

    ABSENT = auto()
    SINGLE = auto()
    LIST = auto()
    MAP = auto()


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its source, its form, and the parts of a struct or wrapper."""

    source: FieldDescriptor = field(repr=False)
    form: Form
    wanted: pa.DataType
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A column, or a field of a struct column.

    Attributes:
        wanted: The column.
        path: Its name for people, from the top.
        source: The field, or None if messages have no such field.
        shape: How many values it has.
        value: The value, or the values of a list or map.
        key: The keys of a map.
        is_column: Whether it is a column itself, which may be null here in any case.
    """

    wanted: pa.Field
    path: str
    source: FieldDescriptor | None = field(repr=False)
    shape: Shape
    value: Value | None = None
    key: Value | None = None
    is_column: bool = False


_Fits = Callable[[pa.DataType], bool]
_F: Final = FieldDescriptor
_LONGS: Final = (_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64)
_INTEGERS: Final = (
    *_LONGS,
    *(_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32),
    *(_F.TYPE_UINT32, _F.TYPE_FIXED32, _F.TYPE_UINT64, _F.TYPE_FIXED64),
)


def _is_timestamp(wanted: pa.DataType) -> bool:
    return bool(_types.is_timestamp(wanted)) and wanted.unit in UNITS


def _is_floating(wanted: pa.DataType) -> bool:
    return bool(_types.is_float32(wanted) or _types.is_float64(wanted))


def _is_time(wanted: pa.DataType) -> bool:
    return bool(_types.is_time64(wanted)) and wanted.unit == "us"


def _is_uuid(wanted: pa.DataType) -> bool:
    return bool(wanted == pa.uuid())


def _is_message_free(wanted: pa.DataType) -> bool:
    return not _types.is_nested(wanted)


_SCALARS: Final[tuple[tuple[tuple[int, ...], _Fits, Form], ...]] = (
    ((_F.TYPE_BOOL,), _types.is_boolean, Form.BOOLEAN),
    (_INTEGERS, _types.is_signed_integer, Form.INTEGER),
    (_INTEGERS, _types.is_decimal128, Form.WHOLE_DECIMAL),
    (_LONGS, _is_timestamp, Form.MILLISECONDS),
    ((_F.TYPE_FLOAT, _F.TYPE_DOUBLE), _is_floating, Form.FLOATING),
    ((_F.TYPE_STRING,), _types.is_string, Form.STRING),
    ((_F.TYPE_STRING,), _is_uuid, Form.UUID_TEXT),
    ((_F.TYPE_BYTES,), _types.is_binary, Form.BINARY),
    ((_F.TYPE_BYTES,), _types.is_fixed_size_binary, Form.FIXED),
    ((_F.TYPE_BYTES,), _is_uuid, Form.FIXED),
    ((_F.TYPE_ENUM,), _types.is_string, Form.NAME),
    ((_F.TYPE_ENUM,), _types.is_signed_integer, Form.INTEGER),
)
_WRAPPED: Final = ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
_MESSAGES: Final[dict[str, tuple[_Fits, Form]]] = {
    "google.protobuf.Timestamp": (_is_timestamp, Form.TIMESTAMP),
    "google.type.Date": (_types.is_date32, Form.DATE),
    "google.type.TimeOfDay": (_is_time, Form.TIME_OF_DAY),
    "confluent.type.Decimal": (_types.is_decimal128, Form.DECIMAL),
    **{f"google.protobuf.{name}Value": (_is_message_free, Form.WRAPPER) for name in _WRAPPED},
}


def plan_columns(message: Descriptor, schema: pa.Schema) -> tuple[Part, ...]:
    """Return how each column of a schema is filled from messages of one type.

    Raises:
        SchemaMismatchError: A field's type cannot become its column's, a wanted message holds itself, or
            none of its fields is a column.
    """
    if is_marked(schema.metadata):
        _require_common_field(message, schema.names)
    return _parts(message, list(schema), "", (message.full_name,))


def _parts(
    message: Descriptor, wanted: list[pa.Field], above: str, holders: tuple[str, ...]
) -> tuple[Part, ...]:
    return tuple(_part(message.fields_by_name.get(each.name), each, above, holders) for each in wanted)


def unmapped_fields(message: Descriptor, parts: tuple[Part, ...], above: str = "") -> Iterator[str]:
    """Yield paths of fields of a message that no column is for, those inside of structs included."""
    wanted = {part.wanted.name: part for part in parts}
    for name in message.fields_by_name:
        if name not in wanted:
            yield f"{above}{name}"
        elif (value := wanted[name].value) is not None and value.form is Form.STRUCT:
            yield from unmapped_fields(value.source.message_type, value.parts, f"{above}{name}.")


def _require_common_field(message: Descriptor, columns: list[str]) -> None:
    wrong = describe_stranger([*message.fields_by_name], columns)
    if wrong is not None:
        raise SchemaMismatchError(f"Protobuf message {message.full_name} has {wrong}")


def _part(source: FieldDescriptor | None, wanted: pa.Field, above: str, holders: tuple[str, ...]) -> Part:
    path = f"{above}{wanted.name}"
    is_column = not above
    if source is None:
        return Part(wanted, path, source, Shape.ABSENT, is_column=is_column)
    if is_marked(wanted.metadata) and source.message_type is not None:
        _require_common_field(source.message_type, [part.name for part in wanted.type])
    if not source.is_repeated:
        value = _value(source, wanted.type, path, holders)
        return Part(wanted, path, source, Shape.SINGLE, value, is_column=is_column)
    entry = source.message_type
    is_map = entry is not None and entry.GetOptions().map_entry
    if is_map and _types.is_map(wanted.type):
        key = _value(entry.fields_by_name["key"], wanted.type.key_type, f"{path}.key", holders)
        value = _value(entry.fields_by_name["value"], wanted.type.item_type, f"{path}.value", holders)
        return Part(wanted, path, source, Shape.MAP, value, key, is_column)
    if is_map or not _types.is_list(wanted.type):
        raise _mismatch(source, wanted.type, path)
    value = _value(source, wanted.type.value_type, path, holders)
    return Part(wanted, path, source, Shape.LIST, value, is_column=is_column)


def _value(source: FieldDescriptor, wanted: pa.DataType, path: str, holders: tuple[str, ...]) -> Value:
    message = source.message_type
    if message is None:
        for kinds, fits, form in _SCALARS:
            if source.type in kinds and fits(wanted):
                return Value(source, form, wanted)
        raise _mismatch(source, wanted, path)
    if _types.is_struct(wanted):
        if message.full_name in holders:
            raise SchemaMismatchError(
                f"column {path!r} would hold a {message.full_name} inside of itself; a recursive message "
                "cannot be a column, so leave that column or field out",
                column=path,
            )
        inside = (*holders, message.full_name)
        return Value(source, Form.STRUCT, wanted, _parts(message, list(wanted), f"{path}.", inside))
    fits, form = _MESSAGES.get(message.full_name, (_is_nothing, Form.STRUCT))
    if not fits(wanted):
        raise _mismatch(source, wanted, path)
    if form is Form.WRAPPER:
        inner = _value(message.fields_by_name["value"], wanted, path, holders)
        part = Part(pa.field("value", wanted), path, inner.source, Shape.SINGLE, inner)
        return Value(source, form, wanted, (part,))
    return Value(source, form, wanted)


def _is_nothing(_wanted: pa.DataType) -> bool:
    return False


def _mismatch(source: FieldDescriptor, wanted: pa.DataType, path: str) -> SchemaMismatchError:
    return SchemaMismatchError(
        f"column {path!r} is of type {wanted}, which a Protobuf field of type {_type_name(source)} cannot "
        "become; change the column's type, or leave the column out",
        column=path,
    )


_NAMES: Final = {
    getattr(_F, name): name.removeprefix("TYPE_").lower() for name in dir(_F) if name.startswith("TYPE_")
}


def _type_name(source: FieldDescriptor) -> str:
    if source.message_type is not None and source.message_type.GetOptions().map_entry:
        return "map"
    kind = source.message_type or source.enum_type
    name = str(kind.full_name) if kind is not None else _NAMES[source.type]
    return f"repeated {name}" if source.is_repeated else name
