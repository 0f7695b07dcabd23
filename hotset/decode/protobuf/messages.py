"""Which message type a record is of, and the rows of a batch that has several.

A body begins with the path to its type in the schema's file: the number of
indexes and the indexes as zigzag varints, and a single 0 for the first message.
This file finds the type of each record and puts the rows of all types back in
order. It must not know how a message is decoded, or what a frame is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FileDescriptor

from hotset.decode.decoded import Decoded, Fault, nulls_of
from hotset.decode.protobuf.descriptors import describe
from hotset.decode.protobuf.protobuf_native import payload_decoder
from hotset.decode.protobuf.protobuf_plan import plan_columns, unmapped_fields
from hotset.decode.protobuf.protobuf_python import DecodePayloads
from hotset.errors import SchemaMismatchError
from hotset.registry import RegisteredSchema

_Path = tuple[int, ...]

_FIRST: Final[_Path] = (0,)
_DEEPEST_PATH: Final = 100
_LONGEST_VARINT: Final = 5


@dataclass(frozen=True, slots=True)
class _Type:
    """The decoder of a message type, or why it cannot be a row; and fields that no column is for."""

    decode: DecodePayloads | None
    reason: str = ""
    unmapped: frozenset[str] = frozenset()


def compile_messages(writer: RegisteredSchema, schema: pa.Schema) -> Callable[[pa.BinaryArray], Decoded]:
    """Return the decoder of bodies that were written with one schema.

    Args:
        writer: The schema, with what it imports.
        schema: The columns wanted, which are matched to fields by name.

    Raises:
        SchemaMismatchError: No message type of the schema can be a row.
    """
    file = describe(writer)
    reasons = [_misfit(message, schema) for message in _messages(file.message_types_by_name.values())]
    if all(reasons):
        raise SchemaMismatchError(reasons[0] if reasons else _NO_MESSAGE)
    return _BodyDecoder(file, schema).decode


_NO_MESSAGE: Final = "the Protobuf schema has no message; correct it in the registry"


def _messages(types: Sequence[Descriptor]) -> Iterator[Descriptor]:
    for each in types:
        if not each.GetOptions().map_entry:
            yield each
            yield from _messages(each.nested_types)


def _misfit(message: Descriptor, schema: pa.Schema) -> str:
    try:
        plan_columns(message, schema)
    except SchemaMismatchError as exc:
        return str(exc)
    return ""


def _typed(message: Descriptor, schema: pa.Schema) -> _Type:
    try:
        parts = plan_columns(message, schema)
        decode = payload_decoder(message, parts, schema)
        return _Type(decode, unmapped=frozenset(unmapped_fields(message, parts)))
    except SchemaMismatchError as exc:
        return _Type(None, str(exc))


class _BodyDecoder:
    """Decodes bodies of one file's messages; keeps what it found out of each type."""

    def __init__(self, file: FileDescriptor, schema: pa.Schema) -> None:
        self._file = file
        self._schema = schema
        self._types: dict[_Path, _Type] = {}

    def decode(self, bodies: pa.BinaryArray) -> Decoded:
        """Return one row per body, in their order."""
        starts = pc.binary_slice(bodies, 0, 1)
        if pc.all(pc.equal(starts, b"\0"), min_count=0).as_py():  # nulls are left out of account
            return self._decode_type(_FIRST, bodies, skip=1)
        return self._decode_mixed(bodies)

    def _decode_mixed(self, bodies: pa.BinaryArray) -> Decoded:
        rows: dict[_Path, list[int]] = {}
        payloads: dict[_Path, list[bytes | None]] = {}
        faults = []
        for row, body in enumerate(bodies.to_pylist()):
            path, payload = _FIRST, None
            try:
                if body is not None:
                    path, start = _read_path(body)
                    payload = body[start:]
            except ValueError as exc:
                faults.append(Fault(row, str(exc)))
            rows.setdefault(path, []).append(row)
            payloads.setdefault(path, []).append(payload)
        parts = [
            (rows[path], self._decode_type(path, pa.array(found, pa.binary())))
            for path, found in payloads.items()
        ]
        return _in_order(parts, faults, len(bodies), self._schema)

    def _decode_type(self, path: _Path, payloads: pa.BinaryArray, *, skip: int = 0) -> Decoded:
        found = self._types.get(path) or self._type_at(path)
        if found.decode is not None:
            decoded = found.decode(payloads, skip)
            is_there = payloads.null_count + len(decoded.faults) < len(payloads)
            return replace(decoded, unmapped=found.unmapped) if is_there else decoded
        present = pc.indices_nonzero(payloads.is_valid()).to_pylist()
        return Decoded(
            nulls_of(self._schema, len(payloads)), tuple(Fault(row, found.reason) for row in present)
        )

    def _type_at(self, path: _Path) -> _Type:
        message, reason = _message_at(self._file, path)
        if message is None:
            return _Type(None, reason)
        self._types[path] = _typed(message, self._schema)
        return self._types[path]


def _message_at(file: FileDescriptor, path: _Path) -> tuple[Descriptor | None, str]:
    # Some clients count the entries of maps, which are types of their own in a descriptor, and some
    # do not. Where that makes a difference nobody can tell what a record is.
    with_entries = _walk(file, path, counts_entries=True)
    without = _walk(file, path, counts_entries=False)
    listed = ", ".join(map(str, path))
    if with_entries and without and with_entries is not without:
        reason = (
            f"its message index [{listed}] is {without.full_name} to some clients and "
            f"{with_entries.full_name} to others; declare messages before maps"
        )
        return None, reason
    found = without or with_entries
    return found, "" if found else f"its message index [{listed}] names no message of its schema"


def _walk(file: FileDescriptor, path: _Path, *, counts_entries: bool) -> Descriptor | None:
    types, message = list(file.message_types_by_name.values()), None
    for index in path:
        if index >= len(types):
            return None
        message = types[index]
        types = [t for t in message.nested_types if counts_entries or not t.GetOptions().map_entry]
    return None if message is None or message.GetOptions().map_entry else message


def _read_path(body: bytes) -> tuple[_Path, int]:
    count, at = _read_index(body, 0)
    if count == 0:
        return _FIRST, at
    if count > _DEEPEST_PATH:
        raise ValueError(f"its message index is {count} long")
    path = []
    for _ in range(count):
        index, at = _read_index(body, at)
        path.append(index)
    return tuple(path), at


def _read_index(body: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift, byte in enumerate(body[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            if number & 1 or number >> 32:
                raise ValueError("its message index is negative or out of range")
            return number >> 1, at + shift + 1
    raise ValueError("its message index is cut short or too long")


def _in_order(
    parts: list[tuple[list[int], Decoded]], faults: list[Fault], count: int, schema: pa.Schema
) -> Decoded:
    faults += [Fault(rows[f.row], f.reason) for rows, decoded in parts for f in decoded.faults]
    faults.sort(key=lambda fault: fault.row)
    unmapped = frozenset[str]().union(*(decoded.unmapped for _, decoded in parts))
    if not parts or not len(schema):
        return Decoded(nulls_of(schema, count), tuple(faults), unmapped)
    came = [row for rows, _ in parts for row in rows]
    places = pc.sort_indices(pa.array(came, pa.int64()))
    table = pa.Table.from_batches([decoded.rows for _, decoded in parts])
    return Decoded(table.take(places).combine_chunks().to_batches()[0], tuple(faults), unmapped)
