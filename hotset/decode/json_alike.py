"""JSON records that are all written alike, taken apart at their quotes without being parsed.

Cut at every quote, a flat object is keys, strings, and what is between them. Records are taken whose
pieces are those of the first one but for the values, and whose values have the form of their columns. That
is looked at in every piece, so what is taken is one sound object. It must never be more lenient than
`json_exact`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from hotset.decode.decoded import batch_of
from hotset.decode.json_columns import Column, convert, convert_text, either, is_covered, unless, without
from hotset.decode.json_tokens import has_match

_LEAST_SHARE: Final = 4  # a form that only one record of more than so many has is not worth the steps
_BLOCK_BYTES: Final = 1024 * 1024  # stays in the cache

_INTEGER: Final = r"-?(?:0|[1-9][0-9]*)"
_NUMBER: Final = rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
# -0 is an integer, and as such no negative zero.
_FLOATING: Final = rf"0|-?[1-9][0-9]*|{_INTEGER}(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
_WORD: Final = "true|false"
_BEGIN: Final = re.compile(r" *\{ *")
_MEMBER: Final = re.compile(
    rf'"([^"\\]*)"( *: *)(?:"[^"\\]*"|({_NUMBER}|{_WORD}|null))( *(?:,|(}})) *)', re.ASCII
)


@dataclass(frozen=True, slots=True)
class Alike:
    """Records that were taken, where some were.

    Attributes:
        rows: Their rows, and of some others, which are null.
        taken: Which records were taken; None if all were, and each has a row.
        places: Where in `rows` the row of each record is that was taken; null of others.
    """

    rows: pa.RecordBatch
    taken: pa.BooleanArray | None = None
    places: pa.Int64Array | None = None


def take_alike(payloads: pa.BinaryArray, schema: pa.Schema) -> Alike | None:
    """Take the payloads that are written like the first one; None if few are, or columns are not plain.

    Raises:
        Nothing of its own.
    """
    is_plain = schema.names and all(is_covered(each.type) and not each.type.num_fields for each in schema)
    if not is_plain or not len(payloads) or payloads.null_count or _has_controls(payloads):
        return None
    try:
        text = payloads.cast(pa.string())
        form = _form_of(text[0].as_py())
        return None if form is None else _take(text, form, schema)
    except pa.ArrowInvalid:  # some are no text, or too long
        return None


@dataclass(frozen=True, slots=True)
class _Bare:
    """A value that is no string, and what is before and after it in its piece."""

    piece: str
    before: str
    after: str


@dataclass(slots=True)
class _Form:
    """How a flat object is written.

    Attributes:
        count: Its pieces. They have their numbers for names.
        same: Those that are the same in every object written so.
        strings: Keys, and the pieces that are their strings.
        bare: Keys, and their other values.
    """

    count: int = 0
    same: dict[str, str] = field(default_factory=dict)
    strings: dict[str, str] = field(default_factory=dict)
    bare: dict[str, _Bare] = field(default_factory=dict)

    def fix(self, piece: str) -> None:
        """Add a piece that is always the same."""
        self.same[self.vary()] = piece

    def vary(self) -> str:
        """Add another piece."""
        self.count += 1
        return str(self.count - 1)


def _form_of(text: str) -> _Form | None:
    """Return how an object is written; None if it is no flat one, or not certainly."""
    form, found = _Form(), _BEGIN.match(text)
    form.fix(found[0] if found else "")
    while found:
        found = _MEMBER.match(text, found.end())
        if found is None or found[1] in form.strings or found[1] in form.bare:
            return None
        key, before, bare, after, end = found.groups()
        form.fix(key)
        if bare is None:
            form.fix(before)
            form.strings[key] = form.vary()
            form.fix(after)
        else:
            form.bare[key] = _Bare(form.vary(), before, after)
        if end:
            return form if found.end() == len(text) else None
    return None


def _has_controls(payloads: pa.BinaryArray) -> bool:
    """Whether there are line breaks and such, which JSON has between pieces only, or nothing at all."""
    _, offsets, data = payloads.buffers()
    places = memoryview(offsets).cast("i")
    first, end = places[payloads.offset], places[payloads.offset + len(payloads)]
    if first == end:
        return True
    characters = pa.Array.from_buffers(pa.uint8(), end - first, [None, data], offset=first)
    return bool(pc.min_max(characters)["min"].as_py() < ord(" "))


def _take(text: pa.StringArray, form: _Form, schema: pa.Schema) -> Alike | None:
    has_pieces = None
    try:
        pieces = _cut(text, form)
    except pa.ArrowInvalid:  # one has more of them, or less
        has_pieces = pc.equal(pc.count_substring(text, '"'), form.count - 1)
        if has_pieces.true_count * _LEAST_SHARE < len(text):
            return None
        pieces = _cut(text.filter(has_pieces), form)
    refused = either(_unlike(pieces, form), _escaped(text, pieces, form))
    bare = [pieces.column(each.piece).chunk(0) for each in form.bare.values()]
    written = pc.binary_join_element_wise(*bare, "", "\n") if bare else pa.array([], pa.string())
    refused = either(refused, _misfits(written, form, schema))
    if refused is not None and refused.false_count * _LEAST_SHARE < len(text):
        return None
    has_nulls = has_match(written, "null")
    arrays = []
    for each in schema:
        values, misfits = _column(pieces, form, each, refused, has_nulls=has_nulls)
        arrays.append(values)
        refused = either(refused, misfits)
    return _alike(batch_of(arrays, schema, pieces.num_rows), has_pieces, refused)


def _cut(text: pa.StringArray, form: _Form) -> pa.Table:
    """Return a column of each piece, as the cells of lines that are cut at their quotes.

    Raises:
        pyarrow.ArrowInvalid: A text has another number of pieces, or is very long.
    """
    names = [str(number) for number in range(form.count)]
    whole = pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text)
    lines = pa.BufferReader(pc.binary_join(whole, "\n")[0].as_buffer())
    found = csv.read_csv(
        lines,
        csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK_BYTES),
        csv.ParseOptions(
            delimiter='"', quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False
        ),
        csv.ConvertOptions(check_utf8=False, column_types=dict.fromkeys(names, pa.string())),
    ).combine_chunks()
    if found.num_rows != len(text) or any(column.null_count for column in found.columns):
        raise pa.ArrowInvalid("some lines are empty")
    return found


def _unlike(pieces: pa.Table, form: _Form) -> pa.BooleanArray | None:
    """Return where a piece is not what it is in the first object."""
    same = pieces.select(list(form.same))
    # Each as the one before: far cheaper than each as the first.
    if same.slice(0, 1).to_pylist() == [form.same] and same.slice(1).equals(same.slice(0, same.num_rows - 1)):
        return None
    refused = None
    for name, piece in form.same.items():
        refused = either(refused, unless(pc.equal(pieces.column(name).chunk(0), piece)))
    return refused


def _escaped(text: pa.StringArray, pieces: pa.Table, form: _Form) -> pa.BooleanArray | None:
    """Return where a string has an escape in it, or ends at a quote that is none."""
    refused = None
    for piece in form.strings.values() if has_match(text, r"\\") else ():
        refused = either(refused, pc.match_substring(pieces.column(piece).chunk(0), "\\"))
    return refused if refused is not None and refused.true_count else None


def _misfits(written: pa.StringArray, form: _Form, schema: pa.Schema) -> pa.BooleanArray | None:
    """Return where a value is no string and does not have the form of its column, or of any value."""
    line = ""
    for key, each in form.bare.items():
        tokens = _tokens_like(schema.field(key).type if key in schema.names else None)
        line += rf"{re.escape(each.before)}(?:{tokens}){re.escape(each.after)}\n"
    # As one long text first, where no piece has such a line break inside.
    if has_match(written, rf"\A(?:{line})*\z") or not form.bare:
        return None
    return unless(pc.match_substring_regex(written, rf"\A{line}\z"))


def _tokens_like(kind: pa.DataType | None) -> str:
    """Return the pattern of values that are no strings, of a column or of none."""
    if kind is None:
        return rf"{_NUMBER}|{_WORD}|null"
    if pa.types.is_boolean(kind):
        return rf"{_WORD}|null"
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        return rf"{_INTEGER}|null"
    if pa.types.is_floating(kind):
        return rf"{_FLOATING}|null"
    if pa.types.is_decimal(kind):
        return rf"{_NUMBER}|null"
    return "null"


def _column(
    pieces: pa.Table, form: _Form, wanted: pa.Field, refused: pa.BooleanArray | None, *, has_nulls: bool
) -> Column:
    if wanted.name in form.strings:
        text = pieces.column(form.strings[wanted.name]).chunk(0)
        return convert_text(without(text, refused), wanted.type)
    if wanted.name not in form.bare:
        return Column(pa.nulls(pieces.num_rows, wanted.type), None)
    found = form.bare[wanted.name]
    tokens = pc.utf8_slice_codeunits(
        without(pieces.column(found.piece).chunk(0), refused), len(found.before), -len(found.after)
    )
    if has_nulls:
        tokens = pc.if_else(pc.equal(tokens, "null"), None, tokens)
    return convert(tokens, wanted.type)


def _alike(
    rows: pa.RecordBatch, has_pieces: pa.BooleanArray | None, refused: pa.BooleanArray | None
) -> Alike:
    if refused is None and has_pieces is None:
        return Alike(rows)
    numbers = pa.arange(0, rows.num_rows)
    if refused is not None:
        numbers = pc.if_else(refused, None, numbers)
        rows = rows.take(numbers)
    places = numbers
    if has_pieces is not None:
        nothing = pa.nulls(len(has_pieces), pa.int64())
        places = pc.replace_with_mask(nothing, has_pieces, numbers)
    return Alike(rows, places.is_valid(), places)
