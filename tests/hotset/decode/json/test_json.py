"""What a JSON record means, cell by cell, in both ways there are to decode one.

The exact decoder is the reference and the reader in C may only be faster: for each
type and value both have to give the same, a row or a refusal.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.formats import FORMATS, RecordFormat, decoder_for
from hotset.errors import DecodeError, UnsupportedFormatError
from tests.hotset.json_cells import CELLS, REFUSED
from tests.hotset.json_ways import WAYS, Decode
from tests.hotset.raw import raw_records, rows_of


def cell(decode: Decode, wanted: pa.DataType, text: str) -> Any:
    schema = pa.schema([("c", wanted)])
    return rows_of(decode, raw_records([b'{"c": %b}' % text.encode()]), schema).column("c")[0].as_py()


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(("wanted", "text", "value"), CELLS)
def test_a_value_is_what_it_says_or_refused(
    decode: Decode, wanted: pa.DataType, text: str, value: Any
) -> None:
    if value is REFUSED:
        with pytest.raises(DecodeError):
            cell(decode, wanted, text)
    else:
        assert cell(decode, wanted, text) == value


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("wanted", [pa.int64(), pa.struct([("", pa.int64())])], ids=str)
def test_a_name_may_be_empty(decode: Decode, wanted: pa.DataType) -> None:
    value, found = (b"1", 1) if wanted == pa.int64() else (b'{"": 1}', {"": 1})
    records = raw_records([b'{"": %b}' % value, b'{"": null, "d": []}'])

    assert rows_of(decode, records, pa.schema([("", wanted)])).column("").to_pylist() == [found, None]


@pytest.mark.parametrize("decode", WAYS)
def test_nan_is_a_number_that_is_none(decode: Decode) -> None:
    assert math.isnan(cell(decode, pa.float64(), "NaN"))


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("wanted", [wanted for wanted, *_ in CELLS], ids=str)
def test_null_is_null_in_every_type(decode: Decode, wanted: pa.DataType) -> None:
    assert cell(decode, wanted, "null") is None


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b" ",
        b"null",
        b"1",
        b"[]",
        b'"x"',
        b"{",
        b"{}{}",
        b"{} x",
        b'{"c": 1,}',
        b'{"c": [1,]}',
        b"{'c': 1}",
        b"{c: 1}",
        b'{"c": 1} // no',
        b'/* no */ {"c": 1}',
        b'{"c" 1}',
        b'\xef\xbb\xbf{"c": 1}',
        b'{"c": "\xff"}',
        b'{"d": "\n"}',
        b'{"d": tru}',
        b'{"d": [1}',
        b'{"d": {"e" 1}}',
        b'{"d": {"e": 1]}',
        b'{"d": {1: 1}}',
        b'{"d": [01]}',
        b'{"d": "\\x"}',
        b'{"d": "\\u00g0"}',
        b'{"d": [1, "\xed\xa0\x80"]}',
        b'{"c": 1, }',
        b'{"c": 1 "d": 2}',
        b'{"c": }',
        b'{"c"}',
        b'{"c": 1}\0',
        b'{"c": 1\0}',
        b'\x0b{"c": 1}',
        b'{"c": 1, "d": "}',
        b'{"c": 1, "d": "x"',
        b'{"c": 1, "d": x"}',
        b'{"c": 1, "d": "x"y"}',
        b'{"c": 1, "d": "x\\"}',
        b'{"c": 1, "d": "x"}}',
        b'{"c": 1,, "d": "x"}',
        b'{"c": 12"d": "x"}',
        b'{"c"345"d": "x"}',
        b'{"c": 1, :2, "d": "x"}',
        b'{"c": , "d": "x"}',
        b'{"c": 012, "d": "x"}',
        b'{"c": 0x1f, "d": "x"}',
        b'"c": 1, "d": "x"}',
        b'c": 1, "d": "x"}',
        b",",
        b"}",
    ],
)
def test_what_is_no_json_object_is_no_row(decode: Decode, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        rows_of(decode, raw_records([value]), pa.schema([("c", pa.int64())]))


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (b'{"c": 1, "c": 2}', 2),
        (b'{"c": null, "c": 2}', 2),
        (b'{"c": 2, "c": null}', None),
        (b'{"C": 1, "c": null}', None),
        (b'{"\\u0063": 5}', 5),
        (b' \t\r\n{ "c" : 5 } \n', 5),
        (b'{"d": {"c": 1}, "c": null}', None),
        (b'{"c": "x", "c": 1}', 1),
        (b'{"c": 1, "\\ud800": 2}', 1),
        (b'{"' + b"d" * 500 + b'\\n": 2, "c": 1}', 1),
        (b'{"d": {"e": [[], {}, {"f": [1, -2.5e3, NaN, -Infinity, true, false, null]}]}, "c": 1}', 1),
        (b'{"d": ' + b"[" * 200 + b"]" * 200 + b', "c": 1}', 1),
        (b'{"cc": 1, "": 2, "d": "c", "c": 3}', 3),
        (b'{"d": [{"c": 1}], "c": 7}', 7),
        (b"{}", None),
        (b'{"d": 1e99999999999999999999, "c": 5}', 5),
        (b'{"d": ' + b"9" * 5000 + b', "c": 5}', 5),
    ],
)
def test_fields_are_found_by_their_exact_name(decode: Decode, value: bytes, rows: int | None) -> None:
    batch = rows_of(decode, raw_records([value]), pa.schema([("c", pa.int64())]))

    assert batch.column("c").to_pylist() == [rows]


@pytest.mark.parametrize("decode", WAYS)
def test_columns_that_differ_by_case_are_two(decode: Decode) -> None:
    schema = pa.schema([("c", pa.int64()), ("C", pa.int64())])

    assert rows_of(decode, raw_records([b'{"C": 1, "c": 2}']), schema).to_pylist() == [{"c": 2, "C": 1}]


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("key", [",", "a,b", ":", "é", " "])
def test_names_may_have_any_character(decode: Decode, key: str) -> None:
    schema = pa.schema([(key, pa.int64()), ("s", pa.string())])
    values = [json.dumps({key: number, "s": "x,y"}, ensure_ascii=False).encode() for number in range(20)]

    assert decode(pa.array(values, pa.binary()), schema).rows.column(0).to_pylist() == list(range(20))


@pytest.mark.parametrize("decode", WAYS)
def test_a_text_may_be_long(decode: Decode) -> None:
    long = json.dumps({"c": "s" * 3_000_000}).encode()

    found = decode(pa.array([long] * 2), pa.schema([("c", pa.string())]))

    assert found.rows.column("c").to_pylist() == ["s" * 3_000_000] * 2


@pytest.mark.parametrize("decode", WAYS)
def test_a_moment_is_the_same_however_the_records_of_a_column_write_it(decode: Decode) -> None:
    written: list[Any] = [1767323045000]
    written += ["2026-01-02T03:04:05Z", "2026-01-02 03:04:05.000+00:00", "2026-01-02T05:34:05+0230"]
    values = [json.dumps({"c": each}).encode() for each in written]

    found = decode(pa.array(values, pa.binary()), pa.schema([("c", pa.timestamp("us", tz="UTC"))]))

    assert found.faults == ()
    assert found.rows.column("c").cast(pa.int64()).to_pylist() == [1767323045000000] * 4


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("names", [(), ("c",), ("c", "d")])
def test_there_is_one_row_for_each_record(decode: Decode, count: int, names: tuple[str, ...]) -> None:
    schema = pa.schema([(name, pa.int64()) for name in names])

    batch = rows_of(decode, raw_records([b'{"c": 1}'] * count), schema)

    assert (batch.num_rows, batch.schema) == (count, schema)


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_a_bad_record_is_named_by_its_place(decode: Decode, bad: int) -> None:
    values: list[bytes | None] = [json.dumps({"c": n}).encode() for n in range(5)]
    values[bad] = b'{"c": "x"}'

    with pytest.raises(DecodeError) as caught:
        rows_of(decode, raw_records(values), pa.schema([("c", pa.int64())]), "orders")

    assert f"topic 'orders' partition 3 offset {100 + bad}" in str(caught.value)
    assert "column 'c' wants int64, and holds a string" in str(caught.value)
    assert caught.value.details["offset"] == 100 + bad


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("value", [b"{}", b'{"c": null}'])
def test_a_required_column_has_to_be_there(decode: Decode, value: bytes) -> None:
    schema = pa.schema([pa.field("c", pa.int64(), nullable=False)])

    with pytest.raises(DecodeError, match="'c' is required"):
        rows_of(decode, raw_records([b'{"c": 1}', value]), schema)


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("wanted", [pa.map_(pa.int32(), pa.int32()), pa.duration("s")])
def test_a_type_without_a_json_form_is_said_to_be_one(decode: Decode, wanted: pa.DataType) -> None:
    with pytest.raises(UnsupportedFormatError):
        cell(decode, wanted, '{"1": 1}')


@pytest.mark.parametrize("decode", WAYS)
def test_a_deep_record_is_an_error_and_not_a_crash(decode: Decode) -> None:
    value = b'{"c": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(DecodeError):
        rows_of(decode, raw_records([value]), pa.schema([("c", pa.list_(pa.int32()))]))


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(UnsupportedFormatError, match=", ".join(FORMATS)):
        decoder_for(RecordFormat(value="xml"))


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_whole_numbers_are_milliseconds_whatever_the_column_counts(
    decode: Decode, unit: str, zone: str | None
) -> None:
    wanted = pa.timestamp(unit, zone)
    payloads = pa.array([b'{"at": 1700000000123}', b'{"at": 9223372036854775807}', b'{"at": -1}'])

    found = decode(payloads, pa.schema([("at", wanted)]))

    exact = pa.array([1700000000123, (1 << 63) - 1 if unit == "ms" else None, -1], pa.timestamp("ms", zone))
    assert found.rows.column("at").equals(exact.cast(wanted))
    assert [fault.row for fault in found.faults] == ([] if unit == "ms" else [1])
