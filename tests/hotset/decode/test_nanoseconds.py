"""Columns of nanoseconds, counted to the last one, from each format and in every way there is to decode it.

A decoder that took nanoseconds for microseconds would be wrong by a thousand, and one that let numbers
overflow by centuries. Values are compared as numbers, since Python's times end at microseconds.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded
from tests.fuzz.avro_bytes import number
from tests.hotset.avro_records import PATHS, Runner, record_of
from tests.hotset.avro_records import decode as decode_avro
from tests.hotset.json_ways import WAYS, Decode
from tests.hotset.proto import decode as decode_protobuf
from tests.hotset.proto import message_class, only_field

LOCAL, UTC = pa.timestamp("ns"), pa.timestamp("ns", tz="UTC")
FIRST, LAST = -(2**63), 2**63 - 1
FIRST_SECOND = -9_223_372_036 * 10**9  # the first whole one
DAY = 1_767_323_045 * 10**9


def count(decoded: Decoded) -> Any:
    """The column's one value as a number, or why there is none."""
    decoded.rows.validate(full=True)
    return decoded.faults[0].reason if decoded.faults else decoded.rows.column(0).cast(pa.int64())[0].as_py()


JSON: list[tuple[pa.DataType, str, int | None]] = [
    (LOCAL, '"2026-01-02T03:04:05.123456789"', DAY + 123_456_789),
    (LOCAL, '"2026-01-02T03:04:05.1234567"', DAY + 123_456_700),
    (LOCAL, '"2026-01-02T03:04:05.000000001"', DAY + 1),
    (LOCAL, '"2026-01-02 03:04:05"', DAY),
    (LOCAL, '"2026-01-02 03:04"', DAY - 5 * 10**9),
    (LOCAL, '"1969-12-31T23:59:59.999999999"', -1),
    (LOCAL, '"2262-04-11T23:47:16.854775807"', LAST),
    (LOCAL, '"1677-09-21T00:12:44"', FIRST_SECOND),
    (LOCAL, "1700000000123", 1_700_000_000_123 * 10**6),
    (LOCAL, "-1", -(10**6)),
    (LOCAL, "9223372036854", 9_223_372_036_854 * 10**6),
    (LOCAL, "-9223372036854", -9_223_372_036_854 * 10**6),
    (UTC, '"2026-01-02T03:04:05.123456789Z"', DAY + 123_456_789),
    (UTC, '"2026-01-02T04:34:05.123456789+01:30"', DAY + 123_456_789),
    (UTC, '"2262-04-12T00:47:16.854775807+01"', LAST),
    (UTC, "0", 0),
    (LOCAL, '"2026-01-02T03:04:05.1234567890"', None),
    (LOCAL, '"2026-01-02T03:04:05.123456789Z"', None),
    (LOCAL, '"2262-04-11T23:47:16.854775808"', None),
    (LOCAL, '"2262-04-12T00:00:00"', None),
    (LOCAL, '"1677-09-21T00:12:43"', None),
    (LOCAL, '"0001-01-01"', None),
    (LOCAL, '"9999-12-31T23:59:59.999999999"', None),
    (LOCAL, "9223372036855", None),
    (LOCAL, "-9223372036855", None),
    (LOCAL, "1.5", None),
    (UTC, '"2026-01-02T03:04:05.123456789"', None),
    (UTC, '"2262-04-11T23:47:16.854775807-00:01"', None),
    (UTC, "9223372036854775808", None),
]


@pytest.mark.parametrize("decode", WAYS)
@pytest.mark.parametrize(("wanted", "text", "value"), JSON)
def test_json_has_nine_digits_and_no_overflow(
    decode: Decode, wanted: pa.DataType, text: str, value: int | None
) -> None:
    payloads = pa.array([b'{"c": %b}' % text.encode()], pa.binary())

    found = count(decode(payloads, pa.schema([("c", wanted)])))

    assert found == value if value is not None else f"column 'c' wants {wanted}, and holds" in found


@pytest.mark.parametrize("decode", WAYS)
def test_records_that_are_written_alike_are_told_apart_by_each_digit(decode: Decode) -> None:
    texts = [f"2026-01-02T03:04:05.{digits:09d}" for digits in (0, 1, 999, 1000, 999_999_999)]
    payloads = pa.array(
        [b'{"c": "%b"}' % text.encode() for text in [*texts, "2500-01-01T00:00:00"]], pa.binary()
    )

    decoded = decode(payloads, pa.schema([("c", LOCAL)]))

    found = decoded.rows.column("c").cast(pa.int64()).to_pylist()
    assert found == [*(DAY + n for n in (0, 1, 999, 1000, 999_999_999)), None]
    assert [fault.row for fault in decoded.faults] == [5]


@pytest.mark.parametrize("decode", WAYS)
def test_microseconds_keep_their_rules(decode: Decode) -> None:
    texts = ["2026-01-02T03:04:05.123456", "9999-12-31T23:59:59.999999", "2026-01-02T03:04:05.1234567"]
    payloads = pa.array([b'{"c": "%b"}' % text.encode() for text in texts], pa.binary())

    decoded = decode(payloads, pa.schema([("c", pa.timestamp("us"))]))

    found = decoded.rows.column("c").cast(pa.int64()).to_pylist()
    assert found == [DAY // 1000 + 123_456, 253_402_300_799_999_999, None]
    assert [fault.row for fault in decoded.faults] == [2]


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(
    ("unit", "written", "value"),
    [
        ("nanos", 1, 1),
        ("nanos", LAST, LAST),
        ("nanos", FIRST, FIRST),
        ("micros", 9_223_372_036_854_775, 9_223_372_036_854_775_000),
        ("micros", 9_223_372_036_854_776, "outside its range"),
        ("micros", -9_223_372_036_854_775, -9_223_372_036_854_775_000),
        ("micros", -9_223_372_036_854_776, "outside its range"),
        ("millis", 1, 1_000_000),
        ("millis", 9_223_372_036_855, "outside its range"),
        ("millis", FIRST, "outside its range"),
    ],
)
def test_avro_has_each_unit_and_no_overflow(runner: Runner, unit: str, written: int, value: Any) -> None:
    for name, wanted in (("timestamp", UTC), ("timestamp", LOCAL), ("local-timestamp", LOCAL)):
        avro = {"type": "long", "logicalType": f"{name}-{unit}"}

        found = count(
            decode_avro(runner, record_of(("c", avro)), pa.schema([("c", wanted)]), [number(written)])
        )

        assert found == value if isinstance(value, int) else value in found


@pytest.mark.parametrize("pure", ["", "1"])
@pytest.mark.parametrize("wanted", [LOCAL, UTC], ids=str)
@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("google.protobuf.Timestamp", (0, 1), 1),
        ("google.protobuf.Timestamp", (-1, 999_999_999), -1),
        ("google.protobuf.Timestamp", (9_223_372_036, 854_775_807), LAST),
        ("google.protobuf.Timestamp", (9_223_372_036, 854_775_808), "outside its range"),
        ("google.protobuf.Timestamp", (-9_223_372_037, 145_224_192), FIRST),
        ("google.protobuf.Timestamp", (-9_223_372_037, 145_224_191), "outside its range"),
        ("google.protobuf.Timestamp", (253_402_300_799, 0), "outside its range"),
        ("google.protobuf.Timestamp", (0, 10**9), "outside its range"),
        ("int64", 1_700_000_000_123, 1_700_000_000_123 * 10**6),
        ("sint64", 9_223_372_036_854, 9_223_372_036_854 * 10**6),
        ("sint64", 9_223_372_036_855, "outside its range"),
        ("sfixed64", -9_223_372_036_855, "outside its range"),
    ],
)
def test_protobuf_has_each_nanosecond_and_no_overflow(
    monkeypatch: pytest.MonkeyPatch, pure: str, wanted: pa.DataType, kind: str, written: Any, value: Any
) -> None:
    monkeypatch.setenv("KAFKAICEBERG_PURE", pure)
    writer = only_field(f"{kind} c = 1;", imports="google/protobuf/timestamp.proto")
    told = written if isinstance(written, int) else dict(zip(("seconds", "nanos"), written, strict=True))
    body = b"\0" + message_class(writer, "M")(c=told).SerializeToString()

    found = count(decode_protobuf(writer, pa.schema([("c", wanted)]), body))

    assert found == value if isinstance(value, int) else value in found
