"""JSON text taken apart by DuckDB: the token of each field, item or entry, as it was written.

Tokens keep their quotes, so `"1"` is not 1 and 1.5 is not rounded. DuckDB forgives
what JSON does not allow and reads numbers with fraction or exponent as doubles; where
that could show is looked for here, in the text. The file must not know column types.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

# What comes of text that is no JSON: DuckDB's error, Arrow's if rows were on their way already, or
# that of not being able to write down why.
UNPARSED: Final = (duckdb.Error, OSError, UnicodeDecodeError)

_LOCKED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "enable_external_access": "false",
}

_SPACE: Final = r"[ \t\r\n]*"
_WORD: Final = rf"[-+]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]){_SPACE}[,}}\]]"
_DIGITS: Final = "|".join(rf"[0-9]{{{whole}}}\.[0-9]{{{16 - whole}}}" for whole in range(1, 16))
# Up to fifteen digits come back from a double as they were.
_ROUNDED: Final = rf"-?(?:{_DIGITS}|[0-9]{{16,}}\.|[0-9]+(?:\.[0-9]+)?[eE])"

# A value follows one of three characters. Looking for each by itself is several times faster,
# because a pattern that begins with one character is searched for by that.
FORGIVEN: Final = (
    rf":{_SPACE}{_WORD}",
    rf",{_SPACE}(?:[}}\]]|{_WORD})",
    rf"\[{_SPACE}{_WORD}",
)
FORGIVEN_OR_ROUNDED: Final = (
    rf":{_SPACE}(?:{_WORD}|{_ROUNDED})",
    rf",{_SPACE}(?:[}}\]]|{_WORD}|{_ROUNDED})",
    rf"\[{_SPACE}(?:{_WORD}|{_ROUNDED})",
)

# So many slices are tried to find what is refused, before all that is left counts as refused.
_MOST_PROBES: Final = 4096


def tokens_of(text: pa.StringArray, structure: Any) -> pa.Array:
    """Return what DuckDB's `from_json` makes of each document, null where it does not fit.

    Args:
        text: JSON documents, or nulls.
        structure: What to take out of them; leaves are "JSON".

    Raises:
        duckdb.Error, OSError, UnicodeDecodeError: A document is no JSON (`UNPARSED`).
    """
    return _ask("SELECT from_json(v, ?) FROM records", text, json.dumps(structure))


def are_json(text: pa.StringArray) -> pa.BooleanArray:
    """Return which documents DuckDB takes for JSON; null for nulls."""
    return _ask("SELECT json_valid(v) FROM records", text)


def rows_with(text: pa.StringArray, patterns: Sequence[str]) -> pa.BooleanArray | None:
    """Return which texts match one of some patterns, or None if none does."""
    # As one long text first: searching that costs a fraction of searching each.
    if not any(has_match([text], pattern) for pattern in patterns):
        return None
    found = pc.and_kleene(pc.match_substring_regex(text, "|".join(patterns)), text.is_valid())
    return found if found.true_count else None


def has_match(texts: Collection[pa.StringArray], pattern: str) -> bool:
    """Return whether a pattern matches in one of these columns, whose texts are written one after another."""
    wholes = pa.chunked_array([_whole(each) for each in texts], pa.string())
    return any(pc.match_substring_regex(wholes, pattern).to_pylist())


def _whole(text: pa.StringArray) -> pa.StringArray:
    _, offsets, characters = text.buffers()
    if characters is None or not len(text):
        return pa.array([""], pa.string())
    places = memoryview(offsets).cast("i")
    first, end = places[text.offset], places[text.offset + len(text)]
    return pa.StringArray.from_buffers(
        1, pa.py_buffer(struct.pack("=ii", 0, end - first)), characters.slice(first, end - first)
    )


def refused_rows(values: pa.Array, attempt: Callable[[pa.Array], object], errors: Any) -> pa.BooleanArray:
    """Return which values an attempt on all of them fails for, by trying halves of halves.

    Args:
        values: What an attempt has failed for.
        attempt: Raises one of `errors` if it does not take one of the values.
        errors: Exceptions.
    """
    refused = [False] * len(values)
    pending = [(0, len(values))]
    probes = 0
    while pending:
        start, end = pending.pop()
        probes += 1
        try:
            if probes <= _MOST_PROBES:
                attempt(values.slice(start, end - start))
                continue
        except errors:
            middle = (start + end) // 2
            if end - start > 1:
                pending += [(middle, end), (start, middle)]
                continue
        refused[start:end] = [True] * (end - start)
    return pa.array(refused, pa.bool_())


_local = threading.local()
_root_lock = threading.Lock()
_root: list[duckdb.DuckDBPyConnection] = []


def _ask(query: str, text: pa.StringArray, *parameters: str) -> pa.Array:
    connection = _connection()
    connection.register("records", pa.table({"v": text}))
    try:
        # A stream costs a sixth less than a table, because the rows are not gathered first.
        rows = connection.sql(query, params=list(parameters)).to_arrow_reader(max(1, len(text)))
        found = rows.read_all().column(0)
    finally:
        connection.unregister("records")
    assert len(found) == len(text), "there is one answer per document"
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


def _connection() -> duckdb.DuckDBPyConnection:
    # One locked-down in-memory instance per process, one cursor per thread:
    # registered names live on the cursor, so threads do not see each other's.
    if not hasattr(_local, "connection"):
        with _root_lock:
            if not _root:
                _root.append(duckdb.connect(":memory:", config=dict(_LOCKED)))
            _local.connection = _root[0].cursor()
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection
