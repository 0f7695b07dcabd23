"""What the interpreters in C read and build columns with, and Arrow's arrays around what they hand over.

A builder is one column or a part of one, in Arrow's own layout (`hotset/native/arrow/builders.h`).
This file must not know formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pyarrow as pa


class Kind(IntEnum):
    """How a builder keeps its values."""

    BIT = 0
    FIXED = 1
    BYTES = 2
    LIST = 3
    STRUCT = 4


@dataclass(frozen=True, slots=True)
class Builder:
    """One column, or a part of one.

    Attributes:
        name: Its field's name.
        kind: How values are kept.
        width: Bytes of a value, if all have as many.
        is_nullable: Whether null may be written.
        children: Builders of its parts.
        type: The column's type.
    """

    name: str
    kind: Kind
    width: int
    is_nullable: bool
    children: tuple[int, ...]
    type: pa.DataType


def views_of(payloads: pa.BinaryArray) -> tuple[object, object | None, object | None, int, int]:
    """Return payloads as the interpreters take them: offsets, data, validity, the first one, and how many."""
    validity, offsets, data = payloads.buffers()
    first, count = payloads.offset, len(payloads)
    # An array without values may have no offsets at all.
    return offsets if count else bytes(4 * (first + 1)), data, validity, first, count


def array_of(builders: Sequence[Builder], built: Sequence[Any], place: int) -> pa.Array:
    """Return the array of one builder, and of those that are its parts.

    Args:
        builders: All there are.
        built: What C hands over of each: length, validity, values and data.
        place: Which of them.
    """
    builder = builders[place]
    length, validity, values, data = built[place]
    buffers = [_buffer(validity)]
    if builder.kind is Kind.BYTES:
        buffers += [_buffer(values) or pa.py_buffer(bytes(4)), _buffer(data) or pa.py_buffer(b"")]
    elif builder.kind is Kind.LIST:
        buffers.append(_buffer(values) or pa.py_buffer(bytes(4)))
    elif builder.kind is not Kind.STRUCT:
        buffers.append(_buffer(values) or pa.py_buffer(b""))
    children = [array_of(builders, built, child) for child in builder.children]
    return pa.Array.from_buffers(builder.type, length, buffers, children=children or None)


def _buffer(memory: Any) -> pa.Buffer | None:
    return None if memory is None else pa.py_buffer(memory)
