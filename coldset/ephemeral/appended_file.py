"""What a manifest says of a Parquet file that is appended: counts, sizes and bounds, from its footer.

Bounds follow the table's own metrics settings, so engines prune and count as they do with its other files.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import LongType

_DATA: Final = 0
_NONE: Final = MetricsMode(MetricModeTypes.NONE)
# Of columns that the table has not.
_BESIDE: Final = -1


@dataclass(frozen=True, slots=True)
class AppendedFile:
    """A file, as a manifest's entry tells of it.

    Attributes:
        path: Its location, as readers are to open it.
        rows: Its rows.
        size_bytes: Its size.
        told: The record `data_file` of the entry.
    """

    path: str
    rows: int
    size_bytes: int
    told: dict[str, Any] = field(repr=False)


def describe_file(
    path: str,
    size_bytes: int,
    footer: pq.FileMetaData,
    schema: Schema,
    metadata: TableMetadata,
    with_nan: Collection[str] = (),
) -> AppendedFile:
    """Return what a manifest says of a Parquet file without partition values.

    Args:
        path: Its location.
        size_bytes: Its size.
        footer: Its footer; its columns have field ids.
        schema: The table's columns; the file may have others, of which nothing is said.
        metadata: The table's metadata, whose properties say what is collected.
        with_nan: Names of columns in which some number is NaN, so that no bound of theirs is said.
    """
    plan = dict(compute_statistics_plan(schema, metadata.properties))
    plan[_BESIDE] = StatisticsCollector(_BESIDE, LongType(), _NONE, "")
    known = parquet_path_to_id_mapping(schema)
    paths = {footer.schema.column(at).path for at in range(footer.num_columns)}
    found = data_file_statistics_from_parquet_metadata(
        footer, plan, {each: known.get(each, _BESIDE) for each in paths}
    ).to_serialized_dict()
    nan_ids = {each.field_id for each in schema.fields if each.name in with_nan}
    bounds = {
        side: _pairs({key: value for key, value in found[side].items() if key not in nan_ids})
        for side in ("lower_bounds", "upper_bounds")
    }
    counts = {name: _pairs(found[name]) for name in ("column_sizes", "value_counts", "null_value_counts")}
    told = {
        "content": _DATA,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": footer.num_rows,
        "file_size_in_bytes": size_bytes,
        **counts,
        **bounds,
        "split_offsets": found["split_offsets"],
    }
    return AppendedFile(path, footer.num_rows, size_bytes, told)


def _pairs(found: dict[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in sorted(found.items()) if key != _BESIDE]
