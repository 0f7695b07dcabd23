"""What a manifest says of a Parquet file that is appended: counts, sizes and bounds, from its footer.

Bounds follow the table's own metrics settings, so engines prune and count as they do with its other files.
They are the values as the file has them: pyiceberg's own reading of footers leaves out row groups that say
nothing of a column, and fails on times that Python has no object for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    StatisticsCollector,
    compute_statistics_plan,
    parquet_path_to_id_mapping,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)
from pyiceberg.utils.truncate import truncate_upper_bound_binary_string, truncate_upper_bound_text_string

_DATA: Final = 0
_FLOATS: Final = (FloatType, DoubleType)
_LONGS: Final = (
    LongType,
    TimeType,
    TimestampType,
    TimestamptzType,
    TimestampNanoType,
    TimestamptzNanoType,
)
# As the specification writes single values. Identifiers have no bounds: engines do not agree on their order.
_WRITTEN: Final[Mapping[tuple[type[PrimitiveType], ...], Callable[[Any], bytes]]] = {
    (BooleanType,): lambda value: b"\x01" if value else b"\x00",
    (IntegerType, DateType): struct.Struct("<i").pack,
    _LONGS: struct.Struct("<q").pack,
    (FloatType,): struct.Struct("<f").pack,
    (DoubleType,): struct.Struct("<d").pack,
    (DecimalType,): lambda value: value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, signed=True),
    (StringType, BinaryType, FixedType): bytes,
}


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
    told: dict[str, dict[int, Any]] = {name: {} for name in _COLLECTED}
    for collector, places in _columns(footer, schema, metadata):
        facts = [footer.row_group(group).column(place) for group, place in places]
        is_clean = collector.column_name not in with_nan
        for name, value in _tell(collector, facts, is_clean=is_clean).items():
            told[name][collector.field_id] = value
    record = {
        "content": _DATA,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": footer.num_rows,
        "file_size_in_bytes": size_bytes,
        **{name: _pairs(values) for name, values in told.items()},
        "split_offsets": [_begin(footer.row_group(group)) for group in range(footer.num_row_groups)],
    }
    return AppendedFile(path, footer.num_rows, size_bytes, record)


_COLLECTED: Final = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)


def _columns(
    footer: pq.FileMetaData, schema: Schema, metadata: TableMetadata
) -> list[tuple[StatisticsCollector, list[tuple[int, int]]]]:
    """Return for each column of the table what is collected, and where the file has it: group and place."""
    try:
        plan = compute_statistics_plan(schema, metadata.properties)
    except ValueError:
        # A mode that nobody knows is one that was not set, as to Iceberg's own writers.
        plan = compute_statistics_plan(schema, {})
    ids = parquet_path_to_id_mapping(schema)
    places = {footer.schema.column(at).path: at for at in range(footer.num_columns)}
    return [
        (plan[ids[path]], [(group, at) for group in range(footer.num_row_groups)])
        for path, at in places.items()
        if path in ids
    ]


def _tell(collector: StatisticsCollector, facts: list[pq.ColumnChunkMetaData], *, is_clean: bool) -> Any:
    mode, kind = collector.mode, collector.iceberg_type
    told: dict[str, Any] = {"column_sizes": sum(each.total_compressed_size for each in facts)}
    if mode.type is MetricModeTypes.NONE:
        return told
    told["value_counts"] = sum(each.num_values for each in facts)
    found = [each.statistics for each in facts]
    if any(each is None or not each.has_null_count for each in found):
        return told
    told["null_value_counts"] = sum(each.null_count for each in found)
    if mode.type is MetricModeTypes.COUNTS or not is_clean:
        return told
    if isinstance(kind, _FLOATS):
        told["nan_value_counts"] = 0
    write = next((write for kinds, write in _WRITTEN.items() if isinstance(kind, kinds)), None)
    bounded = [each for each in found if each.has_min_max]
    # A group that has values and says nothing of them, as of long text, leaves the file without bounds.
    is_whole = sum(fact.num_values - each.null_count for fact, each in zip(facts, found, strict=True)
                   if not each.has_min_max) == 0  # fmt: skip
    if write is None or not bounded or not is_whole:
        return told
    lower = min(_value(kind, each.min_raw) for each in bounded)
    upper = _above(kind, max(_value(kind, each.max_raw) for each in bounded), mode.length)
    told["lower_bounds"] = write(_below(kind, lower, mode.length))
    return told if upper is None else told | {"upper_bounds": write(upper)}


def _value(kind: PrimitiveType, raw: Any) -> Any:
    if isinstance(kind, DecimalType) and isinstance(raw, bytes):
        return int.from_bytes(raw, signed=True)
    return raw


def _below(kind: PrimitiveType, value: Any, length: int | None) -> Any:
    """Return a bound that is not above a value, so many characters or bytes long."""
    if isinstance(kind, StringType):
        return value.decode()[:length].encode()
    return value[:length] if isinstance(kind, BinaryType) else value


def _above(kind: PrimitiveType, value: Any, length: int | None) -> Any:
    """Return a bound that is not below a value, so many characters or bytes long; None if there is none."""
    if isinstance(kind, BinaryType):
        return truncate_upper_bound_binary_string(value, length)
    if not isinstance(kind, StringType):
        return value
    try:
        found = truncate_upper_bound_text_string(value.decode(), length)
        return None if found is None else found.encode()
    except UnicodeEncodeError:  # the next character is half of a pair
        return None


def _begin(group: pq.RowGroupMetaData) -> int:
    first = group.column(0)
    return int(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)


def _pairs(found: dict[int, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in sorted(found.items())]
