"""Which columns of a data file have one value in all rows, because the table is partitioned by them.

The partition's value counts and not the file's, since a file that was imported
may say otherwise; so all of Iceberg's own readers have it. An engine that reads
a file by itself gets the file's values, and can do so only where these are shown
to be the partition's. No file is opened here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField

from coldset.files import ColdFile, Footer, is_scanned_alike, literal, sql_type, with_id


def constants_of(spec: PartitionSpec, partition: Record | tuple[Any, ...]) -> dict[int, Any]:
    """Return the values that a file's partition gives to columns, by id, whatever is in the file.

    Args:
        spec: The spec that the file was written under.
        partition: The file's values for that spec's fields.
    """
    return {
        field.source_id: partition[place]
        for place, field in enumerate(spec.fields)
        if isinstance(field.transform, IdentityTransform)
    }


def partitioned_by(metadata: TableMetadata, fields: Sequence[NestedField]) -> list[NestedField]:
    """Return the columns that are a file's partition themselves, in any spec of the table."""
    sources = {
        part.source_id
        for spec in metadata.specs().values()
        for part in spec.fields
        if isinstance(part.transform, IdentityTransform)
    }
    return [field for field in fields if field.field_id in sources]


def constants_in_sql(
    metadata: TableMetadata, file: ColdFile, fields: Sequence[tuple[NestedField, pa.DataType]], footer: Footer
) -> tuple[tuple[int, str], ...] | None:
    """Return the columns that the partition fills for an engine, which reads the others from the file.

    Args:
        metadata: The table's.
        file: The data file.
        fields: The table's columns, with their types.
        footer: The file's.

    Returns:
        SQL of the columns' values, by id; None if the engine cannot read the file exactly.
    """
    by_partition = constants_of(metadata.specs()[file.spec_id], file.partition)
    found: list[tuple[int, str]] = []
    for each, kind in fields:
        try:
            column = with_id(footer.columns, each.field_id)
        except ValueError:
            return None
        if column is not None and not is_scanned_alike(each, kind, column[1]):
            return None
        if column is not None and each.field_id in by_partition:
            if not footer.has_only(each, by_partition[each.field_id]):
                return None
        elif column is None and each.field_id in by_partition:
            value = by_partition[each.field_id]
            text = "NULL" if value is None else literal(value, kind)
            if text is None:
                return None
            found.append((each.field_id, f"CAST({text} AS {sql_type(kind)})"))
        elif column is None and each.required and each.initial_default is None:
            return None
    return tuple(found)
