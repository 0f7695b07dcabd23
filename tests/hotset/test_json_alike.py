"""Flat JSON records that are written alike, and those among them that only look so.

Rows and reasons must be those of the exact decoder, whatever is bent in a few of many equal records; and
records that are written alike must not be parsed, which is what the others are for.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.json.json_alike import Alike, take_alike
from hotset.decode.json.json_exact import decode_exactly
from tests.hotset.json_ways import PLAIN, in_python

SCHEMA = pa.schema([*PLAIN, ("m", pa.decimal128(9, 2)), ("y", pa.binary())])
GOOD = {
    "i": -5,
    "l": 2**62,
    "f": 0.25,
    "b": True,
    "s": "\u00e9 {,:} \x7f",
    "d": "2026-01-02",
    "t": "2026-01-02T03:04:05.5Z",
    "n": 1700000000123,
    "o": "03:04:05",
    "m": "1.50",
    "y": "AAEC",
    "more": 1.5,
    "other": "x",
}
OTHERS: dict[str, list[Any]] = {
    "i": [0, 2**31, -(2**31), None, 1.5, "1", True],
    "l": [2**63, -(2**63), 10**18, None, [1]],
    "f": [0, -0.0, 1, 1e300, 10**400, 2**53 + 1, None, "0.5", False],
    "b": [False, None, 1, "true"],
    "s": ["", "plain", 'a"b', "a\\b", "\n", "\u00e9", None, 5, "null"],
    "d": ["2026-02-30", "2026-1-2", "", None, 20260102],
    "t": ["2026-01-02T03:04:05", "2026-01-02T03:04:05+02:00", 0, -1, 10**17, None],
    "n": [-1, "2026-01-02T03:04:05", "2026-01-02T03:04:05Z", 1.0, None],
    "o": ["03:04:05.000001", "25:00:00", "03:04", None, 1],
    "m": ["-0.5", "1.005", "1e1", "NaN", "", 1.5, 3, None],
    "y": ["", "AA==", "A", "\u00e9", None],
    "more": [None, {}, "x", 0, -0, 10**30, [1]],
    "other": [None, 1, "", {"i": 1}],
}
STYLES: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"ensure_ascii": False}, {"indent": 1}]
TOKENS = [
    *(bytes([c]) for c in b',}{][":\\019.eE+-ntf \n\t\0\xff'),
    b'""',
    b"null",
    b"\xef\xbb\xbf",
    b"-0",
    b"0",
]


def encoded(row: dict[str, Any], style: dict[str, Any]) -> bytes:
    return json.dumps(row, **style).encode()


@st.composite
def records(draw: st.DrawFn) -> list[bytes]:
    style = draw(st.sampled_from(STYLES))
    good = draw(st.sampled_from([GOOD, {**GOOD, "s": "no comma"}]))
    made = [encoded(good, style)] * draw(st.integers(4, 12))
    for place in draw(st.lists(st.integers(0, len(made) - 1), max_size=6)):
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(OTHERS)))
            made[place] = encoded({**good, name: draw(st.sampled_from(OTHERS[name]))}, style)
        else:
            text, at = made[place], draw(st.integers(0, len(made[place])))
            made[place] = text[:at] + draw(st.sampled_from(TOKENS)) + text[at + draw(st.integers(0, 1)) :]
    return made


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(values=records())
def test_rows_and_reasons_are_those_of_the_exact_decoder(values: list[bytes]) -> None:
    payloads = pa.array(values, pa.binary())

    found, exact = in_python(payloads, SCHEMA), decode_exactly(payloads, SCHEMA)

    assert found.faults == exact.faults
    assert found.rows.equals(exact.rows)
    assert bits(found.rows) == bits(exact.rows)


def bits(rows: pa.RecordBatch) -> list[int | None]:
    found: list[int | None] = rows.column("f").view(pa.int64()).to_pylist()
    return found


def taken(values: list[bytes], schema: pa.Schema = SCHEMA) -> Alike | None:
    return take_alike(pa.array(values, pa.binary()), schema)


@pytest.mark.parametrize("style", STYLES[:3], ids=str)
def test_records_that_are_written_alike_are_all_taken(style: dict[str, Any]) -> None:
    row = {**GOOD, "s": "plain"}

    found = taken([encoded(row, style), encoded({**row, "l": None, "f": 1e5, "b": False}, style)] * 20)

    assert found is not None
    assert found.taken is None
    assert found.rows.num_rows == 40
    assert found.rows.column("m").to_pylist()[:2] == [Decimal("1.50")] * 2


@pytest.mark.parametrize(
    "other",
    [
        encoded({**GOOD, "s": None}, {}),
        encoded({**GOOD, "s": 'a"b'}, {}),
        encoded({**GOOD, "s": "a\\nb"}, {}),
        encoded({**GOOD, "i": 1.5}, {}),
        encoded({"l": 1, **GOOD}, {}),
        encoded({**GOOD, "d": "2026-02-30"}, {}),
        b"",
        b'"' * encoded(GOOD, {}).count(b'"'),
    ],
)
@pytest.mark.parametrize("place", [1, 7, 19])
def test_one_that_is_written_otherwise_is_left_and_no_more(other: bytes, place: int) -> None:
    values = [encoded({**GOOD, "s": "plain"}, {})] * 20
    values[place] = other

    found = taken(values)

    assert found is not None
    assert found.taken is not None
    assert found.taken.to_pylist() == [number != place for number in range(20)]


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"[]",
        b"{}",
        b'{"i":1',
        b'{"i":1}}',
        b'{"i":1,}',
        b'{"i":01}',
        b'{"i":1,"i":2}',
        b'{"i":{"l":2}}',
        b'{"\\u0069":1}',
        b'{"s":"\\n"}',
        b'{"i":\n1}',
        b'\xef\xbb\xbf{"i":1}',
        b'{"s":"\xff"}',
        b'{"i":NaN}',
    ],
)
def test_what_is_not_certainly_a_flat_object_is_nobody_s_example(first: bytes) -> None:
    assert taken([first] * 5) is None


def test_a_record_longer_than_what_is_looked_at_together_is_left() -> None:
    long = encoded({**GOOD, "s": "s" * 3_000_000}, {})

    assert taken([long] * 2) is None
    assert in_python(pa.array([long] * 2), SCHEMA).rows.column("s").to_pylist() == ["s" * 3_000_000] * 2


def test_pieces_that_only_together_have_the_right_form_are_not_taken() -> None:
    schema = pa.schema([("i", pa.int64()), ("s", pa.string())])
    values = [
        b'{"i":12,"s":"x"}',
        b'{"i":12"s":"x"}',
        b'{"i"345"s":"x"}',
        b'{"i"6789,"s":"x"}',
        b'{"i":1,:2,"s":"x"}',
    ]

    found = taken(values, schema)
    wholly = in_python(pa.array(values, pa.binary()), schema)

    assert found is None
    assert [fault.row for fault in wholly.faults] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        b'{"i":12,"s":"}',
        b'{"i":12,"s":"x}',
        b'{"i":12,"s":"x"',
        b'{"i":12,"s":x"}',
        b'{"i":12,"s":"x"y"}',
        b'{"i":12,"s":"x\\"}',
        b'{"i":12,"s":"x"}}',
        b'{"i":12,"S":"x"}',
        b'{"i":12,"s":"x",}',
        b'{"i":12,,"s":"x"}',
        b'{"i":,"s":"x"}',
        b'{"i":012,"s":"x"}',
        b'{"i":0x1f,"s":"x"}',
        b'"i":12,"s":"x"}',
        b'i":12,"s":"x"}',
        b",",
        b"}",
    ],
    ids=bytes.decode,
)
@pytest.mark.parametrize("good", [b'{"i":1,"s":"x"}', b'{"i":1,"s":"x,y"}'], ids=["commas", "quotes"])
def test_what_is_around_a_value_is_looked_at_in_every_record(good: bytes, other: bytes) -> None:
    schema = pa.schema([("i", pa.int64()), ("s", pa.string())])
    values = [good] * 9 + [other] + [good] * 9

    found = taken(values, schema)
    wholly = in_python(pa.array(values, pa.binary()), schema)

    assert found is not None
    assert found.taken is not None
    assert pc.indices_nonzero(pc.invert(found.taken)).to_pylist() == [9]
    assert wholly == decode_exactly(pa.array(values, pa.binary()), schema)


def test_records_with_commas_among_others_are_not_parsed_either() -> None:
    schema = pa.schema([("i", pa.int64()), ("s", pa.string())])
    values = [b'{"i":1,"s":"x"}', *[b'{"i":2,"s":"x,y"}', b'{"i":3,"s":",,"}'] * 9]

    found = taken(values, schema)

    assert found is not None
    assert found.taken is None
    assert found.rows.column("s").to_pylist() == ["x", *["x,y", ",,"] * 9]


@pytest.mark.parametrize("key", [",", "a,b", ":", "é", " "])
def test_keys_may_be_written_with_any_character(key: str) -> None:
    schema = pa.schema([(key, pa.int64()), ("s", pa.string())])
    values = [json.dumps({key: number, "s": "x"}, ensure_ascii=False).encode() for number in range(20)]

    found = taken(values, schema)

    assert found is not None
    assert found.taken is None
    assert found.rows.column(0).to_pylist() == list(range(20))
