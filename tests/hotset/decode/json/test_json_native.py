"""The reader of JSON in C as a module: what it takes itself, what it refuses, and doing without it.

What records mean is tested elsewhere, in every way there is to decode them.
"""

from __future__ import annotations

import json
import random
import struct
import threading
from array import array
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.json.json_exact import decode_exactly
from hotset.decode.json.json_native import is_built, reader_of
from hotset.native.availability import PURE
from tests.hotset.json_ways import natively

if not is_built():
    pytest.skip("the reader in C was not built", allow_module_level=True)

from hotset.decode.json import _json

LONG = pa.schema([("n", pa.int64())])


def taken(schema: pa.Schema, *records: bytes | None) -> tuple[list[dict[str, Any]], list[int]]:
    """What the reader itself makes of records: rows, and those it has refused."""
    reader = reader_of(schema)
    assert reader is not None
    found, refused = reader.take(pa.array(records, pa.binary()))
    rows = found.rows
    rows.validate(full=True)
    return rows.to_pylist(), refused


def test_the_pure_way_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader_of(LONG) is not None

    monkeypatch.setenv(PURE, "1")

    assert reader_of(LONG) is None


@pytest.mark.parametrize(
    "wanted",
    [
        pa.int16(),
        pa.timestamp("ms"),
        pa.time64("ns"),
        pa.decimal256(50, 2),
        pa.large_string(),
        pa.struct([]),
        pa.binary(300),
        pa.list_(pa.uint8()),
        pa.map_(pa.int32(), pa.int32()),
        pa.struct([("a", pa.string()), ("a", pa.string())]),
        pa.struct([('"', pa.string())]),
    ],
    ids=str,
)
def test_columns_that_it_does_not_know_are_left_to_python(wanted: pa.DataType) -> None:
    assert reader_of(pa.schema([("c", wanted)])) is None


def test_columns_that_are_too_deep_are_left_to_python() -> None:
    wanted = pa.int32()
    for _ in range(100):
        wanted = pa.list_(wanted)

    assert reader_of(pa.schema([("c", wanted)])) is None


def test_rows_have_the_metadata_of_their_own_schema() -> None:
    for text in ("one", "other"):
        schema = pa.schema([pa.field("n", pa.int64(), metadata={"id": text})])
        rows = natively(pa.array([b"{}"]), schema).rows
        assert rows.schema.field("n").metadata == {b"id": text.encode()}


@pytest.mark.parametrize(
    "record",
    [
        b'{"n": 1}',
        b' \t\r\n{ "n" : 1 } ',
        b'{"\\u006e": 1}',
        b'{"a": {"b": [1, {"c": "\\ud83d\\ude00"}]}, "n": 1}',
        b'{"a": "\\ud800", "n": 1}',
        b'{"a": 1e99999999999999999999, "n": 1}',
        b'{"a": ' + b"[" * 60 + b"]" * 60 + b', "n": 1}',
        '{"é": "é", "n": 1}'.encode(),
    ],
)
def test_good_records_are_taken(record: bytes) -> None:
    assert taken(LONG, record) == ([{"n": 1}], [])


def test_null_is_taken_and_other_records_are_not_touched_by_what_is_refused() -> None:
    inside = pa.struct([("s", pa.string()), ("l", pa.list_(pa.string()))])
    schema = pa.schema(
        [("a", inside), ("b", pa.bool_()), ("m", pa.map_(pa.string(), inside)), ("z", pa.int32())]
    )
    good = {"a": {"s": "x", "l": ["y", None]}, "b": True, "m": {"k": {"s": "v"}}, "z": 5}
    text = json.dumps(good).encode()

    rows, refused = taken(schema, text, text[:-2] + b'"}', None, text[:-1], text)

    row = {**good, "m": [("k", {"s": "v", "l": None})]}
    nothing = dict.fromkeys(schema.names)
    assert rows == [row, nothing, nothing, nothing, row]
    assert refused == [1, 3]


def test_a_record_of_nothing_but_nulls_takes_all_columns_with_it() -> None:
    assert taken(pa.schema([("a", pa.int64()), ("b", pa.string())]), b"{}") == ([{"a": None, "b": None}], [])


@pytest.mark.parametrize("cut", range(1, 40))
def test_the_end_of_a_record_is_its_end_wherever_the_next_begins(cut: int) -> None:
    schema = pa.schema([("text", pa.string()), ("number", pa.float64())])
    whole = b'{"text": "a\\u00e9bcd", "number": -12.5e1}'
    both = pa.array([whole[:cut], whole], pa.binary())

    assert natively(both, schema) == decode_exactly(both, schema)


def test_keys_are_found_in_any_order_and_among_many() -> None:
    names = [f"{'n' * (number % 20)}{number}" for number in range(300)]
    schema = pa.schema([(name, pa.int64()) for name in names])
    rng = random.Random(3)
    rows = [dict(zip(rng.sample(names, 300), range(300), strict=True)) for _ in range(5)]

    found, refused = taken(schema, *(json.dumps({**row, "other": 1}).encode() for row in rows))

    assert refused == []
    assert found == [{name: row[name] for name in names} for row in rows]


def test_many_keys_of_a_map_are_taken_unless_one_is_there_twice() -> None:
    schema = pa.schema([("m", pa.map_(pa.string(), pa.int64()))])
    text = json.dumps({"m": {str(number): number for number in range(1000)}}).encode()

    assert taken(schema, text)[1] == []
    assert taken(schema, text.replace(b'"999"', b'"500"'))[1] == [0]


def test_doubles_are_those_of_python() -> None:
    rng = random.Random(7)
    texts = [repr(struct.unpack("<d", rng.randbytes(8))[0]) for _ in range(20_000)]
    texts += [f"{rng.randrange(10**19)}e{rng.randint(-25, 25)}" for _ in range(20_000)]
    texts += [f"{rng.randrange(2**53, 2**64)}.{rng.randrange(10**3)}" for _ in range(5_000)]
    texts += [f"{m}e{e}" for m in (2**53 - 1, 2**53, 2**53 + 1, 2**54 + 2) for e in range(-40, 40)]
    # Just at, above and below the middle between two doubles.
    for _ in range(5_000):
        middle = Decimal(rng.randrange(2**52, 2**53)) * 2 + 1
        power = Decimal(2) ** rng.randint(-12, 9)
        texts += [str(middle * power), str((middle + Decimal("0.001")) * power), str((middle - 1) * power)]
    texts = [text for text in texts if text not in ("nan", "inf", "-inf")]

    rows, refused = taken(pa.schema([("f", pa.float64())]), *(b'{"f": %b}' % text.encode() for text in texts))

    assert refused == []
    assert [row["f"].hex() for row in rows] == [float(text).hex() for text in texts]


def test_decimals_of_all_sizes_are_those_of_python() -> None:
    rng = random.Random(11)
    texts = []
    for _ in range(5_000):
        digits = str(rng.randrange(10 ** rng.randint(1, 40)))
        point = rng.randint(0, len(digits) - 1)
        fraction = f".{digits[len(digits) - point :]}" if point else ""
        texts.append(f"{digits[: len(digits) - point]}{fraction}e{rng.randint(-20, 20)}")
    for wanted in (pa.decimal128(38, 10), pa.decimal128(38, 0), pa.decimal128(9, 9), pa.decimal128(18, 4)):
        schema = pa.schema([("d", wanted)])
        values = pa.array([b'{"d": "%b"}' % text.encode() for text in texts], pa.binary())
        assert natively(values, schema) == decode_exactly(values, schema)


def test_readers_are_used_by_threads_at_once() -> None:
    schema = pa.schema([("n", pa.int64()), ("s", pa.string())])
    values = pa.array([json.dumps({"n": n, "s": str(n)}).encode() for n in range(5_000)])
    expected = natively(values, schema)
    found: list[bool] = []

    def decode() -> None:
        reader = reader_of(schema)
        assert reader is not None
        found.extend(reader.take(values)[0] == expected for _ in range(20))

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 80


# Form, kind, width, nullable, a, b, first child, children, bytes of the name.
RECORD = [0, 4, 0, 0, 0, 0, 1, 1, 0]
N = [5, 1, 8, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("nodes", "wrong"),
    [
        ([], "no record"),
        ([N], "no record"),
        ([RECORD], "a node is none"),
        ([RECORD, [99, *N[1:]]], "a node is none"),
        ([RECORD, [5, 9, *N[2:]]], "a node is none"),
        ([RECORD, [*N[:8], 5]], "a node is none"),
        ([RECORD, [*N[:6], -1, 1, 1]], "a node is none"),
        ([RECORD, [*N[:6], 0, 2**40, 1]], "a node is none"),
        ([RECORD, [5, 1, 3, *N[3:]]], "cannot be read"),
        ([RECORD, [4, 1, 8, *N[3:]]], "cannot be read"),
        ([RECORD, [8, 1, 8, *N[3:]]], "cannot be read"),
        ([RECORD, [7, 1, 16, 1, 39, 0, 0, 0, 1]], "cannot be read"),
        ([RECORD, [7, 1, 16, 1, 9, 39, 0, 0, 1]], "cannot be read"),
        ([RECORD, [12, 1, 257, *N[3:]]], "cannot be read"),
        ([RECORD, [1, 3, 0, 1, 0, 0, 0, 0, 1]], "cannot be read"),
        ([RECORD, [2, 3, 0, 1, 0, 0, 2, 1, 1], [*N[:8], 0]], "cannot be read"),
        ([RECORD, [3, 4, 0, 1, 0, 0, 2, 1, 1], [*N[:8], 0]], "cannot be read"),
        ([RECORD, [1, 3, 0, 1, 0, 0, 1, 1, 1]], "cannot be read"),
        ([RECORD, N, [*N[:8], 0]], "no tree"),
        ([[*RECORD[:6], 1, 2, 0], [0, 4, 0, 1, 0, 0, 2, 1, 1], [*N[:8], 0]], "no tree"),
    ],
)
def test_a_program_that_could_do_harm_is_not_run(nodes: list[list[int]], wrong: str) -> None:
    numbers = array("q", [number for node in nodes for number in node]).tobytes()

    with pytest.raises(ValueError, match=wrong):
        _json.compile_program(numbers, b"n")


@pytest.mark.parametrize(
    ("ends", "data", "validity", "first", "count"),
    [
        ([0, 2], b"{}", None, 0, 2),
        ([0, 2], b"{}", None, 1, 1),
        ([0, 2], b"{}", None, -1, 1),
        ([0, 2], b"{}", None, 0, -1),
        ([0, 3], b"{}", None, 0, 1),
        ([2, 0], b"{}", None, 0, 1),
        ([-1, 2], b"{}", None, 0, 1),
        ([0, 2], b"{}", b"", 0, 1),
        ([0, 2], None, None, 0, 1),
    ],
)
def test_records_that_are_not_there_are_an_error(
    ends: list[int], data: bytes | None, validity: bytes | None, first: int, count: int
) -> None:
    program = _json.compile_program(array("q", [*RECORD, *N]).tobytes(), b"n")

    with pytest.raises(ValueError, match=r"records|offsets"):
        _json.read_records(program, array("i", ends).tobytes(), data, validity, first, count)
