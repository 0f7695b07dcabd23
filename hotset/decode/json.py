"""JSON records to Arrow, column by column, as strict as the slow way and far faster.

DuckDB parses each record once and hands back the JSON token of every wanted
field; Arrow's casts turn token columns into typed ones. Records that this does
not take are found, and are decided by `json_exact` alone, which either decodes
them or says why not. So this file must never be the more lenient of the two.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.json_columns import convert, either, has_decimals, is_covered, unless, without
from hotset.decode.json_exact import decode_exactly
from hotset.decode.json_tokens import (
    FORGIVEN,
    FORGIVEN_OR_ROUNDED,
    UNPARSED,
    are_json,
    refused_rows,
    rows_with,
    tokens_of,
)


def decode_json(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`.

    A field that is absent or null is null; fields without a column are
    ignored; the first of duplicate keys counts. `json_exact` has the type table.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """
    whole = pa.struct(list(schema)) if schema.names else pa.struct([("_", pa.string())])
    if len(payloads) == 0 or not is_covered(whole):
        return decode_exactly(payloads, schema, headers)
    text, refused = _text(payloads)
    unsound = rows_with(text, FORGIVEN_OR_ROUNDED if has_decimals(whole) else FORGIVEN)
    text, refused = without(text, unsound), either(refused, unsound)
    tokens, misfits = _tokens(text, [child.name for child in whole])
    refused = either(refused, misfits)
    arrays = []
    for field in schema:
        found = pc.struct_field(tokens, field.name).cast(pa.string())
        values, misfits = convert(found, field.type)
        arrays.append(values)
        refused = either(refused, misfits)
    rows = batch_of(arrays, schema, len(payloads))
    return Decoded(rows) if refused is None else _completed(rows, refused, payloads)


def _text(payloads: pa.BinaryArray) -> tuple[pa.StringArray, pa.BooleanArray | None]:
    """Return payloads as text, and which of them are certainly no text that begins an object."""
    refused = None
    try:
        text = payloads.cast(pa.string())
    except pa.ArrowInvalid:
        refused = refused_rows(payloads, lambda each: each.cast(pa.string()), pa.ArrowInvalid)
        text = without(payloads, refused).cast(pa.string())
    # Any other valid document would be a row of nulls.
    strange = unless(pc.starts_with(text, "{"))
    if strange is not None:
        strange = unless(pc.starts_with(pc.ascii_ltrim(text, " \t\r\n"), "{"))
    return without(text, strange), either(refused, strange)


def _tokens(text: pa.StringArray, names: list[str]) -> tuple[pa.StructArray, pa.BooleanArray | None]:
    """Return the fields of each document as tokens, and which documents are not JSON."""
    structure = dict.fromkeys(names, "JSON")
    try:
        return tokens_of(text, structure), None
    except UNPARSED:
        refused = unless(are_json(text))
    try:
        return tokens_of(without(text, refused), structure), refused
    except UNPARSED:
        refused = refused_rows(text, lambda each: tokens_of(each, structure), UNPARSED)
        return tokens_of(without(text, refused), structure), refused


def _completed(rows: pa.RecordBatch, refused: pa.BooleanArray, payloads: pa.BinaryArray) -> Decoded:
    """Put what the exact decoder makes of refused payloads in their places among the rows."""
    places = pc.indices_nonzero(refused).to_pylist()
    exact = decode_exactly(payloads.filter(refused), rows.schema)
    faults = tuple(Fault(places[fault.row], fault.reason) for fault in exact.faults)
    if not rows.num_columns:
        return Decoded(rows, faults)
    order = list(range(rows.num_rows))
    for number, place in enumerate(places):
        order[place] = rows.num_rows + number
    return Decoded(pa.concat_batches([rows, exact.rows]).take(pa.array(order, pa.int64())), faults)
