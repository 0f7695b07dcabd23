"""JSON records to Arrow, column by column, as strict as the slow way and far faster.

DuckDB parses each record once and hands back the JSON token of every wanted
field; Arrow's casts turn token columns into typed ones. Tokens keep their
quotes, so `"1"` can never pass as 1, and 1.5 cannot be rounded into a bigint.
Whatever this path does not accept at once is decided by `json_exact`, which
either decodes it or names the record. So this file must never be the more
lenient of the two, and it raises no decode error of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from hotset.decode.decoded import Decoded, batch_of
from hotset.decode.json_exact import decode_exactly

_LOCKED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "enable_external_access": "false",
}


_FORGIVEN: Final = r",[ \t\r\n]*[}\]]|[:\[,][ \t\r\n]*[-+]?(?i:nan|inf)"


class _NotHereError(Exception):
    """This path does not take the batch; the exact one has to."""


def decode_json(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`.

    A field that is absent or null is null; fields without a column are
    ignored; the first of duplicate keys counts. `json_exact` has the type table.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """
    try:
        return Decoded(_decode_columns(payloads, schema))
    except (_NotHereError, pa.ArrowInvalid, pa.ArrowNotImplementedError, duckdb.Error, UnicodeDecodeError):
        # DuckDB cannot always write down why a record is not JSON: hence the last of these.
        return decode_exactly(payloads, schema, headers)


def _decode_columns(payloads: pa.BinaryArray, schema: pa.Schema) -> pa.RecordBatch:
    if len(payloads) == 0:
        return pa.RecordBatch.from_pylist([], schema=schema)
    if payloads.null_count or len({name.lower() for name in schema.names}) < len(schema.names):
        raise _NotHereError
    text = payloads.cast(pa.string())
    # from_json turns any other valid document into a row of nulls.
    if not _all(pc.starts_with(pc.ascii_ltrim(text, " \t\r\n"), "{")):
        raise _NotHereError
    # What the parser forgives and JSON does not: a trailing comma, and words for numbers. Where
    # these are part of a string, the exact path will accept them.
    if pc.any(pc.match_substring_regex(text, _FORGIVEN)).as_py():
        raise _NotHereError
    tokens = _parse(text, schema.names)
    arrays = [
        _typed(tokens.column(field.name).combine_chunks().cast(pa.string()), field.type) for field in schema
    ]
    return batch_of(arrays, schema, len(payloads))


def _parse(text: pa.StringArray, names: list[str]) -> pa.Table:
    structure = json.dumps(dict.fromkeys(names, "JSON") or {"_": "JSON"})
    connection = _connection()
    connection.register("records", pa.table({"v": text}))
    try:
        tokens = connection.sql(
            "SELECT unnest(from_json(v, ?)) FROM records", params=[structure]
        ).to_arrow_table()
    finally:
        connection.unregister("records")
    if tokens.num_rows != len(text):
        raise _NotHereError
    return tokens


_local = threading.local()
_root_lock = threading.Lock()
_root: list[duckdb.DuckDBPyConnection] = []


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


def _all(found: pa.BooleanArray) -> bool:
    return bool(pc.all(found, min_count=0).as_py())


def _typed(tokens: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    for matches, convert in _CONVERTERS:
        if matches(wanted):
            return convert(tokens, wanted)
    raise _NotHereError


def _boolean(tokens: pa.StringArray, _wanted: pa.DataType) -> pa.Array:
    if not _all(pc.is_in(tokens.drop_null(), pa.array(["true", "false"]))):
        raise _NotHereError
    return pc.equal(tokens, "true")


def _integer(tokens: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    return tokens.cast(wanted)


def _floating(tokens: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    numbers = tokens.cast(pa.float64()).cast(wanted)
    if not _all(pc.is_finite(numbers)):
        raise _NotHereError
    return numbers


def _unquoted(tokens: pa.StringArray) -> pa.StringArray:
    present = tokens.drop_null()
    if not _all(pc.starts_with(present, '"')):
        raise _NotHereError
    if not pc.any(pc.match_substring(present, "\\")).as_py():
        return pc.utf8_slice_codeunits(tokens, 1, -1)
    return pa.array([None if t is None else json.loads(t) for t in tokens.to_pylist()], pa.string())


def _string(tokens: pa.StringArray, _wanted: pa.DataType) -> pa.Array:
    try:
        return _unquoted(tokens)
    except UnicodeEncodeError:
        raise _NotHereError from None


def _parsed(tokens: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    return _unquoted(tokens).cast(wanted)


def _timestamp(tokens: pa.StringArray, wanted: pa.DataType) -> pa.Array:
    present = tokens.drop_null()
    if len(present) and not pc.any(pc.starts_with(present, '"')).as_py():
        return pc.multiply_checked(tokens.cast(pa.int64()), 1000).cast(wanted)
    return _unquoted(tokens).cast(wanted)


_CONVERTERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[..., pa.Array]], ...]] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_string, _string),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_date32, _parsed),
)
