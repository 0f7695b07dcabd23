"""Which formats there are, and how a topic's records are encoded.

Adding a format is one file beside this one and one line in the table below. The
file decodes nothing itself, and must not know where an option came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pyarrow as pa

from hotset.decode.avro import Known
from hotset.decode.bad_records import BadRecords
from hotset.decode.decoded import Decoder
from hotset.decode.envelope import Envelope, EnvelopeDecoder, check_envelope, rows_in
from hotset.decode.framed import KINDS, FramedDecoder, Side
from hotset.decode.json import EpochUnit, decode_json
from hotset.decode.raw import RAW, raw_decoder, require_raw_column
from hotset.errors import RegistryConfigError, SchemaMismatchError, UnsupportedFormatError
from hotset.registry import RegisteredSchema, SchemaRegistry

# Formats in which a document may be the payload of another, with its schema beside it.
MAY_BE_WRAPPED: Final = ("json", "json_schema")
FORMATS: Final = tuple(sorted(("json", *RAW, *KINDS)))


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How the records of a topic become rows.

    Attributes:
        value: Format of record values, one of `FORMATS`.
        skips_tombstones: Whether records without a value are dropped.
        bad_records: What becomes of records that are no rows.
        key: Format of record keys, one of `FORMATS`, or None if no column is of the key.
        key_fields: The columns that keys fill.
        registry: Properties of the schema registry without their prefix; secrets are references.
        envelope: How values tell of changes to rows, if they do.
        epoch_unit: What a number of JSON in a column of timestamps counts; None if that is what the table's
            writer takes it for, which is not known yet.
        reader_schema: Whose aliases and defaults count for Avro values: `none`, or a schema's id; `latest`
            until it is known which id that is.
    """

    value: str = "json"
    skips_tombstones: bool = False
    bad_records: BadRecords = BadRecords.FAIL
    key: str | None = None
    key_fields: tuple[str, ...] = ()
    registry: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    reader_schema: str = "none"
    envelope: Envelope | None = None
    epoch_unit: EpochUnit | None = EpochUnit.MILLIS

    @property
    def needs_registry(self) -> bool:
        """Whether records name schemas that a registry knows."""
        return not KINDS.keys().isdisjoint({self.value, self.key})


def decoder_for(
    record_format: RecordFormat,
    registry: SchemaRegistry | None = None,
    *,
    side: Side = "value",
    columns: tuple[str, ...] = (),
) -> Decoder:
    """Return the decoder of a topic's values or keys.

    Args:
        record_format: How they are encoded.
        registry: Knows the schemas of formats that need one.
        side: Which of the two.
        columns: All columns that these fill, of which some are wanted at a time.

    Raises:
        UnsupportedFormatError: There is no such format.
        RegistryConfigError: It needs a registry, and there is none.
    """
    name = record_format.value if side == "value" else record_format.key
    envelope = None if side == "key" else record_format.envelope
    known = tuple((path, columns) for path in (("",) if envelope is None else rows_in(envelope)))
    found = _plain_decoder(record_format, registry, side, name, known)
    if envelope is None:
        return found
    return EnvelopeDecoder(found, envelope, may_be_wrapped=name in MAY_BE_WRAPPED)


def _plain_decoder(
    record_format: RecordFormat,
    registry: SchemaRegistry | None,
    side: Side,
    name: str | None,
    known: Known,
) -> Decoder:
    epoch_unit = record_format.epoch_unit or EpochUnit.MILLIS
    if name == "json":
        return partial(decode_json, epoch_unit=epoch_unit)
    if name in RAW:
        return raw_decoder(name)
    if name not in KINDS:
        raise UnsupportedFormatError(
            f"{side} format {name!r} is not supported; supported: {', '.join(FORMATS)}", format=name
        )
    if registry is None:
        raise RegistryConfigError(f"{side} format {name!r} needs a schema registry; set schema.registry.url")
    chosen = record_format.reader_schema
    reader = None if side == "key" or chosen == "none" else _Reader(registry, int(chosen))
    isolates = record_format.bad_records is not BadRecords.FAIL
    # A key is often no record but one value, which is at home in the one column that keys fill.
    lone = record_format.key_fields[0] if side == "key" and len(record_format.key_fields) == 1 else None
    return FramedDecoder(
        name, registry, side, reader, lone=lone, known=known, isolates=isolates, epoch_unit=epoch_unit
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Finds the schema whose aliases and defaults count."""

    registry: SchemaRegistry
    schema_id: int

    def __call__(self) -> RegisteredSchema:
        found = self.registry.by_id(self.schema_id)
        if found.kind != "AVRO":
            raise SchemaMismatchError(
                f"the schema that option 'readerSchema' names (id {self.schema_id}) is not Avro; name one "
                "that is"
            )
        return found


def require_columns(
    record_format: RecordFormat, schema: pa.Schema, coordinates: Mapping[str, object]
) -> None:
    """Raise unless a format can fill the columns of a table.

    Args:
        record_format: How records are encoded.
        schema: All columns of the table.
        coordinates: Columns that hold where a record came from.

    Raises:
        UnsupportedFormatError: A raw format would fill more or fewer columns than one, or one of
            another type; or a key's column is none of the table, or holds a coordinate.
    """
    for name in record_format.key_fields:
        if name not in schema.names or name in coordinates:
            known = ", ".join(each for each in schema.names if each not in coordinates) or "none"
            raise UnsupportedFormatError(
                f"option 'keyFields' names {name!r}, which no record fills; records fill {known}",
                column=name,
            )
    if record_format.envelope is not None:
        _require_envelope(record_format, record_format.envelope, schema, coordinates)
    of_values = [
        name for name in schema.names if name not in coordinates and name not in record_format.key_fields
    ]
    sides = (("value", record_format.value, of_values), ("key", record_format.key, record_format.key_fields))
    for side, format_name, columns in sides:
        if format_name not in RAW:
            continue
        if len(columns) != 1:
            raise UnsupportedFormatError(
                f"{side} format {format_name!r} fills exactly one column, and there are {len(columns)} "
                f"({', '.join(columns) or 'none'}) left for it; name columns of the key in 'keyFields', and "
                "those that hold where a record came from in 'kafkaColumns', or choose another format",
                format=format_name,
            )
        require_raw_column(format_name, schema.field(columns[0]))


def _require_envelope(
    record_format: RecordFormat, envelope: Envelope, schema: pa.Schema, coordinates: Mapping[str, object]
) -> None:
    if record_format.value in RAW:
        raise UnsupportedFormatError(
            f"value format {record_format.value!r} has no envelope; choose another, or envelope=none"
        )
    besides = {*coordinates, *record_format.key_fields}
    check_envelope(
        envelope, schema, fills=lambda name: name not in besides, has_key=record_format.key is not None
    )
