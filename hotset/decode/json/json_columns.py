"""JSON tokens to typed columns, as strict as the exact decoder and a column at a time.

Each conversion gives values and says which rows it refuses; those are null, and the
exact decoder has to decide them. A conversion may refuse what is good, and must not
take what the exact decoder would refuse or read in another way. It must not know
documents or records.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.byte_text import parse_bytes
from hotset.decode.decoded import array_from
from hotset.decode.json.json_tokens import has_match, refused_rows, tokens_of

_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_TIME: Final = r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_DAY: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_MISFIT: Final = (pa.ArrowInvalid,)
_FITS: Final = pa.scalar(value=True)


class Column(NamedTuple):
    """Values, null where refused; `refused` is None if all were taken."""

    values: pa.Array
    refused: pa.BooleanArray | None


def is_covered(wanted: pa.DataType) -> bool:
    """Return whether tokens can become a column of this type here."""
    if pa.types.is_struct(wanted):
        names = {child.name.lower() for child in wanted} - {""}  # DuckDB tells no others apart
        return len(names) == wanted.num_fields > 0 and all(is_covered(child.type) for child in wanted)
    if pa.types.is_map(wanted):
        return bool(pa.types.is_string(wanted.key_type)) and is_covered(wanted.item_type)
    if pa.types.is_list(wanted):
        return is_covered(wanted.value_type)
    return any(matches(wanted) for matches, _ in _SCALARS)


def has_decimals(wanted: pa.DataType) -> bool:
    """Return whether there are decimals in columns of this type."""
    children = [wanted.field(place).type for place in range(wanted.num_fields)]
    return bool(pa.types.is_decimal(wanted)) or any(has_decimals(child) for child in children)


def convert(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    """Return a column of a type that is covered, made of one token or null per row."""
    if pa.types.is_struct(wanted):
        return _struct(tokens, wanted)
    if pa.types.is_map(wanted):
        return _map(tokens, wanted)
    if pa.types.is_list(wanted):
        return _list(tokens, wanted)
    return next(make for matches, make in _SCALARS if matches(wanted))(tokens, wanted)


def convert_text(text: pa.StringArray, wanted: pa.DataType) -> Column:
    """Return a column of a type without parts, made of what is in strings without escapes, or null."""
    if pa.types.is_string(wanted):
        return Column(text, None)
    if pa.types.is_date32(wanted) or pa.types.is_timestamp(wanted):
        return _cast(text, lambda each: each.cast(wanted), _DAY)
    return convert(pc.binary_join_element_wise('"', text, '"', ""), wanted)


def either(one: pa.BooleanArray | None, other: pa.BooleanArray | None) -> pa.BooleanArray | None:
    """Return the rows that are refused for one reason or another."""
    if one is None or other is None:
        return other if one is None else one
    return pc.or_(one, other)


def without(values: pa.Array, refused: pa.BooleanArray | None) -> pa.Array:
    """Return values with nulls where they are refused."""
    return values if refused is None else pc.if_else(refused, None, values)


def unless(fits: pa.BooleanArray) -> pa.BooleanArray | None:
    """Return the rows that are refused because something is said not to fit; nulls fit."""
    return pc.invert(pc.fill_null(fits, _FITS)) if fits.false_count else None


def _cast(tokens: pa.Array, cast: Callable[[pa.Array], pa.Array], likely: str) -> Column:
    """Cast tokens; if that fails, those that look unlike `likely` are refused, and what else fails."""
    try:
        return Column(cast(tokens), None)
    except _MISFIT:
        strange = unless(pc.match_substring_regex(tokens, likely))
    kept = without(tokens, strange)
    try:
        return Column(cast(kept), strange)
    except _MISFIT:
        refused = refused_rows(kept, cast, _MISFIT)
        return Column(cast(without(kept, refused)), either(strange, refused))


def _boolean(tokens: pa.StringArray, _wanted: pa.DataType) -> Column:
    values, is_false = pc.equal(tokens, "true"), pc.equal(tokens, "false")
    if values.true_count + is_false.true_count + tokens.null_count == len(tokens):
        return Column(values, None)
    refused = unless(pc.or_(values, is_false))
    return Column(without(values, refused), refused)


def _integer(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    digits = 18 if wanted.bit_width == 64 else 9
    return _cast(tokens, lambda each: each.cast(wanted), rf"^-?[0-9]{{1,{digits}}}$")


def _floating(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    numbers, refused = _cast(tokens, lambda each: each.cast(pa.float64()).cast(wanted), _NUMBER)
    infinite = unless(pc.is_finite(numbers))
    return Column(without(numbers, infinite), either(refused, infinite))


def _string(tokens: pa.StringArray, _wanted: pa.DataType) -> Column:
    refused = unless(pc.starts_with(tokens, '"'))
    tokens = without(tokens, refused)
    # Without an escape in it, the only quotes of a token are those around it.
    plain = pc.ascii_trim(tokens, '"')
    if not has_match([tokens], r"\\"):
        return Column(plain, refused)
    is_escaped = pc.and_kleene(pc.match_substring(tokens, "\\"), tokens.is_valid())
    read = pa.array([json.loads(token) for token in tokens.filter(is_escaped).to_pylist()], pa.string())
    return Column(pc.replace_with_mask(plain, is_escaped, read), refused)


def _decimal(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    is_text = pc.starts_with(tokens, '"')
    refused = None
    if is_text.true_count:
        inside, refused = _string(without(tokens, pc.invert(is_text)), pa.string())
        tokens = pc.if_else(is_text, inside, tokens)
        refused = either(refused, unless(pc.match_substring_regex(tokens, _NUMBER)))
    # Of others Arrow may make any number: it does not see that one overflows, or rounds it.
    whole, spare = wanted.precision - wanted.scale, 38 - wanted.precision
    sure = rf"^-?0*[0-9]{{0,{whole}}}(\.[0-9]{{0,{wanted.scale}}}0{{0,{spare}}})?$"
    refused = either(refused, unless(pc.match_substring_regex(tokens, sure)))
    return Column(without(tokens, refused).cast(wanted), refused)


def _parsed(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    text, refused = _string(tokens, wanted)
    values, misfits = convert_text(text, wanted)
    return Column(values, either(refused, misfits))


def _time(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    text, refused = _string(tokens, wanted)
    strange = unless(pc.match_substring_regex(text, _TIME))
    # Arrow reads no times alone.
    moments = pc.binary_join_element_wise("1970-01-01T", without(text, strange), "")
    values, misfits = _cast(
        moments, lambda each: each.cast(pa.timestamp(wanted.unit)).cast(pa.int64()).cast(wanted), _DAY
    )
    return Column(values, either(either(refused, strange), misfits))


def _timestamp(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    is_text = pc.starts_with(tokens, '"')
    if is_text.true_count == len(tokens) - tokens.null_count:
        return _parsed(tokens, wanted)
    times, refused = _parsed(without(tokens, pc.invert(is_text)), wanted)
    numbers, misfits = _cast(
        without(tokens, is_text),
        lambda each: each.cast(pa.int64()).cast(pa.timestamp("ms", wanted.tz)).cast(wanted),
        r"^-?[0-9]{1,15}$",
    )
    return Column(pc.coalesce(times, numbers), either(refused, misfits))


def _binary(tokens: pa.StringArray, wanted: pa.DataType) -> Column:
    text, refused = _string(tokens, pa.string())
    try:
        return Column(_spelt(text, wanted), refused)
    except ValueError:
        misfits = refused_rows(text, partial(_spelt, wanted=wanted), ValueError)
        return Column(_spelt(without(text, misfits), wanted), either(refused, misfits))


def _spelt(text: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    return array_from([t if t is None else parse_bytes(t, wanted) for t in text.to_pylist()], wanted)


_SCALARS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[..., Column]], ...]] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_decimal128, _decimal),
    (pa.types.is_string, _string),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_date32, _parsed),
    (pa.types.is_time64, _time),
    (pa.types.is_binary, _binary),
    (pa.types.is_fixed_size_binary, _binary),
    (lambda wanted: wanted == pa.uuid(), _binary),
)


def _struct(tokens: pa.StringArray, wanted: pa.StructType) -> Column:
    # Another kind of document would be a struct of nulls.
    refused = unless(pc.starts_with(tokens, "{"))
    tokens = without(tokens, refused)
    found, values = tokens_of(tokens, dict.fromkeys([child.name for child in wanted], "JSON")), []
    for child in wanted:
        column, misfits = convert(pc.struct_field(found, child.name).cast(pa.string()), child.type)
        refused = either(refused, misfits)
        if not child.nullable:
            refused = either(refused, unless(pc.or_(tokens.is_null(), column.is_valid())))
        values.append(_filled(column, child))
    is_null = tokens.is_null() if refused is None else pc.or_(tokens.is_null(), refused)
    return Column(pa.StructArray.from_arrays(values, fields=list(wanted), mask=is_null), refused)


def _list(tokens: pa.StringArray, wanted: pa.ListType) -> Column:
    found = tokens_of(tokens, ["JSON"])
    items, refused = _children(tokens, found, pc.list_flatten(found), wanted.value_field)
    offsets, is_null = _places(found, refused)
    return Column(pa.ListArray.from_arrays(offsets, items, type=wanted, mask=is_null), refused)


def _map(tokens: pa.StringArray, wanted: pa.MapType) -> Column:
    found = tokens_of(tokens, "MAP(VARCHAR, JSON)").cast(pa.map_(pa.string(), pa.string()))
    entries = found.cast(pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))
    flat = pc.list_flatten(entries)
    items, refused = _children(tokens, entries, pc.struct_field(flat, "value"), wanted.item_field)
    offsets, is_null = _places(entries, refused)
    keys = pc.struct_field(flat, "key")
    return Column(pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=is_null), refused)


def _children(
    tokens: pa.StringArray, found: pa.ListArray, children: pa.Array, field: pa.Field
) -> tuple[pa.Array, pa.BooleanArray | None]:
    """Convert what is in lists, and say which lists are refused for it."""
    refused = unless(pc.or_(tokens.is_null(), found.is_valid()))
    values, misfits = convert(children.cast(pa.string()), field.type)
    if not field.nullable:
        misfits = either(misfits, unless(values.is_valid()))
        values = _filled(values, field)
    if misfits is None:
        return values, refused
    parents = pc.unique(pc.list_parent_indices(found).filter(misfits))
    places = pa.array(range(len(tokens)), parents.type)
    return values, either(refused, pc.is_in(places, parents))


def _filled(values: pa.Array, field: pa.Field) -> pa.Array:
    """Put empty values for nulls inside of what is null or refused, where Arrow wants no nulls at all."""
    if field.nullable or not values.null_count:
        return values
    empty = array_from([None], pa.struct([field])).field(0)
    places = pc.if_else(values.is_valid(), pa.array(range(len(values)), pa.int64()), len(values))
    return pa.concat_arrays([values, empty]).take(places)


def _places(found: pa.ListArray, refused: pa.BooleanArray | None) -> tuple[pa.Int32Array, pa.BooleanArray]:
    """Return where lists of what is flattened begin and end, and which are null."""
    lengths = pc.list_value_length(found).fill_null(0)
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
    return offsets, found.is_null() if refused is None else pc.or_(found.is_null(), refused)
