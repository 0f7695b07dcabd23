"""Strings that repeat, kept as numbers of a dictionary: smaller, and much cheaper to look through.

Columns of strings are encoded when a look at their beginning says that it pays. Whoever wants plain strings
gets them back. The file must not know what a column is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_LOOK_ROWS: Final = 1024


def is_encoded(array: pa.Array) -> bool:
    """Return whether an array has numbers of a dictionary in place of strings."""
    return bool(pa.types.is_dictionary(array.type))


def encode(array: pa.Array) -> pa.Array:
    """Return an array of strings with a dictionary, if its strings seem to repeat; else as it is."""
    if not pa.types.is_string(array.type):
        return array
    first = array.slice(0, _LOOK_ROWS)
    if pc.count_distinct(first).as_py() * 2 > len(first):
        return array
    return array.dictionary_encode()


def plain(array: pa.Array) -> pa.Array:
    """Return the strings of an array that may be encoded."""
    return array.dictionary_decode() if is_encoded(array) else array


def alike(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Return the parts of a column in one form: encoded if most of its rows are."""
    encoded = [array for array in arrays if is_encoded(array)]
    if not encoded:
        return list(arrays)
    if sum(map(len, encoded)) * 2 < sum(map(len, arrays)):
        return [plain(array) for array in arrays]
    return [array if is_encoded(array) else array.dictionary_encode() for array in arrays]


def join(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the parts of a column as one array."""
    if any(is_encoded(array) for array in arrays):
        return encode(pa.concat_arrays([plain(array) for array in arrays]))
    return pa.concat_arrays(list(arrays))
