"""Raw records as a drain hands them out, made from values alone.

Offsets count from `first`, so that a test can tell a record's place from its row.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hotset import RAW_SCHEMA


def raw_records(values: Sequence[bytes | None], *, partition: int = 3, first: int = 100) -> pa.RecordBatch:
    count = len(values)
    arrays = [
        pa.array([partition] * count, pa.int32()),
        pa.array(range(first, first + count), pa.int64()),
        pa.array([0] * count, pa.int64()),
        pa.array(values, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW_SCHEMA)
