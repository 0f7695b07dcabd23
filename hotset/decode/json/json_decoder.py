"""JSON records to Arrow, as strict as the slow way and far faster.

The reader in C takes what is plainly right, or DuckDB and Arrow do where it was not
built. Records that these do not take are decided by `json_exact` alone, which either
decodes them or says why not. So neither may ever be more lenient than that.
"""

from __future__ import annotations

import pyarrow as pa

from hotset.decode.decoded import Decoded, Fault
from hotset.decode.json.json_exact import decode_exactly
from hotset.decode.json.json_native import reader_of
from hotset.decode.json.json_python import take_in_python


def decode_json(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`.

    A field that is absent or null is null; fields without a column are
    ignored; the first of duplicate keys counts. `json_exact` has the type table.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """
    if not len(payloads):
        return decode_exactly(payloads, schema, headers)
    reader = reader_of(schema)
    taken = take_in_python(payloads, schema) if reader is None else reader.take(payloads)
    if taken is None:
        return decode_exactly(payloads, schema, headers)
    rows, refused = taken
    return _completed(rows, refused, payloads) if refused else Decoded(rows)


def _completed(rows: pa.RecordBatch, refused: list[int], payloads: pa.BinaryArray) -> Decoded:
    """Put what the exact decoder makes of refused payloads in their places among the rows."""
    exact = decode_exactly(payloads.take(pa.array(refused, pa.int64())), rows.schema)
    faults = tuple(Fault(refused[fault.row], fault.reason) for fault in exact.faults)
    if not rows.num_columns or len(faults) == len(refused):
        return Decoded(rows, faults)  # such rows are null already
    order = list(range(rows.num_rows))
    for number, place in enumerate(refused):
        order[place] = rows.num_rows + number
    return Decoded(pa.concat_batches([rows, exact.rows]).take(pa.array(order, pa.int64())), faults)
