"""Why a JSON record is no row of the table, in words, whichever way it was decoded.

People read these in errors, receipts and dead letters, so each is spelled out here once.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.hotset.json_ways import WAYS, Decode

DOCUMENTS: list[tuple[bytes, str]] = [
    (b"", "its value is not one JSON document (Expecting value: line 1 column 1 (char 0))"),
    (b"{}{}", "its value is not one JSON document (Extra data: line 1 column 3 (char 2))"),
    (
        b"\xef\xbb\xbf{}",
        "its value is not one JSON document "
        "(Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0))",
    ),
    (b'{"c": "\xff"}', "its value is not UTF-8 (byte 7)"),
    (b"[" * 100_000 + b"]" * 100_000, "its value is nested too deeply"),
    (b"null", "its value is null, not a JSON object"),
    (b"1.5", "its value is a number, not a JSON object"),
    (b"NaN", "its value is a number, not a JSON object"),
    (b"true", "its value is a boolean, not a JSON object"),
    (b'"x"', "its value is a string, not a JSON object"),
    (b"[{}]", "its value is an array, not a JSON object"),
]
INSIDE = pa.struct([pa.field("x", pa.int32(), nullable=False)])
VALUES: list[tuple[pa.DataType, str, str]] = [
    (pa.bool_(), "1", "wants bool, and holds a number"),
    (pa.int32(), '"1"', "wants int32, and holds a string"),
    (pa.int32(), "1.0", "wants int32, and holds a number with fraction or exponent"),
    (pa.int32(), "NaN", "wants int32, and holds a number"),
    (pa.int32(), "2147483648", "wants int32, and holds a number outside its range"),
    (pa.float32(), "1e39", "wants float, and holds a number outside its range"),
    (pa.float64(), "true", "wants double, and holds a boolean"),
    (pa.decimal128(4, 2), "NaN", "wants decimal128(4, 2), and holds a number"),
    (pa.decimal128(4, 2), '"x"', "wants decimal128(4, 2), and holds what is no decimal number"),
    (pa.decimal128(4, 2), "1e99", "wants decimal128(4, 2), and holds what is no decimal number"),
    (
        pa.decimal128(4, 2),
        "0.001",
        "wants decimal128(4, 2), and holds a number that would have to be rounded",
    ),
    (pa.decimal128(4, 2), "100", "wants decimal128(4, 2), and holds a number outside its range"),
    (pa.string(), "{}", "wants string, and holds an object"),
    (pa.string(), '"\\ud800"', "wants string, and holds a lone surrogate"),
    (pa.date32(), '"2026-02-30"', "wants date32[day], and holds a value that is none"),
    (pa.time64("us"), '"24:00:00"', "wants time64[us], and holds a value that is none"),
    (pa.timestamp("us"), "1.5", "wants timestamp[us], and holds a number"),
    (pa.timestamp("us"), '"2026-01-02T03:04:05Z"', "wants timestamp[us], and holds a value that is none"),
    (pa.timestamp("us"), "9223372036854776", "wants timestamp[us], and holds a value that is none"),
    (pa.binary(), '"?"', "wants binary, and holds a string that is not base64"),
    (pa.binary(3), '"AP8="', "wants fixed_size_binary[3], and holds 2 bytes"),
    (pa.uuid(), '"x"', "wants extension<arrow.uuid>, and holds text that is no UUID"),
    (pa.list_(pa.int32()), "{}", "wants list<item: int32>, and holds an object"),
    (pa.list_(pa.int32()), "[true]", "column 'item' wants int32, and holds a boolean"),
    (INSIDE, "[]", "wants struct<x: int32 not null>, and holds an array"),
    (INSIDE, "{}", "column 'x' is required, and is absent or null"),
    (INSIDE, '{"x": ""}', "column 'x' wants int32, and holds a string"),
    (pa.map_(pa.string(), pa.int32()), "[]", "wants map<string, int32>, and holds an array"),
    (pa.map_(pa.string(), pa.int32()), '{"k": []}', "column 'value' wants int32, and holds an array"),
    (pa.map_(pa.string(), pa.int32()), '{"\\ud800": 1}', "wants string, and holds a lone surrogate"),
]


def reason(decode: Decode, payload: bytes, wanted: pa.DataType) -> str:
    [fault] = decode(pa.array([payload], pa.binary()), pa.schema([("c", wanted)])).faults
    return fault.reason


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(("payload", "why"), DOCUMENTS, ids=[why for _, why in DOCUMENTS])
def test_what_is_no_object_is_said_to_be_none(decode: Decode, payload: bytes, why: str) -> None:
    assert reason(decode, payload, pa.int64()) == why


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(("wanted", "text", "why"), VALUES)
def test_what_does_not_fit_its_column_is_said_with_the_column(
    decode: Decode, wanted: pa.DataType, text: str, why: str
) -> None:
    assert reason(decode, b'{"c": %b}' % text.encode(), wanted) == f"column 'c' {why}"
