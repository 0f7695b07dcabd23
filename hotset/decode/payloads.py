"""Values and keys of raw records, decoded side by side into one batch.

Each has a format of its own and columns of its own. An error about a schema
learns here which record needed it first. What a fault means is not decided here.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.formats import RecordFormat, decoder_for
from hotset.decode.framed import KINDS
from hotset.errors import HotsetError
from hotset.registry import SchemaRegistry


class PayloadDecoder:
    """Decodes what records of one topic hold: the columns of their values and of their keys."""

    def __init__(self, record_format: RecordFormat, topic: str, registry: SchemaRegistry | None) -> None:
        self._format = record_format
        self._topic = topic
        self._values = decoder_for(record_format, registry, topic=topic)
        self._keys = None
        if record_format.key is not None:
            self._keys = decoder_for(record_format, registry, topic=topic, side="key")

    def needs_keys(self, schema: pa.Schema) -> bool:
        """Return whether these columns need the records' keys."""
        return not set(self._format.key_fields).isdisjoint(schema.names)

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
        try:
            values = self._values(raw.column("value"), of_values, headers)
            if self._keys is None or not of_keys:
                return values
            keys = self._keys(raw.column("key"), pa.schema(of_keys), headers)
        except HotsetError as exc:
            if "row" not in exc.details:
                raise
            raise self._placed(exc, raw) from exc
        found = {fault.row: Fault(fault.row, _of_key(fault.reason)) for fault in keys.faults}
        found.update((fault.row, fault) for fault in values.faults)
        arrays = [(keys if field in of_keys else values).rows.column(field.name) for field in schema]
        rows = batch_of(arrays, schema, raw.num_rows)
        if found:
            is_bad = pc.is_in(pa.arange(0, raw.num_rows), pa.array(list(found), pa.int64()))
            rows = rows.take(pc.if_else(is_bad, None, pa.arange(0, raw.num_rows)))
        return Decoded(rows, tuple(found[row] for row in sorted(found)))

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
