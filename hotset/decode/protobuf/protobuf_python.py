"""The reference Protobuf decoder: one message at a time, by Google's own runtime.

It defines what a record means. The runtime decides what is a message; this file
turns its values into a column's and says which record does not fit. It must not
be imported for speed.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from hotset.decode.byte_text import parse_uuid
from hotset.decode.decoded import Decoded, MisfitError, decode_one_by_one
from hotset.decode.protobuf.protobuf_plan import UNITS, Form, Part, Shape, Value

Convert = Callable[[Any], Any]
DecodePayloads = Callable[[pa.BinaryArray, int], Decoded]

# The seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: what a Timestamp may hold.
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_NANOS: Final = 1_000_000_000
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_LONGEST_DECIMAL_BYTES: Final = 1024


def reference_decoder(message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> DecodePayloads:
    """Return the decoder of messages of one type into rows of `schema`, one by one.

    It takes payloads, and how many bytes to leave out before the message in each.

    Args:
        message: The type.
        parts: The plan of the schema's columns for that type.
        schema: The columns wanted.
    """
    parse = GetMessageClass(message).FromString
    readers = [_reader(part) for part in parts]

    def decode(payloads: pa.BinaryArray, skip: int) -> Decoded:
        def read(payload: bytes) -> list[Any]:
            record = _parse(parse, payload[skip:])
            return [read_part(record) for read_part in readers]

        return decode_one_by_one(payloads, schema, read)

    return decode


def _parse(parse: Callable[[bytes], Message], payload: bytes) -> Message:
    try:
        record = parse(payload)
    except ProtobufDecodeError as exc:
        raise MisfitError(f"its value is not a Protobuf message of its schema ({exc})") from None
    if not record.IsInitialized():
        lacking = ", ".join(record.FindInitializationErrors()[:5])
        raise MisfitError(f"its value lacks what its schema requires ({lacking})")
    return record


def _reader(part: Part) -> Convert:
    read = _unchecked_reader(part)
    if part.is_column or part.wanted.nullable:
        return read

    def required(message: Any) -> Any:
        found = read(message)
        if found is None:
            raise MisfitError(f"column {part.path!r} is required, and is absent")
        return found

    return required


def _unchecked_reader(part: Part) -> Convert:
    if part.source is None or part.value is None:
        return lambda _message: None
    name, source = part.source.name, part.source
    convert = _explaining(part.path, part.value)
    if part.shape is Shape.LIST:
        return lambda message: [convert(each) for each in getattr(message, name)]
    if part.key is not None:
        return _map_reader(name, part.path, _explaining(part.path, part.key), convert)
    if not source.has_presence or source.has_default_value:
        return lambda message: convert(getattr(message, name))
    return lambda message: convert(getattr(message, name)) if message.HasField(name) else None


def _map_reader(name: str, path: str, key: Convert, value: Convert) -> Convert:
    # Entries have no order of their own, so that of their keys makes equal maps equal.
    def read(message: Any) -> Any:
        entries = getattr(message, name)
        keys = {each: key(each) for each in entries}
        if len(set(keys.values())) < len(keys):  # different texts may be one UUID
            raise MisfitError(f"column {path!r} holds a key twice")
        return [(keys[each], value(entries[each])) for each in sorted(keys)]

    return read


def _explaining(path: str, value: Value) -> Convert:
    convert = _converter(value)
    if value.parts:
        return convert  # what is inside explains itself

    def explained(value: Any) -> Any:
        try:
            return convert(value)
        except MisfitError as exc:
            raise MisfitError(f"column {path!r} {exc}") from None

    return explained


def _converter(value: Value) -> Convert:
    wanted = value.wanted
    if value.form is Form.STRUCT:
        return _record(value.parts)
    if value.form is Form.WRAPPER:
        return _reader(value.parts[0])
    if value.form is Form.NAME:
        return _enum_name(value.source.enum_type)
    if value.form in (Form.BOOLEAN, Form.BINARY):
        return lambda found: found
    convert = _CONVERTERS[value.form]
    return lambda found: convert(found, wanted)


def _record(parts: tuple[Part, ...]) -> Convert:
    readers = [(part.wanted.name, _reader(part)) for part in parts]
    return lambda message: {name: read(message) for name, read in readers}


def _enum_name(enum: EnumDescriptor) -> Convert:
    names = {number: value.name for number, value in enum.values_by_number.items()}

    def name_of(number: int) -> str:
        if number not in names:
            raise MisfitError(f"holds {number}, for which {enum.full_name} has no name")
        return str(names[number])

    return name_of


def _integer(found: int, wanted: pa.DataType) -> int:
    limit = 1 << (wanted.bit_width - 1)
    if not -limit <= found < limit:
        raise _outside(wanted)
    return found


def _whole_decimal(found: int, wanted: pa.DataType) -> Decimal:
    return _scaled(found, 0, wanted)


def _scaled(unscaled: int, scale: int, wanted: pa.DataType) -> Decimal:
    shift = wanted.scale - scale
    if unscaled == 0:
        shift = 0
    if shift > wanted.precision:
        raise _outside(wanted)
    if shift < -unscaled.bit_length():
        raise _rounded(wanted)
    number, lost = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if lost:
        raise _rounded(wanted)
    if abs(number) >= 10**wanted.precision:
        raise _outside(wanted)
    return Decimal(f"{number}E{-wanted.scale}")


def _milliseconds(found: int, wanted: pa.DataType) -> int:
    return _within(found * (UNITS[wanted.unit] // 1000), wanted)


def _within(units: int, wanted: pa.DataType) -> int:
    if not -(1 << 63) <= units < 1 << 63:
        raise _outside(wanted)
    return units


def _floating(found: float, wanted: pa.DataType) -> float:
    if pa.types.is_float32(wanted):
        try:
            struct.pack("<f", found)
        except OverflowError:
            raise _outside(wanted) from None
    return found


def _string(found: str | bytes, wanted: pa.DataType) -> str:
    # A proto2 string may be anything, and what is no text comes as bytes.
    if isinstance(found, bytes):
        raise MisfitError(f"wants {wanted}, and holds what is not UTF-8")
    return found


def _uuid(found: str | bytes, wanted: pa.DataType) -> bytes:
    try:
        return parse_uuid(_string(found, wanted))
    except ValueError:
        raise MisfitError(f"wants {wanted}, and holds text that is no UUID") from None


def _fixed(found: bytes, wanted: pa.DataType) -> bytes:
    if len(found) != wanted.byte_width:
        raise MisfitError(f"wants {wanted}, and holds {len(found)} bytes")
    return found


def _timestamp(found: Any, wanted: pa.DataType) -> int:
    if not (_FIRST_SECOND <= found.seconds <= _LAST_SECOND and 0 <= found.nanos < _NANOS):
        raise _outside(wanted)
    units = UNITS[wanted.unit]
    fraction, lost = divmod(int(found.nanos), _NANOS // units)
    if lost:
        raise _rounded(wanted)
    return _within(int(found.seconds) * units + fraction, wanted)


def _date(found: Any, wanted: pa.DataType) -> int:
    try:
        return dt.date(found.year, found.month, found.day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        raise _outside(wanted) from None


def _time_of_day(found: Any, wanted: pa.DataType) -> int:
    parts = ((found.hours, 24), (found.minutes, 60), (found.seconds, 60), (found.nanos, _NANOS))
    if not all(0 <= number < limit for number, limit in parts):
        raise _outside(wanted)
    if found.nanos % 1000:
        raise _rounded(wanted)
    seconds = (found.hours * 60 + found.minutes) * 60 + found.seconds
    return int(seconds * 1_000_000 + found.nanos // 1000)


def _decimal(found: Any, wanted: pa.DataType) -> Decimal:
    if not found.value:
        raise MisfitError(f"wants {wanted}, and holds a decimal without digits")
    if len(found.value) > _LONGEST_DECIMAL_BYTES:
        raise _outside(wanted)
    return _scaled(int.from_bytes(found.value, "big", signed=True), found.scale, wanted)


def _outside(wanted: pa.DataType) -> MisfitError:
    return MisfitError(f"wants {wanted}, and holds a value outside its range")


def _rounded(wanted: pa.DataType) -> MisfitError:
    return MisfitError(f"wants {wanted}, and holds a value that would have to be rounded")


_CONVERTERS: Final[Mapping[Form, Callable[[Any, pa.DataType], Any]]] = {
    Form.INTEGER: _integer,
    Form.WHOLE_DECIMAL: _whole_decimal,
    Form.MILLISECONDS: _milliseconds,
    Form.FLOATING: _floating,
    Form.STRING: _string,
    Form.FIXED: _fixed,
    Form.TIMESTAMP: _timestamp,
    Form.DATE: _date,
    Form.TIME_OF_DAY: _time_of_day,
    Form.DECIMAL: _decimal,
    Form.UUID_TEXT: _uuid,
}
