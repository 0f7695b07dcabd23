"""Records that name their schema: in Confluent's frame, or in a header in its place.

A frame is the byte 0 and a schema id in four bytes, big-endian. A header
(`__value_schema_id`, `__key_schema_id`) holds the same, or the byte 1 and the
schema's 16-byte identity, and then the payload has no frame; for Protobuf it
ends with the message index that a frame would be followed by. Rows are grouped
by schema, each group is decoded by what was compiled for its schema, and rows
go back into their order. This file must not know what is in a body.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.avro import Known, compile_avro
from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.json import EpochUnit, decode_json
from hotset.errors import HotsetError, SchemaMismatchError
from hotset.native import is_pure
from hotset.registry import Kind, RegisteredSchema, SchemaRegistry

Side = Literal["value", "key"]
Bodies = Callable[[pa.BinaryArray], Decoded]

KINDS: Final[dict[str, Kind]] = {"avro": "AVRO", "json_schema": "JSON", "protobuf": "PROTOBUF"}

_FRAME_BYTES: Final = 5
_GUID_BYTES: Final = 17
_COMPILED: Final = 256
# Which place a row's schema was named in; keeps a frame and a header of the same bytes apart.
_IN_FRAME: Final = b"f"
_IN_HEADER: Final = b"h"


class FramedDecoder:
    """Decodes payloads that name their schemas; a `Decoder`.

    Args:
        format_name: One of `KINDS`.
        registry: Knows the schemas.
        side: Whether payloads are values or keys of records.
        reader: Tells the schema whose aliases and defaults count, for Avro.
        lone: The column that a value fills which is no record, for Avro.
        known: All columns there are, of which some are wanted at a time, for Avro.
        isolates: Whether records of a schema that no row can be made of are faults; else that is an
            error, which says more than a fault of one record could.
        epoch_unit: What a number in a column of timestamps counts, for JSON.
    """

    def __init__(
        self,
        format_name: str,
        registry: SchemaRegistry,
        side: Side = "value",
        reader: Callable[[], RegisteredSchema] | None = None,
        *,
        lone: str | None = None,
        known: Known = (),
        isolates: bool = False,
        epoch_unit: EpochUnit = EpochUnit.MILLIS,
    ) -> None:
        self._format = format_name
        self._registry = registry
        self._header = f"__{side}_schema_id"
        self._reader = reader
        self._lone = lone
        self._known = known
        self._isolates = isolates
        self._epoch_unit = epoch_unit

    def __call__(
        self, payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None
    ) -> Decoded:
        """Return one row of `schema` per payload, in order.

        Raises:
            SchemaNotFoundError: The registry does not know a schema.
            SchemaMismatchError: A schema is of another format, or no row can be made of it, and its
                records are not isolated.
            HotsetError: The registry could not be asked. Like the others, with detail `row`,
                the first row that needs the schema.
        """
        told = None if headers is None else self._headers(headers)
        if told is None and (head := _only_head(payloads)) is not None:
            return self._decode(_IN_FRAME + head, payloads, schema, first_row=0)
        names = self._names(payloads, told).dictionary_encode()
        named = names.dictionary.to_pylist()
        flaws = {number: flaw for number, name in enumerate(named) if (flaw := self._flaw(name)) is not None}
        flawed = pc.is_in(names.indices, pa.array(list(flaws), pa.int32()))
        own = [
            Fault(row, flaws[names.indices[row].as_py()]) for row in pc.indices_nonzero(flawed).to_pylist()
        ]
        sound = [number for number in range(len(named)) if number not in flaws]
        if len(sound) == 1:
            # Nobody's rows have to move: what is no record of the one schema is decoded as null.
            [number] = sound
            ours = pc.if_else(flawed, pa.scalar(None, payloads.type), payloads) if own else payloads
            decoded = self._decode(named[number], ours, schema, pc.index(names.indices, number).as_py())
            return replace(decoded, faults=_sorted([*own, *decoded.faults]))
        groups: list[tuple[pa.Array, Decoded]] = []
        for number in sound:
            rows = pc.indices_nonzero(pc.equal(names.indices, number))
            groups.append((rows, self._decode(named[number], payloads.take(rows), schema, rows[0].as_py())))
        without = pc.indices_nonzero(pc.or_(flawed, names.indices.is_null()))
        nulls = batch_of([pa.nulls(len(without), field.type) for field in schema], schema, len(without))
        return _in_order([*groups, (without, Decoded(nulls))], own)

    def _headers(self, headers: pa.ListArray) -> pa.BinaryArray | None:
        flat = headers.flatten()
        is_ours = pc.equal(flat.field("key"), self._header)
        if not is_ours.true_count:
            return None
        values, rows = flat.field("value").filter(is_ours), pc.list_parent_indices(headers).filter(is_ours)
        # Of several headers the first counts, as in Confluent's deserializers.
        is_first = pa.concat_arrays([pa.array([True]), pc.not_equal(rows[1:], rows[:-1])])
        values, rows = values.filter(is_first), rows.filter(is_first)
        return values.take(pc.index_in(pa.arange(0, len(headers)), value_set=rows.cast(pa.int64())))

    def _names(self, payloads: pa.BinaryArray, told: pa.BinaryArray | None) -> pa.BinaryArray:
        names = _joined(_IN_FRAME, pc.binary_slice(payloads, 0, _FRAME_BYTES))
        if told is not None:
            named = pc.if_else(payloads.is_valid(), _joined(_IN_HEADER, told), None)
            names = pc.coalesce(named, names)
        return names

    def _flaw(self, name: bytes) -> str | None:
        place, told = name[:1], name[1:]
        if place == _IN_FRAME:
            if not told:
                return f"its {self._side} is empty, without a frame"
            if told[0] != 0:
                return f"its {self._side} begins with the byte {told[0]:#04x}, and a frame begins with 0x00"
            if len(told) < _FRAME_BYTES:
                return f"its {self._side} has {len(told)} bytes, and a frame alone has {_FRAME_BYTES}"
            return None
        size = {0: _FRAME_BYTES, 1: _GUID_BYTES}.get(told[0] if told else -1)
        has_index = self._format == "protobuf"
        if size is None or len(told) < size or (len(told) > size and not has_index):
            return f"its header {self._header} of {len(told)} bytes does not name a schema"
        return None

    @property
    def _side(self) -> str:
        return "value" if self._header.startswith("__value") else "key"

    def _decode(self, name: bytes, payloads: pa.BinaryArray, schema: pa.Schema, first_row: int) -> Decoded:
        place, told = name[:1], name[1:]
        bodies = payloads
        if place == _IN_FRAME:
            bodies = pc.binary_replace_slice(payloads, 0, _FRAME_BYTES, b"")
        elif told[_size(told) :]:
            bodies = _joined(told[_size(told) :], payloads)
        try:
            return self._compiled(told[: _size(told)], schema)(bodies)
        except HotsetError as exc:
            if self._isolates and isinstance(exc, SchemaMismatchError):
                return _all_bad(schema, payloads, str(exc))
            exc.details["row"] = first_row
            raise

    def _compiled(self, told: bytes, schema: pa.Schema) -> Bodies:
        named: int | uuid.UUID
        if told[0] == 0:
            named = int.from_bytes(told[1:], "big")
            writer = self._registry.by_id(named)
        else:
            named = uuid.UUID(bytes=told[1:])
            writer = self._registry.by_guid(named)
        what = f"schema {'id ' if isinstance(named, int) else ''}{named}"
        if writer.kind != KINDS[self._format]:
            raise SchemaMismatchError(
                f"{what} is {_WORDS[writer.kind]}, and the table's {self._side} format is {self._format!r}; "
                f"set option '{self._side}Format' to what the producer writes",
                schema=str(named),
            )
        try:
            reader = None if self._reader is None else self._reader()
            if writer.kind == "JSON":
                return partial(decode_json, schema=schema, epoch_unit=self._epoch_unit)
            return _compile(writer, schema, reader, self._lone, self._known, is_pure=is_pure())
        except SchemaMismatchError as exc:
            raise SchemaMismatchError(f"{what}: {exc}", **{**exc.details, "schema": str(named)}) from exc


_WORDS: Final[dict[Kind, str]] = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


@lru_cache(maxsize=_COMPILED)
def _compile(
    writer: RegisteredSchema,
    schema: pa.Schema,
    reader: RegisteredSchema | None,
    lone: str | None,
    known: Known,
    *,
    is_pure: bool,
) -> Bodies:
    # Whether it is to be pure is asked again by each; here it keeps the two apart.
    if writer.kind == "AVRO":
        return compile_avro(writer, schema, reader, lone, known)
    # Imported here, since it needs what a table in another format does not.
    from hotset.decode.protobuf import compile_protobuf

    return compile_protobuf(writer, schema)


def _size(told: bytes) -> int:
    return _FRAME_BYTES if told[0] == 0 else _GUID_BYTES


def _only_head(payloads: pa.BinaryArray) -> bytes | None:
    # The usual case: one schema, and all of its frames.
    if not len(payloads) or payloads.null_count:
        return None
    head: bytes = payloads[0].as_py()[:_FRAME_BYTES]
    is_frame = len(head) == _FRAME_BYTES and head[0] == 0
    return head if is_frame and pc.all(pc.starts_with(payloads, head)).as_py() else None


def _all_bad(schema: pa.Schema, payloads: pa.BinaryArray, reason: str) -> Decoded:
    nulls = batch_of([pa.nulls(len(payloads), field.type) for field in schema], schema, len(payloads))
    rows = pc.indices_nonzero(payloads.is_valid()).to_pylist()
    return Decoded(nulls, tuple(Fault(row, reason) for row in rows))


def _sorted(faults: list[Fault]) -> tuple[Fault, ...]:
    return tuple(sorted(faults, key=lambda fault: fault.row))


def _joined(prefix: bytes, values: pa.BinaryArray) -> pa.BinaryArray:
    return pc.binary_join_element_wise(pa.scalar(prefix, values.type), values, pa.scalar(b"", values.type))


def _in_order(groups: list[tuple[pa.Array, Decoded]], faults: list[Fault]) -> Decoded:
    places = pa.concat_arrays([rows.cast(pa.int64()) for rows, _ in groups])
    for rows, decoded in groups:
        faults.extend(Fault(rows[each.row].as_py(), each.reason) for each in decoded.faults)
    batches = [decoded.rows for _, decoded in groups]
    if not batches[0].num_columns:
        whole = batch_of([], pa.schema([]), len(places))
    else:
        whole = pa.concat_batches(batches).take(pc.sort_indices(places))
    unmapped = frozenset[str]().union(*(decoded.unmapped for _, decoded in groups))
    return Decoded(whole, _sorted(faults), unmapped)
