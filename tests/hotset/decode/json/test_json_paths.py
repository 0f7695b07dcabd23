"""Which records the reader in C leaves to the exact decoder: those that are bad or strange, and no others.

One bad record among 65,536 must not make the others slow, so what is counted here is what the exact decoder
is asked for.
"""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import hotset.decode.json.json_decoder
from hotset.decode.decoded import Decoded
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.json.json_exact import decode_exactly
from tests.hotset.json_ways import WAYS, Decode, natively, needs_native

POINT = pa.struct([pa.field("x", pa.int32(), nullable=False), ("names", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("price", pa.decimal128(12, 2)),
        ("total", pa.decimal128(38, 4)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("time", pa.time64("us")),
        ("blob", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("point", POINT),
        ("points", pa.list_(POINT)),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)


def record(number: int) -> dict[str, Any]:
    point = {"x": number, "names": ["a", None, 'with "quotes"'], "unwanted": [1.5]}
    return {
        "id": number,
        "price": number / 4,
        "total": f"{number}.0625",
        "at": number * 1000 if number % 2 else "2026-01-02T03:04:05.25Z",
        "time": "03:04:05.000006",
        "blob": base64.b64encode(b"%d" % number).decode(),
        "tags": ["x"] * (number % 3),
        "point": point if number % 5 else None,
        "points": [point, None],
        "counts": {"a": number, "\u00e9": None},
        "more": {"latitude": 52.520006593, "text": ", infinite, nano"},
    }


def payloads(count: int, other: dict[int, bytes | None] | None = None) -> pa.BinaryArray:
    good: list[bytes | None] = [json.dumps(record(number)).encode() for number in range(count)]
    for place, payload in (other or {}).items():
        good[place] = payload
    return pa.array(good, pa.binary())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[bytes | None]]:
    """Each time the exact decoder was asked, and for what."""
    seen: list[list[bytes | None]] = []

    def counted(values: pa.BinaryArray, schema: pa.Schema, epoch_unit: EpochUnit) -> Decoded:
        seen.append(values.to_pylist())
        return decode_exactly(values, schema, epoch_unit)

    monkeypatch.setattr(hotset.decode.json.json_decoder, "decode_exactly", counted)
    return seen


@needs_native
def test_good_records_are_not_decoded_twice(asked: list[list[bytes | None]]) -> None:
    values = payloads(300, {7: None})

    decoded = natively(values, SCHEMA)

    assert asked == []
    assert decoded == decode_exactly(values, SCHEMA)
    assert decoded.rows["price"].to_pylist()[3] == Decimal("0.75")


BAD: dict[str, tuple[bytes, bool]] = {
    "no JSON": (b'{"id": 1,', True),
    "no object": (b"[1]", True),
    "empty": (b"", True),
    "no UTF-8": (b'{"id": 1, "tags": ["\xff"]}', True),
    "two objects": (b"{}{}", True),
    "a trailing comma": (b'{"id": 1,}', True),
    "a trailing comma elsewhere": (b'{"id": 1, "z": [1 , ]}', True),
    "no number of JSON": (b'{"id": 1, "z": {"y": inf}}', True),
    "a fraction": (b'{"id": 1.5}', True),
    "a word": (b'{"id": "abc"}', True),
    "overflow": (b'{"id": 9223372036854775808}', True),
    "a rounded decimal": (b'{"id": 1, "price": 1.005}', True),
    "digits that a double loses": (b'{"id": 1, "total": 0.1000000000000000055511151231257827}', True),
    "digits before an exponent": (b'{"id": 1, "total": 1000000000000000001e-15}', True),
    "too small for a double": (b'{"id": 1, "total": 1e-400}', True),
    "too many digits": (b'{"id": 1, "price": "12345678901.5"}', True),
    "an hour too many": (b'{"id": 1, "time": "24:00:00"}', True),
    "no base64": (b'{"id": 1, "blob": "QUI"}', True),
    "an item": (b'{"id": 1, "tags": ["x", 1]}', True),
    "a list that is none": (b'{"id": 1, "tags": {}}', True),
    "a struct that is none": (b'{"id": 1, "point": [1]}', True),
    "a map that is none": (b'{"id": 1, "counts": 5}', True),
    "a field deep inside": (b'{"id": 1, "points": [null, {"x": 1, "names": [true]}]}', True),
    "what is required inside": (b'{"id": 1, "points": [{"x": null}]}', True),
    "an entry": (b'{"id": 1, "counts": {"a": 1, "b": 1.0}}', True),
    "a lone surrogate": (b'{"id": 1, "tags": ["\\ud800"]}', True),
    "an entry twice": (b'{"id": 1, "counts": {"a": 1, "a": 2}}', False),
    "many digits that fit": (b'{"id": 1, "total": 12345678901234567.25}', False),
}


# The reader in C has whole numbers as long as any decimal.
TAKEN = ["many digits that fit"]


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize("what", BAD)
def test_one_strange_record_is_a_row_or_not_and_its_neighbours_are_rows(decode: Decode, what: str) -> None:
    payload, is_bad = BAD[what]

    decoded = decode(payloads(100, {37: payload}), SCHEMA)

    assert [fault.row for fault in decoded.faults] == ([37] if is_bad else [])
    assert decoded.rows.column("id").to_pylist() == [
        n if n != 37 else None if is_bad else 1 for n in range(100)
    ]
    decoded.rows.validate(full=True)


@needs_native
@pytest.mark.parametrize("what", BAD)
def test_one_strange_record_is_decided_alone(asked: list[list[bytes | None]], what: str) -> None:
    payload, _is_bad = BAD[what]
    values = payloads(100, {37: payload})

    decoded = natively(values, SCHEMA)

    assert asked == ([] if what in TAKEN else [[payload]])
    assert decoded == decode_exactly(values, SCHEMA)


@needs_native
def test_many_bad_records_are_found_among_many_good_ones(asked: list[list[bytes | None]]) -> None:
    strange = [payload for what, (payload, _) in BAD.items() if what not in TAKEN]
    bad = dict(zip(range(3, 400, 13), strange, strict=False))
    values = payloads(400, bad)

    decoded = natively(values, SCHEMA)

    assert asked == [list(bad.values())]
    assert decoded == decode_exactly(values, SCHEMA)


@pytest.mark.parametrize("decode", WAYS)
def test_nothing_but_bad_records_is_a_fault_each(decode: Decode) -> None:
    values = pa.array([b'{"id": "x", "tags": [1], "blob": "?"}'] * 5000, pa.binary())

    decoded = decode(values, SCHEMA)

    assert [fault.row for fault in decoded.faults] == list(range(5000))


@pytest.mark.parametrize("decode", WAYS)
def test_a_part_of_a_batch_is_decoded_as_such(decode: Decode) -> None:
    values = payloads(40, {4: b"{", 30: b'{"id": 0.5}'})

    assert decode(values[25:], SCHEMA) == decode_exactly(pa.array(values[25:].to_pylist()), SCHEMA)
    assert decode(values[5:25], SCHEMA).faults == ()
