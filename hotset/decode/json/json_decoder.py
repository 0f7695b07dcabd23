"""JSON records to Arrow: by the reader in C where it was built, by the exact decoder elsewhere.

The reader takes what is plainly right. Records that it does not take are decided by `json_exact` alone, which
either decodes them or says why not. So it may never be more lenient than that.
"""

from __future__ import annotations

import pyarrow as pa

from hotset.decode.decoded import Decoded, Fault
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.json.json_exact import decode_exactly
from hotset.decode.json.json_native import reader_of


def decode_json(
    payloads: pa.BinaryArray,
    schema: pa.Schema,
    headers: pa.ListArray | None = None,
    *,
    epoch_unit: EpochUnit = EpochUnit.MILLIS,
) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`.

    A field that is absent or null is null; fields without a column are
    ignored; the last of equal names counts. `json_exact` has the type table.

    Args:
        payloads: The documents.
        schema: The columns wanted.
        headers: Not looked at.
        epoch_unit: What a number in a column of timestamps counts.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """
    reader = reader_of(schema, epoch_unit)
    if reader is None:
        return decode_exactly(payloads, schema, epoch_unit)
    taken, refused = reader.take(payloads)
    if not refused:
        return taken
    exact = decode_exactly(payloads.take(pa.array(refused, pa.int64())), schema, epoch_unit)
    return _completed(taken, refused, exact)


def _completed(taken: Decoded, refused: list[int], exact: Decoded) -> Decoded:
    """Put what the exact decoder makes of refused payloads in their places among the rows."""
    rows, unmapped = taken.rows, taken.unmapped | exact.unmapped
    faults = tuple(Fault(refused[fault.row], fault.reason) for fault in exact.faults)
    if not rows.num_columns or len(faults) == len(refused):
        return Decoded(rows, faults, unmapped)  # such rows are null already
    order = list(range(rows.num_rows))
    for number, place in enumerate(refused):
        order[place] = rows.num_rows + number
    rows = pa.concat_batches([rows, exact.rows]).take(pa.array(order, pa.int64()))
    return Decoded(rows, faults, unmapped)
