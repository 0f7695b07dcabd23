"""JSON records: the reader in C, and a batch decoded in Python, against the exact decoder of one record.

Rows are flat and nested, of every column type that JSON has a form for. The reference
is held against Python's own `json` where that has the column's values; how exact it is
besides, the cells of `tests/hotset/decode/json/test_json.py` say.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import json
import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded
from hotset.decode.json.json_decoder import decode_json
from hotset.decode.json.json_exact import decode_exactly
from hotset.decode.json.json_native import is_built
from hotset.native.availability import PURE
from tests.fuzz.frame import Refusal, Round, Verdict, plain_rows

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001


def _time(rng: random.Random) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=rng.randrange(2**51))


def _fine(rng: random.Random) -> str:
    """A time whose fraction has up to nine digits, none or any of which may be there."""
    digits = f".{rng.randrange(10**9):09d}"[: rng.choice([0, 2, 7, 8, 10])]
    return _time(rng).replace(microsecond=0).isoformat() + digits


def _text(rng: random.Random) -> str:
    return "".join(rng.choice('abc"\\é😀\n ,}{') for _ in range(rng.randint(0, 9)))


def _uuid(rng: random.Random) -> str:
    text = str(uuid.UUID(bytes=rng.randbytes(16)))
    return text.upper() if rng.random() < 0.2 else text


_INSIDE: Final = pa.struct([pa.field("x", pa.int32(), nullable=False), ("y", pa.list_(pa.string()))])
_NAMED: Final = pa.struct([pa.field("u", pa.uuid(), nullable=False), ("m", pa.map_(pa.string(), pa.uuid()))])

# Each column type, and a JSON value that fits it.
_VALUES: Final[list[tuple[pa.DataType, Callable[[random.Random], Any]]]] = [
    (pa.int32(), lambda rng: rng.randrange(-(2**31), 2**31)),
    (pa.int64(), lambda rng: rng.randrange(-(2**63), 2**63) >> rng.randrange(64)),
    (pa.float64(), lambda rng: rng.choice([rng.gauss(0, 1e9), 0.5, -0.0, 1e300])),
    (pa.bool_(), lambda rng: rng.random() < 0.5),
    (pa.string(), _text),
    (pa.date32(), lambda rng: str(_time(rng).date())),
    (pa.time64("us"), lambda rng: str(_time(rng).time())),
    (pa.timestamp("us"), lambda rng: _time(rng).isoformat()),
    (pa.timestamp("us", tz="UTC"), lambda rng: _time(rng).isoformat() + "Z"),
    (pa.timestamp("ns"), _fine),
    (pa.timestamp("ns"), lambda rng: rng.choice([rng.randrange(-(2**43), 2**43), _fine(rng)])),
    (pa.timestamp("ns", tz="UTC"), lambda rng: _fine(rng) + rng.choice(["Z", "+01:00", "-0230", "+23"])),
    (pa.list_(pa.timestamp("ns", tz="UTC")), lambda rng: [rng.randrange(-(2**43), 2**43), _fine(rng) + "Z"]),
    (pa.decimal128(20, 4), lambda rng: f"{rng.randrange(-(10**19), 10**19) / 10**4:.4f}"),
    (pa.binary(), lambda rng: base64.b64encode(rng.randbytes(rng.randint(0, 6))).decode()),
    (pa.decimal128(38, 10), lambda rng: rng.choice([1, 10.25, 1e15, "0.0000000001", 123456.7890123])),
    (pa.decimal128(9, 2), lambda rng: rng.randrange(-(10**9), 10**9) / 100),
    (pa.float32(), lambda rng: rng.choice([0.1, 1, -2.5e30])),
    (pa.timestamp("us"), lambda rng: rng.choice([rng.randrange(2**41), _time(rng).isoformat()])),
    (pa.binary(2), lambda rng: base64.b64encode(rng.randbytes(2)).decode()),
    (pa.list_(pa.int32()), lambda rng: [rng.randrange(9) for _ in range(rng.randint(0, 3))]),
    (pa.struct([("x", pa.string())]), lambda rng: {"x": _text(rng)}),
    (_INSIDE, lambda rng: {"x": rng.randrange(9), "y": None if rng.random() < 0.3 else [_text(rng)] * 2}),
    (pa.list_(_INSIDE), lambda rng: [{"x": n, "y": []} for n in range(rng.randint(0, 3))]),
    (pa.map_(pa.string(), pa.list_(pa.decimal128(6, 2))), lambda rng: {_text(rng): [1.25, None, "3"]}),
    (pa.uuid(), _uuid),
    (pa.uuid(), _uuid),
    (pa.list_(pa.field("element", pa.uuid(), nullable=False)), lambda rng: [_uuid(rng)] * rng.randint(0, 2)),
    (_NAMED, lambda rng: {"u": _uuid(rng), "m": {_text(rng): None if rng.random() < 0.3 else _uuid(rng)}}),
    (pa.map_(pa.string(), pa.int64()), lambda rng: {_text(rng): 1 for _ in range(rng.randint(0, 3))}),
]


# What is set for a path: whether all is to be done in Python.
_WAYS: Final = {"native": "", "python": "1"} if is_built() else {"python": "1"}


def _decoded(schema: pa.Schema, pure: str, payloads: pa.BinaryArray) -> Decoded:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE, pure)
        return decode_json(payloads, schema)


def make_round(rng: random.Random) -> Round:
    """Return records of a few random columns."""
    chosen = rng.sample(_VALUES, rng.randint(1, 8))
    schema = pa.schema([(f"c{place}", wanted) for place, (wanted, _value) in enumerate(chosen)])

    def record(rng: random.Random) -> bytes:
        row = {name: make(rng) for name, (_wanted, make) in zip(schema.names, chosen, strict=True)}
        kept = {
            name: None if rng.random() < 0.05 else value for name, value in row.items() if rng.random() < 0.95
        }
        return json.dumps(kept, ensure_ascii=rng.random() < 0.5).encode()

    return Round(
        about=str(schema),
        schema=schema,
        record=record,
        paths={name: functools.partial(_decoded, schema, pure) for name, pure in _WAYS.items()},
        reference=functools.partial(_meaning, schema),
        hurt=_hurt,
    )


# The first is one, in an unusual mixture of letters.
_UUIDS: Final = (
    "01234567-89AB-cDeF-0123-456789abcdef",
    "01234567-89ab-cdef-0123-456789abcdeg",
    "0123456789abcdef0123456789abcdef",
    "\\u00301234567-89ab-cdef-0123-456789abcdef",
    "{01234567-89ab-cdef-0123-456789abcdef}",
    "urn:uuid:01234567-89ab-cdef-0123-456789abcdef",
    "01234567-89ab-cdef-0123-456789abcde",
    "01234567-89ab-cdef-0123-456789abcdef0",
    "0123456-789ab-cdef-0123-456789abcdef",
    "01234567_89ab_cdef_0123_456789abcdef",
    " 01234567-89ab-cdef-0123-456789abcdef",
    "01234567-89ab-cdef-0123-456789abcdef\\n",
    "\u06601234567-89ab-cdef-0123-456789abcdef",
)
# At the ends of what nanoseconds can tell, and of more digits than some columns have.
_TIMES: Final = (
    "2262-04-11T23:47:16.854775807",
    "2262-04-11T23:47:16.854775808",
    "2262-04-11T23:48:16",
    "1677-09-21T00:12:44",
    "1677-09-21T00:12:43.145224192",
    "1677-09-21T00:13:43.999999999",
    "1969-12-31T23:59:59.999999999",
    "2026-01-02T03:04:05.1234567",
    "2026-01-02T03:04:05.1234567890",
)
# Values in a record's text that are wrong, unusual, or wrong in some columns only.
_WILD: Final = (
    *(
        "1.5",
        "1e2",
        "1E-2",
        "1e400",
        "1e99999999999999999999",
        "-1e-99999999999999999999",
        "0e99999999999999999999",
        "1e-400",
        "-0",
        "-0.0",
        "0.1",
        "12.3400",
        "5e-324",
        "01",
        "+1",
        ".5",
        "1.",
    ),
    *("2147483648", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "9" * 40),
    *("12345678901234567.25", "0.30000000000000004", "1000.0000000000000001", "1000000000000000001e-15"),
    *("123456789012345.6", "1700000000000", "1700000000000000", "0.00001", "99999999999999.9999", "0x1"),
    *(
        "true",
        "TRUE",
        "null",
        "nul",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "-inf",
        "+NaN",
        "INFINITY",
    ),
    *(
        "[]",
        "{}",
        "[1]",
        "[1.5]",
        "[null]",
        "[1,]",
        '{"x":1}',
        '{"x":null}',
        '{"x":"y","x":"z"}',
        '{"x":"y",}',
    ),
    *(
        '{"a":1,"b":null}',
        '{"a":1,"a":2}',
        '{"":"x"}',
        '{"\\ud800":1}',
        '{"a":1.0}',
        "[[1]]",
        '[{"x":[1,2]}]',
    ),
    *(
        '""',
        '"abc"',
        '"1"',
        '"1.5"',
        '"1e2"',
        '"+1"',
        '" 1"',
        '"1\\n"',
        '"NaN"',
        '"0x1"',
        '"-"',
        '"1e999999999"',
    ),
    *(
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        '"\\u0000"',
        '"\\""',
        '"\\\\"',
        '"\\u00e9"',
        '"\\x"',
        '", inf,"',
        '",]"',
    ),
    *('"2026-01-02"', '"2026-13-02"', '"2026-1-2"', '"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05"'),
    *(
        '"2026-01-02T03:04Z"',
        '"2026-01-02 03:04:05.1234567"',
        '"2026-01-02T03:04:05+0200"',
        '"9999-12-31T23:59:59.9"',
    ),
    *(
        '"24:00:00"',
        '"23:59:60"',
        '"03:04"',
        '"03:04:05.1"',
        '"03:04:05.1234567"',
        '"QUI="',
        '"QUI"',
        '"Q UI="',
        '"QUI=QUI="',
    ),
    *("9223372036854", "9223372036855", "-9223372036854", "-9223372036855"),
    *(f'"{each}{zone}"' for each in _TIMES for zone in ("", "Z", "+00:01", "-01:00")),
    *(f'"{each}"' for each in _UUIDS),
    *(f'["{each}"]' for each in _UUIDS[:3]),
    *(f'{{"u":"{each}","m":{{"k":"{each}"}}}}' for each in _UUIDS[:3]),
)


def _hurt(rng: random.Random, payload: bytes) -> bytes:
    """Write other values, other spaces or more keys into a record, so that it mostly stays JSON."""
    fields = [(json.dumps(name), json.dumps(value)) for name, value in json.loads(payload).items()]
    for _ in range(rng.randint(0, 2)):
        name = rng.choice(["c0", "c1", "c2", "C0", "x", "c\\u0030"])
        fields.insert(rng.randint(0, len(fields)), (f'"{name}"', rng.choice(_WILD)))
    for _ in range(rng.randint(0, 2)):
        if fields:
            at = rng.randrange(len(fields))
            fields[at] = (fields[at][0], rng.choice(_WILD))
    gap = rng.choice(["", "", "", " ", "\n", "\t ", "\f"])
    body = f",{gap}".join(f"{name}{gap}:{gap}{value}" for name, value in fields)
    return f"{gap}{{{gap}{body}{gap}}}{gap}".encode()


def _meaning(schema: pa.Schema, payload: bytes) -> Verdict:
    decoded = decode_exactly(pa.array([payload], pa.binary()), schema)
    if decoded.faults:
        return Refusal(decoded.faults[0].reason)
    [row] = plain_rows(decoded.rows)
    return row if _python_agrees(schema, payload, row) else Refusal("Python's own json reads something else")


def _python_agrees(schema: pa.Schema, payload: bytes, row: Sequence[Any]) -> bool:
    """Whether the reference itself says of simple values what Python does."""
    record = json.loads(payload)
    told = {field: (record.get(field.name), value) for field, value in zip(schema, row, strict=True)}
    return all(
        read == value if field.type != pa.uuid() else _is_spelt(read, value)
        for field, (read, value) in told.items()
        if field.type in (pa.int32(), pa.int64(), pa.bool_(), pa.string(), pa.uuid())
    )


def _is_spelt(text: str | None, found: bytes | None) -> bool:
    """Whether a text is what Python writes for a UUID, but for the case of its letters."""
    return text == found if text is None or found is None else text.lower() == str(uuid.UUID(bytes=found))
