"""JSON records: the fast path against the exact one, which defines what a record means.

Rows are flat and nested, of every column type that JSON has a form for. How exact
the reference itself is, the cells of `tests/hotset/test_json.py` say.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import json
import random
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from hotset.decode.json import decode_json
from hotset.decode.json_exact import decode_exactly
from tests.fuzz.frame import Refusal, Round, Verdict, plain_rows

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001


def _time(rng: random.Random) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=rng.randrange(2**51))


def _text(rng: random.Random) -> str:
    return "".join(rng.choice('abc"\\é😀\n ,}{') for _ in range(rng.randint(0, 9)))


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
    (pa.decimal128(20, 4), lambda rng: f"{rng.randrange(-(10**19), 10**19) / 10**4:.4f}"),
    (pa.binary(), lambda rng: base64.b64encode(rng.randbytes(rng.randint(0, 6))).decode()),
    (pa.list_(pa.int32()), lambda rng: [rng.randrange(9) for _ in range(rng.randint(0, 3))]),
    (pa.struct([("x", pa.string())]), lambda rng: {"x": _text(rng)}),
    (pa.map_(pa.string(), pa.int64()), lambda rng: {_text(rng): 1 for _ in range(rng.randint(0, 3))}),
]


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
        paths={"fast": functools.partial(decode_json, schema=schema)},
        reference=functools.partial(_meaning, schema),
    )


def _meaning(schema: pa.Schema, payload: bytes) -> Verdict:
    decoded = decode_exactly(pa.array([payload], pa.binary()), schema)
    return Refusal(decoded.faults[0].reason) if decoded.faults else plain_rows(decoded.rows)[0]
