"""Raw values and keys fill the columns that are theirs, and only those.

A key is decoded as a value is, by a format of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from hotset.decode.formats import RecordFormat, require_columns
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError, RegistryConfigError, UnsupportedFormatError
from tests.hotset.raw import raw_records

TEXT = pa.schema([pa.field("line", pa.string()), pa.field("at", pa.int64())])
AT = {"at": "offset"}


def rows_of(
    record_format: RecordFormat,
    schema: pa.Schema,
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None = None,
) -> list[dict[str, object]]:
    raw = raw_records(values)
    if keys is not None:
        columns = [*raw.columns, pa.array(keys, pa.binary())]
        raw = pa.RecordBatch.from_arrays(columns, names=[*raw.schema.names, "key"])
    decoder = RowDecoder(record_format, schema, AT, "t")
    assert decoder.needs_keys == (keys is not None)
    rows: list[dict[str, object]] = decoder.decode(raw).rows.to_pylist()
    return rows


def test_text_fills_the_one_column() -> None:
    rows = rows_of(RecordFormat("string"), TEXT, [b"a", b"", "ü€".encode()])

    assert rows == [{"line": "a", "at": 100}, {"line": "", "at": 101}, {"line": "ü€", "at": 102}]


def test_bytes_fill_the_one_column() -> None:
    schema = pa.schema([pa.field("blob", pa.binary())])

    assert rows_of(RecordFormat("bytes"), schema, [b"\xff", b""]) == [{"blob": b"\xff"}, {"blob": b""}]


def test_text_that_is_not_utf8_names_its_record() -> None:
    with pytest.raises(DecodeError, match=r"offset 101 .*it is not UTF-8 \(byte 1\)"):
        rows_of(RecordFormat("string"), TEXT, [b"a", b"b\xff"])


def test_bytes_of_another_length_than_the_column_name_their_record() -> None:
    with pytest.raises(DecodeError, match=r"offset 101 .*it has 3 bytes, and the column has 2"):
        rows_of(RecordFormat("bytes"), pa.schema([pa.field("b", pa.binary(2))]), [b"ab", b"abc"])


def test_columns_that_nobody_looks_at_are_not_decoded() -> None:
    assert rows_of(RecordFormat("string"), pa.schema([TEXT.field("at")]), [b"\xff"]) == [{"at": 100}]


KEYED = RecordFormat("json", key="json", key_fields=("id",))
ORDER = pa.schema([pa.field("id", pa.int64()), pa.field("amount", pa.int64())])


def test_a_key_fills_its_columns_and_the_value_the_others() -> None:
    values = [b'{"amount": 1, "id": 999}', b'{"amount": 2}', b'{"amount": 3}']

    rows = rows_of(KEYED, ORDER, values, [b'{"id": 7, "amount": 999}', None, b"{}"])

    assert rows == [{"id": 7, "amount": 1}, {"id": None, "amount": 2}, {"id": None, "amount": 3}]


def test_a_key_that_does_not_decode_names_its_record() -> None:
    with pytest.raises(DecodeError, match=r"offset 100 .*its key: column 'id'"):
        rows_of(KEYED, ORDER, [b"{}"], [b'{"id": "x"}'])


def test_a_key_that_is_no_record_names_its_record() -> None:
    with pytest.raises(DecodeError, match=r"offset 101 .*its key is not one JSON document"):
        rows_of(KEYED, ORDER, [b"{}", b"{}"], [b"{}", b"x"])


def test_a_required_column_of_the_key_needs_a_key() -> None:
    schema = pa.schema([ORDER.field("id").with_nullable(False), ORDER.field("amount")])

    with pytest.raises(DecodeError, match=r"offset 101 .*column 'id' is required"):
        rows_of(KEYED, schema, [b"{}", b"{}"], [b'{"id": 7}', None])


def test_a_raw_key_fills_one_column() -> None:
    raw_key = RecordFormat("json", key="string", key_fields=("id",))
    schema = pa.schema([pa.field("id", pa.string()), pa.field("amount", pa.int64())])

    assert rows_of(raw_key, schema, [b'{"amount": 1}'], [b"k1"]) == [{"id": "k1", "amount": 1}]


def test_keys_are_not_asked_for_where_no_column_is_theirs() -> None:
    assert rows_of(KEYED, pa.schema([ORDER.field("amount")]), [b'{"amount": 1}']) == [{"amount": 1}]


@pytest.mark.parametrize(
    ("record_format", "message"),
    [
        (
            RecordFormat("string"),
            r"exactly one column, and there are 2 \(line, n\) left for it.*kafkaColumns",
        ),
        (RecordFormat("bytes", key="json", key_fields=("n",)), "'line' is of type string"),
        (
            RecordFormat("json", key="string", key_fields=("line", "n")),
            "key format 'string' fills exactly one",
        ),
        (
            RecordFormat("json", key="string", key_fields=("n",)),
            "a string or uuid column, .*'n' is of type int64",
        ),
        (RecordFormat("json", key="json", key_fields=("m",)), "'keyFields' names 'm'.*records fill line, n"),
        (RecordFormat("json", key="json", key_fields=("at",)), "'keyFields' names 'at'"),
    ],
)
def test_a_format_that_cannot_fill_the_columns_is_refused(record_format: RecordFormat, message: str) -> None:
    with pytest.raises(UnsupportedFormatError, match=message):
        require_columns(record_format, TEXT.append(pa.field("n", pa.int64())), AT)


def test_a_format_that_can_fill_the_columns_is_taken() -> None:
    require_columns(RecordFormat("string"), TEXT, AT)
    require_columns(RecordFormat("string", key="json", key_fields=("at",)), TEXT, {})


def test_a_format_with_schemas_needs_a_registry() -> None:
    with pytest.raises(RegistryConfigError, match=r"value format 'json_schema' needs.*schema\.registry\.url"):
        RowDecoder(RecordFormat("json_schema"), TEXT, AT, "t")
