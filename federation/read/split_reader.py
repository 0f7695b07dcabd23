"""Read one split into Arrow batches: the only dispatch between hot and cold.

Runs anywhere: in the gateway, in a Spark task, in a notebook. Secrets are
resolved here and nowhere earlier. It plans nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from coldset.read import read_cold
from federation.options import storage_for
from federation.read.hot_reader import Guard, hot_batches
from federation.read.read_counts import ColdMeter, HotMeter
from federation.read.splits import ColdSplit, Split


def _go_on() -> None:
    """Has no objection."""


def read_split(
    split: Split,
    meter: HotMeter | None = None,
    cold: ColdMeter | None = None,
    *,
    guard: Guard = _go_on,
) -> Iterator[pa.RecordBatch]:
    """Yield a split's rows, all of them, or raise.

    Args:
        split: What to read.
        meter: Counts the records of a hot split.
        cold: Counts the files of a cold one, while they are read.
        guard: Called often; what it raises ends the reading.

    Raises:
        HotBudgetError: Kafka gave more value bytes than `maxHotBytes`.
        HotsetError: The ranges could not be read to their end, or a record does not decode.
        ColdsetError: A data file could not be read.
        OptionError: A secret's reference names nothing here.
    """
    if isinstance(split, ColdSplit):
        return _read_cold(split, ColdMeter() if cold is None else cold, guard)
    return hot_batches(split, HotMeter() if meter is None else meter, guard)


def _read_cold(split: ColdSplit, meter: ColdMeter, guard: Guard) -> Iterator[pa.RecordBatch]:
    storage = storage_for(split.catalog_name, split.catalog_properties, split.task.identifier)
    for batch in read_cold(split.task, split.columns, storage, meter.read):
        guard()
        yield batch if batch.schema.equals(split.schema) else widen(batch, split.schema)


def widen(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with all columns of the schema, those it lacks being null."""
    present = set(batch.schema.names)
    arrays = [
        batch.column(field.name) if field.name in present else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
