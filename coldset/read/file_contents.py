"""A few columns of a data file, from its own footer or its rows.

Where a manifest says too little, the file itself is asked: first its Parquet
footer, then the columns, of all rows or of those with some values only. As in
`file_bounds`, rows that delete files hide count. The file does not know what the
columns mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, In
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.schema import prune_columns
from pyiceberg.table import FileScanTask
from pyiceberg.types import NestedField, StructType

from coldset.errors import ColdReadError
from coldset.files import UNREADABLE
from coldset.read.file_bounds import HeldFile, RowBounds, Value, told_by_partition
from coldset.table import PinnedTable


def footer_bounds(
    pinned: PinnedTable, held: HeldFile, io_properties: Mapping[str, str]
) -> tuple[RowBounds, ...] | None:
    """Return what a Parquet file's footer says of each of its row groups; None if there is no such footer.

    Raises:
        ColdReadError: The file is missing or broken.
    """
    if str(held.file.file_format).rpartition(".")[2].lower() != "parquet":
        return None
    io = load_file_io(dict(io_properties), pinned.table.location())
    try:
        with io.new_input(held.path).open() as stream:
            metadata = pq.read_metadata(stream)
    except UNREADABLE as exc:
        raise _unreadable(pinned, held, exc) from exc
    paths = dict(_paths(metadata.schema.to_arrow_schema(), ""))
    leaves = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    constants = told_by_partition(pinned, held.file)
    found = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        sides = [
            (constants[each], constants[each])
            if each in constants
            else _group_side(group, leaves.get(paths.get(each, "")))
            for each in held.columns
        ]
        found.append(RowBounds(group.num_rows, tuple(s[0] for s in sides), tuple(s[1] for s in sides)))
    return tuple(found)


def read_held(
    pinned: PinnedTable,
    held: HeldFile,
    io_properties: Mapping[str, str],
    columns: Sequence[int] = (),
    only: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Iterator[tuple[pa.Array, ...]]:
    """Yield columns, batch by batch, of the rows that were written into the file.

    Args:
        pinned: The table.
        held: The file.
        io_properties: pyiceberg properties for reaching the file, secrets resolved.
        columns: Ids of the columns to read; those that the file was asked for by default.
        only: Columns to the values that a row must have there; all rows by default.

    Raises:
        ColdReadError: The file is missing, broken or not what the table says.
    """
    ids = tuple(columns) or held.columns
    wanted = prune_columns(pinned.schema, set(ids))
    paths = {each: path for path, each in _ids(wanted.fields, ())}
    io = load_file_io(dict(io_properties), pinned.table.location())
    try:
        scan = ArrowScan(pinned.layout, io, wanted, _filter(pinned, only))
        for batch in scan.to_record_batches([FileScanTask(held.file)]):
            yield tuple(leaf_of(batch, paths[each]) for each in ids)
    except UNREADABLE as exc:
        raise _unreadable(pinned, held, exc) from exc


def _filter(pinned: PinnedTable, only: Mapping[int, Collection[int]]) -> BooleanExpression:
    # The reader binds names to the newest schema, whichever one the answer has.
    found: BooleanExpression = AlwaysTrue()
    for column, values in only.items():
        name = pinned.layout.schema().find_column_name(column)
        if name is None:
            continue  # it has been dropped since; the caller gets more rows than it needs
        found = And(found, In(name, values))  # type: ignore[call-arg,arg-type]
    return found


def _group_side(group: Any, leaf: int | None) -> tuple[Value | None, Value | None]:
    statistics = None if leaf is None else group.column(leaf).statistics
    if (
        statistics is None
        or not statistics.has_min_max
        or not statistics.has_null_count
        or statistics.null_count != 0
    ):
        return None, None
    low, high = statistics.min, statistics.max
    is_plain = isinstance(low, int | str) and isinstance(high, int | str)
    return (low, high) if is_plain else (None, None)


def _paths(fields: Any, prefix: str) -> Iterator[tuple[int, str]]:
    for each in fields:
        known = (each.metadata or {}).get(b"PARQUET:field_id")
        if known is not None:
            yield int(known), prefix + each.name
        if pa.types.is_struct(each.type):
            yield from _paths(each.type, f"{prefix}{each.name}.")


def _ids(fields: Sequence[NestedField], prefix: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    for each in fields:
        path = (*prefix, each.name)
        yield path, each.field_id
        if isinstance(each.field_type, StructType):
            yield from _ids(each.field_type.fields, path)


def leaf_of(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    """Return a column of a batch, or a field in columns that are structs.

    Raises:
        KeyError: There is none.
    """
    found = batch.column(path[0])
    for name in path[1:]:
        found = pc.struct_field(found, name)
    return found


def _unreadable(pinned: PinnedTable, held: HeldFile, exc: Exception) -> ColdReadError:
    return ColdReadError(
        f"file {held.path} of table {pinned.identifier!r} could not be read: {type(exc).__name__}: {exc}; "
        "ask again: a new cut takes the newest one",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
        file=held.path,
    )
