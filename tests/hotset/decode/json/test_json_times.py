"""What a number of JSON is in a column of timestamps, in each unit and in both ways to decode.

Which unit a table's writer means is asked of real writers in `tests/writers/`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.formats import RecordFormat
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError
from tests.hotset.raw import raw_records

S, MS, US = EpochUnit.SECONDS, EpochUnit.MILLIS, EpochUnit.MICROS
KINDS = [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")]

pytestmark = pytest.mark.usefixtures("way")


def read(unit: EpochUnit, wanted: pa.DataType, text: bytes) -> Any:
    schema = pa.schema([("at", wanted), ("inside", pa.struct([("at", pa.list_(wanted))]))])
    record = b'{"at": %b, "inside": {"at": [%b, null]}}' % (text, text)
    decoder = RowDecoder(RecordFormat(epoch_unit=unit), schema, {}, "t")
    rows = decoder.decode(raw_records([record])).rows
    [outer] = rows.column("at").cast(pa.int64()).to_pylist()
    inner = rows.column("inside").field("at").flatten().cast(pa.int64()).to_pylist()
    assert inner == [outer, None]
    return outer


@pytest.mark.parametrize("wanted", KINDS, ids=str)
@pytest.mark.parametrize(("unit", "micros"), [(S, 1_000_000), (MS, 1000), (US, 1)])
@pytest.mark.parametrize("number", [1_700_000_000, 0, -1])
def test_a_number_counts_its_unit(wanted: pa.DataType, unit: EpochUnit, micros: int, number: int) -> None:
    per = micros * (1000 if wanted.unit == "ns" else 1)

    assert read(unit, wanted, b"%d" % number) == number * per


@pytest.mark.parametrize("wanted", KINDS, ids=str)
@pytest.mark.parametrize("unit", [S, MS, US])
def test_a_number_beyond_the_column_is_bad(wanted: pa.DataType, unit: EpochUnit) -> None:
    largest = 2**63 - 1
    with pytest.raises(DecodeError, match="wants timestamp"):
        read(unit, wanted, b"%d" % (largest + 1 if (unit, wanted.unit) == (US, "us") else largest))
    if (unit, wanted.unit) == (US, "us"):
        assert read(unit, wanted, b"%d" % largest) == largest


@pytest.mark.parametrize("wanted", KINDS, ids=str)
def test_a_number_may_be_no_time_at_all(wanted: pa.DataType) -> None:
    text = b'"2026-01-02T03:04:05Z"' if wanted.tz else b'"2026-01-02T03:04:05"'

    assert read(EpochUnit.NONE, wanted, text) is not None
    with pytest.raises(DecodeError, match="holds a number, and its writer takes none for a time"):
        read(EpochUnit.NONE, wanted, b"5")
