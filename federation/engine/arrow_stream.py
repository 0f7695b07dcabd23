"""What DuckDB scans as a table: a schema, and a way to make batches each time it is scanned.

A registered reader of batches gives nothing to its second scan; this makes a new one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa


class Stream:
    """A schema and a way to make batches, in Arrow's C stream protocol."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema = schema
        self._batches = batches

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        # Nothing is read until the first batch is pulled: DuckDB also makes streams to learn types.
        return pa.RecordBatchReader.from_batches(self._schema, self._batches()).__arrow_c_stream__()
