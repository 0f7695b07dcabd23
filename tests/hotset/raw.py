"""Raw records as a drain hands them out, made from values alone, and rows made of them.

Offsets count from `first`, so that a test can tell a record's place from its row.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

import hotset.decode.payloads
from hotset.decode.decoded import Decoder
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import RowDecoder
from hotset.kafka.record_source import RAW_SCHEMA


def raw_records(values: Sequence[bytes | None], *, partition: int = 3, first: int = 100) -> pa.RecordBatch:
    count = len(values)
    arrays = [
        pa.array([partition] * count, pa.int32()),
        pa.array(range(first, first + count), pa.int64()),
        pa.array([0] * count, pa.int64()),
        pa.array(values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW_SCHEMA)


def rows_of(decode: Decoder, raw: pa.RecordBatch, schema: pa.Schema, topic: str = "t") -> pa.RecordBatch:
    """What a topic gives whose values this decoder decodes: rows, or the error that names the record."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hotset.decode.payloads, "decoder_for", lambda *_, **__: decode)
        return RowDecoder(RecordFormat(), schema, {}, topic).decode(raw).rows
