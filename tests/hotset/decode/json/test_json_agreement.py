"""The reader of JSON in C against the exact decoder, on records that nobody thought of.

Records are generated, then bent at random places; for whole batches of them both have
to give the same rows, or refuse for the same reason.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.json.json_exact import decode_exactly
from hotset.decode.json.json_native import is_built
from hotset.errors import DecodeError
from tests.hotset.json_ways import PLAIN, in_python, natively
from tests.hotset.raw import raw_records, rows_of

if not is_built():
    pytest.skip("the reader in C was not built", allow_module_level=True)

TIMES = st.sampled_from(
    [
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05.123",
        "2026-01-02T03:04:05.123456Z",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04Z",
        "03:04:05",
        "03:04",
        "1969-12-31T23:59:60Z",
        " 2026-01-02",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.integers(-5, 5),
    st.floats(),
    st.text(max_size=8),
    TIMES,
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.none(), max_size=2),
)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "i": st.integers(-(2**31), 2**31 - 1),
    "l": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(),
    "b": st.booleans(),
    "s": st.text(max_size=12),
    "d": st.dates().map(str),
    "t": st.datetimes().map(lambda t: t.isoformat() + "Z"),
    "n": st.datetimes().map(lambda t: t.isoformat()),
    "o": st.times().map(str),
}
ROWS = st.fixed_dictionaries({}, optional=FITTING)
WILD = st.dictionaries(st.sampled_from([*PLAIN.names, "I", "x", "\u0131"]), SCALARS, max_size=5)
TOKENS = st.sampled_from(
    [b",", b"}", b"]", b"{", b'"', b"\\", b"0", b".", b"e", b"-", b" ", b"\n", b"\xff", b"\0"]
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    row = draw(st.one_of(ROWS, ROWS, WILD))
    text = json.dumps(row, ensure_ascii=draw(st.booleans())).encode(errors="surrogatepass")
    if draw(st.integers(0, 2)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(TOKENS) + text[at + draw(st.integers(0, 1)) :]
    return text


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(values=st.lists(records(), min_size=1, max_size=3))
def test_both_give_the_same_rows_or_refuse(values: list[bytes]) -> None:
    assert outcome(natively, values) == outcome(in_python, values)


def outcome(decode: Any, values: list[bytes]) -> Any:
    try:
        batch = rows_of(decode, raw_records(values), PLAIN)
    except DecodeError as error:
        return str(error)
    # As bits, so that NaN equals NaN and 0.0 is not -0.0.
    return _bits(batch), batch.drop_columns(["f"]).cast(_integers(batch)).to_pylist()


def _integers(batch: pa.RecordBatch) -> pa.Schema:
    # Times as numbers, because Python's own end at the year 9999.
    kept = [field for field in batch.schema if field.name != "f"]
    return pa.schema([_as_number(field) for field in kept])


def _as_number(field: pa.Field) -> pa.Field:
    if pa.types.is_date32(field.type):
        return field.with_type(pa.int32())
    return field.with_type(pa.int64()) if pa.types.is_temporal(field.type) else field


# Of many equal records a few are bent, as those of one producer are.
WIDE = pa.schema([*PLAIN, ("m", pa.decimal128(9, 2)), ("y", pa.binary())])
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
MARKS = [
    *(bytes([c]) for c in b',}{][":\\019.eE+-ntf \n\t\0\xff'),
    b'""',
    b"null",
    b"\xef\xbb\xbf",
    b"-0",
    b"0",
]


@st.composite
def batches(draw: st.DrawFn) -> list[bytes]:
    style = draw(st.sampled_from(STYLES))
    made = [json.dumps(GOOD, **style).encode()] * draw(st.integers(4, 12))
    for place in draw(st.lists(st.integers(0, len(made) - 1), max_size=6)):
        if draw(st.booleans()):
            name = draw(st.sampled_from(sorted(OTHERS)))
            made[place] = json.dumps({**GOOD, name: draw(st.sampled_from(OTHERS[name]))}, **style).encode()
        else:
            text, at = made[place], draw(st.integers(0, len(made[place])))
            made[place] = text[:at] + draw(st.sampled_from(MARKS)) + text[at + draw(st.integers(0, 1)) :]
    return made


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(values=batches())
def test_rows_and_reasons_are_the_same_among_many_records(values: list[bytes]) -> None:
    payloads = pa.array(values, pa.binary())

    found, exact = natively(payloads, WIDE), decode_exactly(payloads, WIDE)

    assert found.faults == exact.faults
    assert found.rows.equals(exact.rows)
    assert _bits(found.rows) == _bits(exact.rows)


def _bits(rows: pa.RecordBatch) -> list[int | None]:
    found: list[int | None] = rows.column("f").view(pa.int64()).to_pylist()
    return found
