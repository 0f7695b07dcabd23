"""How a flat JSON object is written: where its values are, and what is around each of them between two cuts.

Only what is certainly one sound object has values here. It must not know columns or other records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

_INTEGER: Final = r"-?(?:0|[1-9][0-9]*)"
_NUMBER: Final = rf"{_INTEGER}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
# -0 is an integer, and as such no negative zero.
_FLOATING: Final = rf"0|-?[1-9][0-9]*|{_INTEGER}(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
_WORD: Final = "true|false"
_BEGIN: Final = re.compile(r" *\{ *")
_MEMBER: Final = re.compile(
    rf'"([^"\\]*)" *: *(?:"([^"\\]*)"|({_NUMBER}|{_WORD}|null)) *(?:,|(}})) *', re.ASCII
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in the text of an object, with the places where it begins and ends; strings without quotes."""

    key: str
    begin: int
    end: int
    is_string: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """What an object has between two cuts: a value and what is around it, or something that never changes.

    Attributes:
        value: The value in the first object.
        before: The bytes before it; all of them if there is none.
        after: Those after it.
    """

    value: Value | None
    before: bytes
    after: bytes


def values_of(text: str) -> list[Value]:
    """Return the values of an object; none if it is no flat one, or not certainly."""
    values: list[Value] = []
    keys: set[str] = set()
    found = _BEGIN.match(text)
    while found:
        found = _MEMBER.match(text, found.end())
        if found is None or found[1] in keys:
            return []
        keys.add(found[1])
        is_string = found[2] is not None
        values.append(Value(found[1], *found.span(2 if is_string else 3), is_string))
        if found[4]:
            return values if found.end() == len(text) else []
    return []


def cells_of(text: str, values: Sequence[Value], mark: str) -> list[Cell]:
    """Return what an object is cut to; nothing if a cut goes through a value, or no value is known."""
    cells: list[Cell] = []
    end, left = -1, list(reversed(values))
    for piece in text.split(mark) if left else ():
        begin, end = end + 1, end + 1 + len(piece)
        if not left or left[-1].begin > end:
            cells.append(Cell(None, piece.encode(), b""))
            continue
        value = left.pop()
        if value.end > end or (left and left[-1].begin <= end):
            return []
        cells.append(Cell(value, text[begin : value.begin].encode(), text[value.end : end].encode()))
    return cells


def tokens_like(kind: pa.DataType | None) -> str:
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
