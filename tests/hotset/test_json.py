"""What a JSON record means, cell by cell, on both paths.

The exact decoder is the reference and the fast one may only be faster: for each
type and value both have to give the same, a row or a refusal.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode import FORMATS, Decoded, RecordFormat, decoder_for
from hotset.decode.json import decode_json
from hotset.decode.json_exact import decode_exactly
from hotset.errors import DecodeError, UnsupportedFormatError
from tests.hotset.raw import raw_records, rows_of

Decode = Callable[..., Decoded]

REFUSED = object()
UTC = dt.UTC
NAIVE = pa.timestamp("us")
INSTANT = pa.timestamp("us", tz="UTC")
DECIMAL = pa.decimal128(6, 2)

CELLS: list[tuple[pa.DataType, str, Any]] = [
    (pa.bool_(), "true", True),
    (pa.bool_(), "false", False),
    (pa.bool_(), "1", REFUSED),
    (pa.bool_(), '"true"', REFUSED),
    (pa.int32(), "2147483647", 2**31 - 1),
    (pa.int32(), "-2147483648", -(2**31)),
    (pa.int32(), "2147483648", REFUSED),
    (pa.int32(), "-0", 0),
    (pa.int64(), "9223372036854775807", 2**63 - 1),
    (pa.int64(), "9223372036854775808", REFUSED),
    (pa.int64(), "-9223372036854775809", REFUSED),
    (pa.int64(), "1.0", REFUSED),
    (pa.int64(), "1e2", REFUSED),
    (pa.int64(), "1e-99999999999999999999", REFUSED),
    (pa.int64(), '"1"', REFUSED),
    (pa.int64(), "true", REFUSED),
    (pa.int64(), "[1]", REFUSED),
    (pa.int64(), "0x1", REFUSED),
    (pa.int64(), "01", REFUSED),
    (pa.int64(), "+1", REFUSED),
    (pa.float64(), "1", 1.0),
    (pa.float64(), "0.1", 0.1),
    (pa.float64(), "1e308", 1e308),
    (pa.float64(), "1e309", REFUSED),
    (pa.float64(), "-1e309", REFUSED),
    (pa.float64(), "1e99999999999999999999", REFUSED),
    (pa.float64(), "1e-99999999999999999999", 0.0),
    (pa.float64(), "0E+99999999999999999999", 0.0),
    (pa.float64(), "1e-400", 0.0),
    (pa.float64(), "9007199254740993", 9007199254740992.0),
    (pa.float64(), '"1"', REFUSED),
    (pa.float64(), '"NaN"', REFUSED),
    (pa.float64(), "true", REFUSED),
    (pa.float64(), "Infinity", math.inf),
    (pa.float64(), "-Infinity", -math.inf),
    (pa.float64(), ".5", REFUSED),
    (pa.float64(), "1.", REFUSED),
    (pa.float32(), "1.5", 1.5),
    (pa.float32(), "3.4028235e38", 3.4028234663852886e38),
    (pa.float32(), "1e39", REFUSED),
    (DECIMAL, "12.3", Decimal("12.30")),
    (DECIMAL, '"12.30"', Decimal("12.30")),
    (DECIMAL, "1e2", Decimal("100.00")),
    (DECIMAL, "9999.99", Decimal("9999.99")),
    (DECIMAL, "10000", REFUSED),
    (DECIMAL, "0.001", REFUSED),
    (DECIMAL, "0.000", Decimal("0.00")),
    (DECIMAL, '"NaN"', REFUSED),
    (DECIMAL, '"Infinity"', REFUSED),
    (DECIMAL, "NaN", REFUSED),
    (DECIMAL, '"x"', REFUSED),
    (DECIMAL, "true", REFUSED),
    (DECIMAL, "1e999999999", REFUSED),
    (DECIMAL, "1e99999999999999999999", REFUSED),
    (DECIMAL, "-1e-99999999999999999999", REFUSED),
    (DECIMAL, "0.0e-99999999999999999999", Decimal("0.00")),
    (DECIMAL, '"1e99999999999999999999"', REFUSED),
    (pa.string(), '"x"', "x"),
    (pa.string(), '""', ""),
    (pa.string(), '"\\u00e9\\n\\"\\\\\\/\\u0000"', 'é\n"\\/\0'),
    (pa.string(), '"\\ud83d\\ude00"', "😀"),
    (pa.string(), '"\\ud800"', REFUSED),
    (pa.string(), '"},]"', "},]"),
    (pa.string(), "1", REFUSED),
    (pa.string(), "{}", REFUSED),
    (pa.string(), "true", REFUSED),
    (pa.date32(), '"2026-02-28"', dt.date(2026, 2, 28)),
    (pa.date32(), '"2026-02-29"', REFUSED),
    (pa.date32(), '"2026-2-3"', REFUSED),
    (pa.date32(), '"28.02.2026"', REFUSED),
    (pa.date32(), "20000", REFUSED),
    (pa.time64("us"), '"03:04:05.000006"', dt.time(3, 4, 5, 6)),
    (pa.time64("us"), '"03:04:05"', dt.time(3, 4, 5)),
    (pa.time64("us"), '"24:00:00"', REFUSED),
    (pa.time64("us"), "1", REFUSED),
    (NAIVE, '"2026-01-02T03:04:05.000006"', dt.datetime(2026, 1, 2, 3, 4, 5, 6)),  # noqa: DTZ001
    (NAIVE, "0", dt.datetime(1970, 1, 1)),  # noqa: DTZ001
    (NAIVE, '"2026-01-02T03:04:05Z"', REFUSED),
    (NAIVE, '"yesterday"', REFUSED),
    (NAIVE, "1.5", REFUSED),
    (NAIVE, "9223372036854775807", REFUSED),
    (INSTANT, '"2026-01-02T03:04:05Z"', dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (INSTANT, '"2026-01-02T03:04:05+02:00"', dt.datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
    (INSTANT, "1700000000000", dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    (INSTANT, "-1", dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
    (INSTANT, '"2026-01-02T03:04:05"', REFUSED),
    (INSTANT, '"2026-01-02T03:04:05.0000001Z"', REFUSED),
    (INSTANT, "true", REFUSED),
    (pa.binary(), '"AP8="', b"\x00\xff"),
    (pa.binary(), '""', b""),
    (pa.binary(), '"AP8"', REFUSED),
    (pa.binary(), '"A P8="', REFUSED),
    (pa.binary(2), '"AP8="', b"\x00\xff"),
    (pa.binary(3), '"AP8="', REFUSED),
    (pa.list_(pa.int32()), "[1, null]", [1, None]),
    (pa.list_(pa.int32()), "[1.5]", REFUSED),
    (pa.list_(pa.int32()), "{}", REFUSED),
    (pa.struct([("a", pa.int32())]), '{"a": 1, "b": 2}', {"a": 1}),
    (pa.struct([("a", pa.int32())]), "{}", {"a": None}),
    (pa.struct([("a", pa.int32())]), '{"a": "1"}', REFUSED),
    (pa.struct([("a", pa.int32())]), "[1]", REFUSED),
    (pa.struct([pa.field("a", pa.int32(), nullable=False)]), "{}", REFUSED),
    (pa.map_(pa.string(), pa.int32()), '{"k": 1, "l": null}', [("k", 1), ("l", None)]),
    (pa.map_(pa.string(), pa.int32()), '{"k": true}', REFUSED),
    (pa.map_(pa.string(), pa.int32()), '{"\\ud800": 1}', REFUSED),
]

PATHS = [pytest.param(decode_json, id="fast"), pytest.param(decode_exactly, id="exact")]


def cell(decode: Decode, wanted: pa.DataType, text: str) -> Any:
    schema = pa.schema([("c", wanted)])
    return rows_of(decode, raw_records([b'{"c": %b}' % text.encode()]), schema).column("c")[0].as_py()


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize(("wanted", "text", "value"), CELLS)
def test_a_value_is_what_it_says_or_refused(
    decode: Decode, wanted: pa.DataType, text: str, value: Any
) -> None:
    if value is REFUSED:
        with pytest.raises(DecodeError):
            cell(decode, wanted, text)
    else:
        assert cell(decode, wanted, text) == value


@pytest.mark.parametrize("decode", PATHS)
def test_nan_is_a_number_that_is_none(decode: Decode) -> None:
    assert math.isnan(cell(decode, pa.float64(), "NaN"))


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize("wanted", [wanted for wanted, *_ in CELLS], ids=str)
def test_null_is_null_in_every_type(decode: Decode, wanted: pa.DataType) -> None:
    assert cell(decode, wanted, "null") is None


@pytest.mark.parametrize("decode", PATHS)
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
    ],
)
def test_what_is_no_json_object_is_no_row(decode: Decode, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        rows_of(decode, raw_records([value]), pa.schema([("c", pa.int64())]))


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (b'{"c": 1, "c": 2}', 1),
        (b'{"c": null, "c": 2}', None),
        (b'{"C": 1}', None),
        (b'{"\\u0063": 5}', 5),
        (b' \t\r\n{ "c" : 5 } \n', 5),
        (b'{"d": {"c": 1}}', None),
        (b'{"d": [{"c": 1}], "c": 7}', 7),
        (b"{}", None),
        (b'{"d": 1e99999999999999999999, "c": 5}', 5),
    ],
)
def test_fields_are_found_by_their_exact_name(decode: Decode, value: bytes, rows: int | None) -> None:
    batch = rows_of(decode, raw_records([value]), pa.schema([("c", pa.int64())]))

    assert batch.column("c").to_pylist() == [rows]


@pytest.mark.parametrize("decode", PATHS)
def test_columns_that_differ_by_case_are_two(decode: Decode) -> None:
    schema = pa.schema([("c", pa.int64()), ("C", pa.int64())])

    assert rows_of(decode, raw_records([b'{"C": 1, "c": 2}']), schema).to_pylist() == [{"c": 2, "C": 1}]


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("names", [(), ("c",), ("c", "d")])
def test_there_is_one_row_for_each_record(decode: Decode, count: int, names: tuple[str, ...]) -> None:
    schema = pa.schema([(name, pa.int64()) for name in names])

    batch = rows_of(decode, raw_records([b'{"c": 1}'] * count), schema)

    assert (batch.num_rows, batch.schema) == (count, schema)


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_a_bad_record_is_named_by_its_place(decode: Decode, bad: int) -> None:
    values: list[bytes | None] = [json.dumps({"c": n}).encode() for n in range(5)]
    values[bad] = b'{"c": "x"}'

    with pytest.raises(DecodeError) as caught:
        rows_of(decode, raw_records(values), pa.schema([("c", pa.int64())]), "orders")

    assert f"topic 'orders' partition 3 offset {100 + bad}" in str(caught.value)
    assert "column 'c' wants int64, and holds a string" in str(caught.value)
    assert caught.value.details["offset"] == 100 + bad


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize("value", [b"{}", b'{"c": null}'])
def test_a_required_column_has_to_be_there(decode: Decode, value: bytes) -> None:
    schema = pa.schema([pa.field("c", pa.int64(), nullable=False)])

    with pytest.raises(DecodeError, match="'c' is required"):
        rows_of(decode, raw_records([b'{"c": 1}', value]), schema)


@pytest.mark.parametrize("decode", PATHS)
@pytest.mark.parametrize("wanted", [pa.map_(pa.int32(), pa.int32()), pa.duration("s")])
def test_a_type_without_a_json_form_is_said_to_be_one(decode: Decode, wanted: pa.DataType) -> None:
    with pytest.raises(UnsupportedFormatError):
        cell(decode, wanted, '{"1": 1}')


@pytest.mark.parametrize("decode", PATHS)
def test_a_deep_record_is_an_error_and_not_a_crash(decode: Decode) -> None:
    value = b'{"c": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(DecodeError):
        rows_of(decode, raw_records([value]), pa.schema([("c", pa.list_(pa.int32()))]))


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(UnsupportedFormatError, match=", ".join(FORMATS)):
        decoder_for(RecordFormat(value="xml"))
