"""Rows are the same whether their values are decoded now or were decoded before, tombstones and faults too.

What was decoded before is kept without a policy, so each policy has to work on top of it.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from hotset.decode.bad_records import BadRecords
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError, UnsupportedFormatError
from hotset.kafka.record_source import HEADERS_TYPE
from tests.hotset.raw import raw_records

SCHEMA = pa.schema([pa.field("a", pa.int64()), pa.field("at", pa.int64())])
VALUES = [b'{"a": 1}', None, b'{"a": 3}', b"{}"]


def rows_of(values: list[bytes | None], *, skips: bool) -> list[pa.RecordBatch]:
    decoder = RowDecoder(RecordFormat(skips_tombstones=skips), SCHEMA, {"at": "offset"}, "t")
    raw = raw_records(values)
    before = decoder.decode_payloads(raw)
    judged, decoded = decoder.judge(raw, before), decoder.decode(raw)
    assert judged == decoded
    return [judged.rows, decoded.rows]


def test_skipped_tombstones_leave_the_other_rows_in_their_places() -> None:
    for rows in rows_of(VALUES, skips=True):
        assert rows.to_pylist() == [{"a": 1, "at": 100}, {"a": 3, "at": 102}, {"a": None, "at": 103}]


def test_a_fault_after_a_skipped_tombstone_names_its_own_offset() -> None:
    decoder = RowDecoder(RecordFormat(skips_tombstones=True), SCHEMA, {"at": "offset"}, "t")
    raw = raw_records([None, b'{"a": 1}', b'{"a": "x"}'])
    before = decoder.decode_payloads(raw)

    with pytest.raises(DecodeError, match="offset 102"):
        decoder.judge(raw, before)


def test_a_tombstone_that_is_not_skipped_is_a_fault_either_way() -> None:
    with pytest.raises(DecodeError, match=r"offset 101.*tombstone"):
        rows_of(VALUES, skips=False)


@pytest.mark.parametrize("keeps_letters", [False, True])
def test_a_time_that_no_timestamp_can_hold_is_an_error_that_is_told(keeps_letters: bool) -> None:
    raw = raw_records([b"{" if keeps_letters else b"{}"])
    raw = raw.set_column(2, raw.schema.field(2), pa.array([1 << 62], pa.int64()))
    raw = raw.append_column("key", pa.nulls(1, pa.binary()))
    raw = raw.append_column("headers", pa.array([[]], HEADERS_TYPE))
    columns = {} if keeps_letters else {"t": "timestamp"}
    schema = pa.schema([("t", pa.timestamp("us", tz="UTC"))])
    record_format = RecordFormat(bad_records=BadRecords.DEAD_LETTER)

    with pytest.raises(UnsupportedFormatError, match="cannot hold the timestamp"):
        RowDecoder(record_format, schema, columns, "t", keeps_letters=keeps_letters).decode(raw)


@pytest.mark.parametrize("policy", [BadRecords.SKIP, BadRecords.DEAD_LETTER])
def test_the_good_ones_among_bad_records_keep_all_their_coordinates(policy: BadRecords) -> None:
    values = [b'{"a": 1}', b'{"a": "x"}', b'{"a": 3}']
    raw = raw_records(values).append_column("key", pa.array([b"k0", b"k1", b"k2"], pa.binary()))
    columns = {"at": "offset", "ms": "timestamp", "v": "value", "k": "key", "of": "topic"}
    kinds = [pa.int64(), pa.int64(), pa.int64(), pa.binary(), pa.binary(), pa.string()]
    schema = pa.schema(list(zip(("a", *columns), kinds, strict=True)))

    rows = RowDecoder(RecordFormat(bad_records=policy), schema, columns, "t").decode(raw).rows

    assert rows.to_pylist() == [
        {"a": 1, "at": 100, "ms": 0, "v": values[0], "k": b"k0", "of": "t"},
        {"a": 3, "at": 102, "ms": 0, "v": values[2], "k": b"k2", "of": "t"},
    ]
