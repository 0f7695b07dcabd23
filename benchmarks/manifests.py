"""A table of many data files that are not there: its manifests are real, and that is all that planning reads.

Each file has bounds, counts and a partition, as a writer would have made them. For measuring plans; whoever
reads rows of it finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.transforms import DayTransform
from pyiceberg.typedef import Record

from coldset.table.catalog import open_catalog

SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("key", pa.int64()),
        ("price", pa.float64()),
        ("customer", pa.string()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("note", pa.string()),
    ]
)
FILE_ROWS: Final = 1000
FILES_A_DAY: Final = 10
_FIRST_DAY: Final = 20_000
_DAY_US: Final = 86_400_000_000


def day(number: int) -> datetime:
    """The first instant of a day of the table."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=_FIRST_DAY + number)


def make_table(properties: dict[str, str], name: str, *, manifests: int, files: int) -> None:
    """Make a table whose one snapshot has so many manifests and so many data files."""
    catalog = open_catalog("lake", properties)
    catalog.create_namespace_if_not_exists(name.split(".", maxsplit=1)[0])
    catalog.create_table(name, schema=SCHEMA)
    with catalog.load_table(name).update_spec() as spec:
        spec.add_field("seen", DayTransform(), "day")
    table = catalog.load_table(name)
    with table.transaction() as changed, _Append(Operation.APPEND, changed, table.io) as append:
        append.each = -(-files // manifests)
        for file in _data_files(table, files):
            append.append_data_file(file)


class _Append(_FastAppendFiles):
    """An append that writes many manifests, as many appends would have."""

    each = 1

    def _manifests(self) -> list[ManifestFile]:
        found = []
        for first in range(0, len(self._added_data_files), self.each):
            with self.new_manifest_writer(spec=self._transaction.table_metadata.spec()) as writer:
                for file in self._added_data_files[first : first + self.each]:
                    writer.add(
                        ManifestEntry.from_args(
                            status=ManifestEntryStatus.ADDED,
                            snapshot_id=self._snapshot_id,
                            sequence_number=None,
                            file_sequence_number=None,
                            data_file=file,
                        )
                    )
            found.append(writer.to_manifest_file())
        return found


def _data_files(table: Table, files: int) -> Iterator[DataFile]:
    kinds: dict[int, Any] = {field.field_id: field.field_type for field in table.schema().fields}
    for number in range(files):
        in_day = _FIRST_DAY + number // FILES_A_DAY
        start = in_day * _DAY_US
        low = (number * FILE_ROWS, 0, 0.0, "user_0", start, "note 0")
        high = ((number + 1) * FILE_ROWS - 1, 999_999, 1000.0, "user_9", start + _DAY_US - 1, "note 9")
        yield DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{table.location()}/data/{number}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(in_day),
            record_count=FILE_ROWS,
            file_size_in_bytes=100_000,
            column_sizes=dict.fromkeys(kinds, 10_000),
            value_counts=dict.fromkeys(kinds, FILE_ROWS),
            null_value_counts=dict.fromkeys(kinds, 0),
            nan_value_counts={},
            lower_bounds={each: to_bytes(kinds[each], value) for each, value in zip(kinds, low, strict=True)},
            upper_bounds={
                each: to_bytes(kinds[each], value) for each, value in zip(kinds, high, strict=True)
            },
            split_offsets=[4],
            sort_order_id=0,
            spec_id=table.spec().spec_id,
        )
