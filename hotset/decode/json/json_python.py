"""JSON records to Arrow where there is no reader in C: column by column, by DuckDB and Arrow.

Records that are flat and written alike are not even parsed. Of others DuckDB hands back the JSON
token of every wanted field, and Arrow's casts turn token columns into typed ones. Records that this
does not take are found among the others. It must never be more lenient than `json_exact`.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import batch_of
from hotset.decode.json.json_alike import take_alike
from hotset.decode.json.json_columns import convert, either, has_decimals, is_covered, unless, without
from hotset.decode.json.json_tokens import (
    FORGIVEN,
    FORGIVEN_OR_ROUNDED,
    UNPARSED,
    are_json,
    refused_rows,
    rows_with,
    tokens_of,
)

_MOST_FORMS: Final = 4

Taken = tuple[pa.RecordBatch, list[int]]


def take_in_python(payloads: pa.BinaryArray, schema: pa.Schema, forms: int = _MOST_FORMS) -> Taken | None:
    """Return a row for each payload, and which were not taken, whose rows are null in every column.

    None if the columns are not covered.

    Args:
        payloads: The records.
        schema: The columns wanted.
        forms: In how many ways records may be written that are taken without being parsed.
    """
    alike = take_alike(payloads, schema) if forms else None
    if alike is None:
        return _take_by_columns(payloads, schema)
    if alike.taken is None:
        return alike.rows, []
    is_left = pc.invert(alike.taken)
    left = pc.indices_nonzero(is_left)
    others = take_in_python(payloads.filter(is_left), schema, forms - 1)
    if others is None:
        return None
    rows, refused = others
    behind = pa.arange(alike.rows.num_rows, alike.rows.num_rows + rows.num_rows)
    places = pc.replace_with_mask(alike.places, is_left, behind)
    return pa.concat_batches([alike.rows, rows]).take(places), [left[place].as_py() for place in refused]


def _take_by_columns(payloads: pa.BinaryArray, schema: pa.Schema) -> Taken | None:
    whole = pa.struct(list(schema)) if schema.names else pa.struct([("_", pa.string())])
    if not is_covered(whole):
        return None
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
    if refused is None:
        return rows, []
    if rows.num_columns:
        rows = rows.take(pc.if_else(refused, None, pa.arange(0, rows.num_rows)))
    return rows, pc.indices_nonzero(refused).to_pylist()


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
