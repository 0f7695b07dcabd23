"""JSON records that are all written alike, taken apart at their commas or quotes without being parsed.

Cut at every comma, a flat object is cells of a key and a value; where values have commas, at every quote it
is keys, strings, and what is between them. Records are taken whose cells are those of the first one but for
the values, and whose values have the form of their columns. That is looked at in every cell, so what is
taken is one sound object. It must never be more lenient than `json_exact`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyarrow.acero import Declaration, ProjectNodeOptions, TableSourceNodeOptions

from hotset.decode.decoded import batch_of
from hotset.decode.json.json_columns import Column, convert, convert_text, either, is_covered, unless, without
from hotset.decode.json.json_form import Cell, Value, cells_of, tokens_like, values_of
from hotset.decode.json.json_tokens import has_match

_MARKS: Final = ",", '"'
_LEAST_SHARE: Final = 4  # a form that only one record of more than so many has is not worth the steps
_BLOCK_BYTES: Final = 1024 * 1024  # stays in the cache
_LONGEST: Final = 1 << 31


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
    """Take the payloads that are written like the first one; None if few are, or columns are not plain."""
    is_plain = schema.names and all(is_covered(each.type) and not each.type.num_fields for each in schema)
    if not is_plain or not len(payloads) or payloads.null_count or _has_controls(payloads):
        return None
    try:
        text = payloads.cast(pa.string())
        values = values_of(text[0].as_py())
        for mark in _MARKS:
            cells = cells_of(text[0].as_py(), values, mark)
            cut = _cut_alike(text, len(cells), mark) if cells else None
            if cut is not None:
                return _take(*cut, cells, schema)
    except pa.ArrowInvalid:  # some are no text, or too long
        pass
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


def _cut_alike(text: pa.StringArray, count: int, mark: str) -> tuple[pa.Table, pa.BooleanArray | None] | None:
    """Return a column of each cell, and which texts have so many if not all have; None if few have."""
    try:
        return _cut(text, count, mark), None
    except pa.ArrowInvalid:  # one has more of them, or less
        has_cells = pc.equal(pc.count_substring(text, mark), count - 1)
    if has_cells.true_count * _LEAST_SHARE < len(text):
        return None
    return _cut(text.filter(has_cells), count, mark), has_cells


def _cut(text: pa.StringArray, count: int, mark: str) -> pa.Table:
    """Return a column of each cell, as those of lines that are cut at their marks.

    Raises:
        pyarrow.ArrowInvalid: A text has another number of cells, or is very long.
    """
    names = [str(number) for number in range(count)]
    found = csv.read_csv(
        pa.BufferReader(_lines(text)[0].as_buffer()),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK_BYTES),
        csv.ParseOptions(
            delimiter=mark, quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False
        ),
        csv.ConvertOptions(check_utf8=False, column_types=dict.fromkeys(names, pa.binary())),
    ).combine_chunks()
    if found.num_rows != len(text) or any(column.null_count for column in found.columns):
        raise pa.ArrowInvalid("some lines are empty")
    return found


def _take(
    pieces: pa.Table, has_cells: pa.BooleanArray | None, cells: Sequence[Cell], schema: pa.Schema
) -> Alike | None:
    insides, refused = _insides(pieces, cells)
    refused = either(refused, _unlike(pieces, cells))
    strings = {value.key: inside for value, inside in insides if value.is_string}
    bare = {value.key: inside for value, inside in insides if not value.is_string}
    refused = either(refused, _quoted(strings.values()))
    for key, tokens in bare.items():
        refused = either(refused, _misfits(tokens, schema.field(key).type if key in schema.names else None))
    rows = pieces.num_rows if has_cells is None else len(has_cells)
    if refused is not None and refused.false_count * _LEAST_SHARE < rows:
        return None
    has_nulls = has_match(bare.values(), "null")
    arrays = []
    for each in schema:
        values, misfits = _column(strings, bare, each, refused, rows=pieces.num_rows, has_nulls=has_nulls)
        arrays.append(values)
        refused = either(refused, misfits)
    return _alike(batch_of(arrays, schema, pieces.num_rows), has_cells, refused)


def _unlike(pieces: pa.Table, cells: Sequence[Cell]) -> pa.BooleanArray | None:
    """Return where a cell without a value is not what it is in the first object."""
    texts = {str(place): cell.before for place, cell in enumerate(cells) if cell.value is None}
    same = pieces.select(list(texts))
    # Each as the one before: far cheaper than each as the first.
    if not texts or (
        same.slice(0, 1).to_pylist() == [texts] and same.slice(1).equals(same.slice(0, same.num_rows - 1))
    ):
        return None
    refused = None
    for name, text in texts.items():
        refused = either(refused, unless(pc.equal(pieces.column(name).chunk(0), text)))
    return refused


def _insides(
    pieces: pa.Table, cells: Sequence[Cell]
) -> tuple[list[tuple[Value, pa.StringArray]], pa.BooleanArray | None]:
    """Return what is in cells for each value, and where something else is around one."""
    asked: dict[tuple[int, str], pc.Expression] = {}
    for place, cell in enumerate(cells):
        column = pc.field(str(place))
        if cell.value is not None and cell.before:
            asked[place, "before"] = pc.starts_with(column, cell.before)
        if cell.value is not None and cell.after:
            asked[place, "after"] = pc.ends_with(column, cell.after)
        if cell.value is not None and (cell.before or cell.after):
            asked[place, "inside"] = pc.binary_slice(column, len(cell.before), -len(cell.after) or _LONGEST)
    # At once: each call by itself would have to win the interpreter back from whoever reads ahead.
    steps = [
        Declaration("table_source", TableSourceNodeOptions(pieces)),
        Declaration("project", ProjectNodeOptions(list(asked.values()), [str(each) for each in asked])),
    ]
    told = Declaration.from_sequence(steps).to_table(use_threads=False).combine_chunks()
    found = {each: told.column(str(each)).chunk(0) for each in asked}
    refused, insides = None, []
    for place, cell in enumerate(cells):
        for side in "before", "after":
            if (place, side) in found:
                refused = either(refused, unless(found[place, side]))
        if cell.value is not None:
            column = pieces.column(place).chunk(0)
            inside = found.get((place, "inside"), column)
            around = len(cell.before) + len(cell.after)
            if _bytes_of(inside) + around * len(column) != _bytes_of(column):  # some have not even that
                refused = either(refused, unless(pc.greater_equal(pc.binary_length(column), around)))
            insides.append((cell.value, inside.view(pa.string())))
    return insides, refused


def _bytes_of(column: pa.BinaryArray) -> int:
    ends = memoryview(column.buffers()[1]).cast("i")
    return int(ends[column.offset + len(column)] - ends[column.offset])


def _quoted(strings: Collection[pa.StringArray]) -> pa.BooleanArray | None:
    """Return where a string has an escape in it, or a quote."""
    refused = None
    for character in '"', "\\":
        if has_match(strings, re.escape(character)):
            for each in strings:
                refused = either(refused, pc.match_substring(each, character))
    return refused if refused is not None and refused.true_count else None


def _misfits(tokens: pa.StringArray, kind: pa.DataType | None) -> pa.BooleanArray | None:
    """Return where a value is no string and does not have the form of its column, or of any value."""
    form = rf"(?:{tokens_like(kind)})"
    # As lines of one long text first: searching that costs a fraction of searching each.
    if has_match([_lines(tokens)], rf"\A(?:{form}\n)*{form}\z"):
        return None
    return unless(pc.match_substring_regex(tokens, rf"\A{form}\z"))


def _lines(text: pa.StringArray) -> pa.StringArray:
    """Return texts, which have no line breaks, as the lines of one."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "\n")


def _column(
    strings: Mapping[str, pa.StringArray],
    bare: Mapping[str, pa.StringArray],
    wanted: pa.Field,
    refused: pa.BooleanArray | None,
    *,
    rows: int,
    has_nulls: bool,
) -> Column:
    if wanted.name in strings:
        return convert_text(without(strings[wanted.name], refused), wanted.type)
    if wanted.name not in bare:
        return Column(pa.nulls(rows, wanted.type), None)
    tokens = without(bare[wanted.name], refused)
    if has_nulls:
        tokens = pc.if_else(pc.equal(tokens, "null"), None, tokens)
    return convert(tokens, wanted.type)


def _alike(rows: pa.RecordBatch, has_cells: pa.BooleanArray | None, refused: pa.BooleanArray | None) -> Alike:
    if refused is None and has_cells is None:
        return Alike(rows)
    numbers = pa.arange(0, rows.num_rows)
    if refused is not None:
        numbers = pc.if_else(refused, None, numbers)
        rows = rows.take(numbers)
    places = numbers
    if has_cells is not None:
        nothing = pa.nulls(len(has_cells), pa.int64())
        places = pc.replace_with_mask(nothing, has_cells, numbers)
    return Alike(rows, places.is_valid(), places)
