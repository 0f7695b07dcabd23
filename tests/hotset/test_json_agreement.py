"""The fast ways to decode JSON against the exact one, on records that nobody thought of.

Records are generated, then bent at random places; for whole batches of them every
way has to give the same rows, or refuse for the same reason.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.json.json_exact import decode_exactly
from hotset.errors import DecodeError
from tests.hotset.json_ways import PLAIN, in_python, natively
from tests.hotset.raw import raw_records, rows_of

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
def test_every_way_gives_the_same_rows_or_refuses(values: list[bytes]) -> None:
    exact = outcome(decode_exactly, values)

    assert outcome(natively, values) == exact
    assert outcome(in_python, values) == exact


def outcome(decode: Any, values: list[bytes]) -> Any:
    try:
        batch = rows_of(decode, raw_records(values), PLAIN)
    except DecodeError as error:
        return str(error)
    # As bits, so that NaN equals NaN and 0.0 is not -0.0.
    floats = batch.column("f").view(pa.int64()).to_pylist()
    return floats, batch.drop_columns(["f"]).cast(_integers(batch)).to_pylist()


def _integers(batch: pa.RecordBatch) -> pa.Schema:
    # Times as numbers, because Python's own end at the year 9999.
    kept = [field for field in batch.schema if field.name != "f"]
    return pa.schema([_as_number(field) for field in kept])


def _as_number(field: pa.Field) -> pa.Field:
    if pa.types.is_date32(field.type):
        return field.with_type(pa.int32())
    return field.with_type(pa.int64()) if pa.types.is_temporal(field.type) else field
