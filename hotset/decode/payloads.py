"""Values and keys of raw records, decoded side by side into one batch.

Each has a format of its own and columns of its own. An error about a schema
learns here which record needed it first. What a fault means is not decided here.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.cdc_column import CDC, KEY, keys_from, with_coordinates
from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.envelope import cdc_of
from hotset.decode.formats import MAY_BE_WRAPPED, RecordFormat, decoder_for
from hotset.decode.framed import KINDS
from hotset.decode.matching_fields import mark_row
from hotset.decode.unwrap import decode_unwrapped
from hotset.errors import HotsetError
from hotset.registry import SchemaRegistry


class PayloadDecoder:
    """Decodes what records of one topic hold: the columns of their values and of their keys."""

    def __init__(
        self,
        record_format: RecordFormat,
        topic: str,
        registry: SchemaRegistry | None,
        columns: tuple[str, ...] = (),
    ) -> None:
        self._format = record_format
        self._topic = topic
        self._columns = set(columns)
        self._values = decoder_for(record_format, registry, columns=columns)
        self._keys = None
        if record_format.key is not None:
            self._keys = decoder_for(record_format, registry, side="key", columns=record_format.key_fields)

    def needs_keys(self, schema: pa.Schema) -> bool:
        """Return whether these columns need the records' keys."""
        return not set(self._format.key_fields).isdisjoint(schema.names) or bool(self._cdc_key(schema))

    def needs_headers(self, schema: pa.Schema) -> bool:
        """Return whether these columns need the records' headers, where schemas may be named."""
        return self._format.value in KINDS or (self._format.key in KINDS and self.needs_keys(schema))

    def decode(self, raw: pa.RecordBatch, schema: pa.Schema) -> Decoded:
        """Return one row of `schema` per record, in order.

        Args:
            raw: As a drain gives them; keys and headers only if they are needed.
            schema: Columns of values and keys.

        Raises:
            HotsetError: What decoding needs could not be had; names the first record that needs it.
        """
        headers = raw.column("headers") if "headers" in raw.schema.names else None
        of_keys = [field for field in schema if field.name in self._format.key_fields]
        of_values = pa.schema([field for field in schema if field not in of_keys])
        if self._columns == set(of_values.names):
            of_values = mark_row(of_values)
        try:
            values = self._values(raw.column("value"), of_values, headers)
            values = self._with_cdc(raw, values, headers)
            if self._keys is None or not of_keys:
                return values
            keys = self._keys(raw.column("key"), pa.schema(of_keys), headers)
        except HotsetError as exc:
            if "row" not in exc.details:
                raise
            raise self._placed(exc, raw) from exc
        arrays = [(keys if field in of_keys else values).rows.column(field.name) for field in schema]
        found = _together(batch_of(arrays, schema, raw.num_rows), values.faults, keys.faults)
        return replace(found, unmapped=values.unmapped)

    def _cdc_key(self, schema: pa.Schema) -> list[pa.Field]:
        cdc = None if self._format.envelope is None else cdc_of(self._format.envelope, schema)
        if cdc is None or cdc.type.get_field_index(KEY) < 0:
            return []
        return list(cdc.type.field(KEY).type)

    def _with_cdc(self, raw: pa.RecordBatch, values: Decoded, headers: pa.ListArray | None) -> Decoded:
        schema = values.rows.schema
        if self._format.envelope is None or cdc_of(self._format.envelope, schema) is None:
            return values
        keys, of_key = None, self._cdc_key(schema)
        faults: tuple[Fault, ...] = ()
        if self._keys is not None and of_key:
            may_be_wrapped = self._format.key in MAY_BE_WRAPPED
            wanted = pa.schema([part.with_nullable(nullable=True) for part in of_key])
            told = decode_unwrapped(
                self._keys, raw.column("key"), wanted, headers, may_be_wrapped=may_be_wrapped
            )
            keys, faults = keys_from(told, raw.column("key"), of_key)
        place = schema.get_field_index(CDC)
        column = with_coordinates(values.rows.column(place), raw.column("offset"), keys)
        rows = values.rows.set_column(place, schema.field(place), column)
        return replace(_together(rows, values.faults, faults), unmapped=values.unmapped)

    def _placed(self, error: HotsetError, raw: pa.RecordBatch) -> HotsetError:
        row = error.details["row"]
        partition, offset = raw.column("partition")[row].as_py(), raw.column("offset")[row].as_py()
        details = {name: detail for name, detail in error.details.items() if name != "row"}
        place = {"topic": self._topic, "partition": partition, "offset": offset}
        return type(error)(
            f"{error} (first needed for the record at topic {self._topic!r} partition {partition} "
            f"offset {offset})",
            **{**details, **place},
        )


def _of_key(reason: str) -> str:
    # Decoders speak of values, whatever they are given.
    if reason.startswith("its value"):
        return reason.replace("its value", "its key", 1)
    return reason if reason.startswith("its key") else f"its key: {reason}"


def _together(rows: pa.RecordBatch, values: tuple[Fault, ...], keys: tuple[Fault, ...]) -> Decoded:
    found = {fault.row: Fault(fault.row, _of_key(fault.reason)) for fault in keys}
    found.update((fault.row, fault) for fault in values)
    if found:
        places = pa.arange(0, rows.num_rows)
        is_bad = pc.is_in(places, pa.array(list(found), pa.int64()))
        rows = rows.take(pc.if_else(is_bad, None, places))
    return Decoded(rows, tuple(found[row] for row in sorted(found)))
