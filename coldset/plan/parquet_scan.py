"""Which data files an engine can scan as Parquet itself, and how it has to.

DuckDB's `read_parquet` finds columns by field id and widens types as the
specification does, so it can read most files as they are. What it cannot be
shown to read exactly stays with `read_files`: files without ids or of other formats,
fields of structs that have changed, types that Parquet says in another way. Each
file's footer is asked, once. The text is made here and run elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.types import NestedField
from pyroaring import BitMap64

from coldset.deletes import deleted_positions
from coldset.errors import ColdReadError, UnsupportedTableError
from coldset.files import (
    UNREADABLE,
    ColdFile,
    Stamp,
    column_definition,
    footer_of,
    forget_footer,
    local_path,
    may_hold_nan,
    quoted,
    read_footers,
    stamp_of,
    text_literal,
)
from coldset.plan.file_plan import plan_files
from coldset.plan.partition_columns import constants_in_sql, partitioned_by
from coldset.table import PinnedTable
from foundation.lru import LruCache

_FILES_KEPT: Final = 200_000
_MOST_GROUPS: Final = 64
_MOST_ROWS: Final = 2**31 - 1
_MOST_BITS: Final = 64 * 1024 * 1024 * 8
# So many are looked up faster than as many bits as there are rows; more are not.
_MOST_LISTED: Final = 250_000

# Of a table, by its UUID, a snapshot and what the schema says: a restored table may give its ids again.
ScanKey = tuple[str, int, str]
DeletedRows = BitMap64


@dataclass(frozen=True, slots=True)
class ScanGroup:
    """Files that one `read_parquet` reads.

    Attributes:
        paths: Where they are, on this machine.
        constants: SQL of the columns that have one value in all of them, by id.
        deleted: For each file, the rows that are deleted by position; empty if none is in any.
        most_rows: Rows of the largest file, deleted ones too.
        files: The same as `paths`, as they were planned.
        places: Where these files are in `deleted`, if it has more.
    """

    paths: tuple[str, ...]
    constants: tuple[tuple[int, str], ...]
    deleted: tuple[DeletedRows, ...]
    most_rows: int
    files: tuple[ColdFile, ...]
    places: tuple[int, ...] | None = None

    @property
    def is_listed(self) -> bool:
        """Whether its deleted rows are few enough to be a list of numbers instead of a bit for each row."""
        return sum(map(len, self.deleted)) <= _MOST_LISTED


@dataclass(frozen=True, slots=True)
class ParquetScan:
    """How a snapshot is scanned: some files by the engine, the rest by `read_files`.

    Attributes:
        key: Names the table, the snapshot and the schema; equal keys are equal scans.
        fields: The table's columns, with their definitions in SQL.
        groups: What the engine reads.
        rest: What it does not.
        rows: How many rows are in `groups`, deletes applied.
        with_nan: Ids of the columns that may hold NaN in some file.
        stamps: How the files looked when their footers were read.
    """

    key: ScanKey
    fields: tuple[tuple[int, str, str], ...] = field(repr=False)
    groups: tuple[ScanGroup, ...] = field(repr=False)
    rest: tuple[ColdFile, ...] = field(repr=False)
    rows: int
    with_nan: frozenset[int] = frozenset()
    stamps: Mapping[str, Stamp] = field(default_factory=dict, repr=False, compare=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that the engine must be able to open."""
        return tuple(path for group in self.groups for path in group.paths)

    def require_unchanged(self) -> None:
        """Raise if a file is not the one any more that its footer was read of.

        Raises:
            ColdReadError: One is gone, or another is in its place; the next scan looks at it anew.
        """
        for path in self.paths:
            if stamp_of(path) != self.stamps.get(path):
                forget_footer(path)
                _scans.clear()
                raise ColdReadError(
                    f"file {path} is gone or was replaced since it was first read, and data files never "
                    "change; ask again, and it is looked at anew",
                    file=path,
                )

    def sql(self, columns: Sequence[str], deletes: Mapping[int, str]) -> str:
        """Return a query for the rows of `groups`; it is empty if they have no file.

        Args:
            columns: The columns of the answer in their order; those that the table does not have are null.
            deletes: For each group with deleted rows, by its place, a table of them. If they are listed, it
                has a row for each with a number `row`, which counts on from file to file as if all were as
                long as the longest; else one row `bits`, a list with a bit string for each file, in which
                the deleted rows are set.
        """
        return " UNION ALL ".join(
            self._group_sql(group, columns, deletes.get(place))
            for place, group in enumerate(self.groups)
            if group.paths
        )

    def _group_sql(self, group: ScanGroup, columns: Sequence[str], deletes: str | None) -> str:
        constants = dict(group.constants)
        by_name = {name: constants.get(field_id, self._read(field_id)) for field_id, name, _ in self.fields}
        selected = ", ".join(f"{by_name.get(name, 'NULL')} AS {quoted(name)}" for name in columns)
        read = [definition for field_id, _, definition in self.fields if field_id not in constants]
        paths = ", ".join(text_literal(path) for path in group.paths)
        scan = f"read_parquet([{paths}], schema = MAP {{{', '.join(read)}}}, hive_partitioning = false)"
        where = "" if deletes is None else f" WHERE {_is_left(group, quoted(deletes))}"
        return f"SELECT {selected} FROM {scan}{where}"

    def _read(self, field_id: int) -> str:
        # A footer's bounds leave NaN out, and the engine skips rows by them, though NaN is above all
        # numbers to it. It takes no bounds through TRY, which of a column alone can hide no error.
        return f"try(c{field_id})" if field_id in self.with_nan else f"c{field_id}"


def _is_left(group: ScanGroup, deletes: str) -> str:
    if group.is_listed:
        row = f"{_number_of(group)} * {group.most_rows} + file_row_number"
        return f"({row}) NOT IN (SELECT row FROM {deletes})"
    bits = f"(SELECT bits FROM {deletes})[{_number_of(group)} + 1]"
    return f"get_bit({bits}, file_row_number::INTEGER) = 0"


def _number_of(group: ScanGroup) -> str:
    return "file_index::BIGINT" if group.places is None else f"{list(group.places)}[file_index::BIGINT + 1]"


_scans: Final[LruCache[ScanKey, ParquetScan]] = LruCache(
    _FILES_KEPT, lambda found: len(found.rest) + sum(len(group.paths) for group in found.groups) + 1
)


def plan_parquet_scan(pinned: PinnedTable, io_properties: Mapping[str, str]) -> ParquetScan | None:
    """Return how the pinned snapshot is scanned; None if the engine can read none of it.

    Args:
        pinned: The table and its snapshot.
        io_properties: pyiceberg properties for reaching the files, secrets resolved.

    Raises:
        UnsupportedTableError, ColdReadError: The snapshot cannot be planned.
    """
    if pinned.snapshot is None:
        return None
    schema = hashlib.sha256(pinned.schema.model_dump_json().encode()).hexdigest()
    key = (pinned.uuid, pinned.snapshot.snapshot_id, schema)
    found = _scans.get(key)
    if found is None:
        found = _plan(pinned, key, load_file_io(dict(io_properties), pinned.table.location()))
        # An engine keeps footers, too, so a scan of files that look different is another one.
        looks = hashlib.sha256(f"{schema} {sorted(found.stamps.items())}".encode()).hexdigest()
        found = replace(found, key=(*key[:2], looks))
        _scans.put(key, found)
    return found if found.groups else None


def _plan(pinned: PinnedTable, key: ScanKey, io: FileIO) -> ParquetScan:
    planned = plan_files(pinned)
    files = planned.files
    target = pinned.arrow_schema
    fields = tuple(zip(pinned.schema.fields, target.types, strict=True))
    definitions = [column_definition(each, kind) for each, kind in fields]
    # The engine takes names that differ in case only for one.
    if None in definitions or len({name.lower() for name in target.names}) < len(target.names):
        return ParquetScan(key, (), (), files, 0)
    read_footers(
        [file for file in files if _may_be_scanned(file)],
        io,
        partitioned_by(pinned.table.metadata, pinned.schema.fields),
    )
    members: dict[_Group, list[_Member]] = {}
    rest: list[ColdFile] = []
    for file in files:
        found = _member(pinned, file, fields, io)
        if found is None or (found[0] not in members and len(members) == _MOST_GROUPS):
            rest.append(file)
        else:
            members.setdefault(found[0], []).append(found[1])
    for group in [each for each, files in members.items() if each[1] and _bits(files) > _MOST_BITS]:
        rest.extend(file for _, file, *_ in members.pop(group))
    return ParquetScan(
        key=key,
        fields=tuple(
            (each.field_id, each.name, str(text)) for (each, _), text in zip(fields, definitions, strict=True)
        ),
        groups=tuple(
            ScanGroup(
                paths=tuple(path for path, *_ in files),
                constants=constants,
                deleted=tuple(gone for _, _, gone, _ in files) if has_deleted else (),
                most_rows=max(file.rows for _, file, *_ in files),
                files=tuple(file for _, file, *_ in files),
            )
            for (constants, has_deleted), files in members.items()
        ),
        rest=tuple(rest),
        rows=sum(file.rows - len(gone) for files in members.values() for _, file, gone, _ in files),
        with_nan=frozenset(each.field_id for each, _ in fields if may_hold_nan(each, planned.entries)),
        stamps={path: stamp for files in members.values() for path, _, _, stamp in files},
    )


_Group = tuple[tuple[tuple[int, str], ...], bool]
_Member = tuple[str, ColdFile, DeletedRows, Stamp]


def _member(
    pinned: PinnedTable, file: ColdFile, fields: Sequence[tuple[NestedField, pa.DataType]], io: FileIO
) -> tuple[_Group, _Member] | None:
    path, footer = local_path(file.path), footer_of(file)
    if path is None or footer is None or footer.rows != file.rows or not _may_be_scanned(file):
        return None
    constants = constants_in_sql(pinned.table.metadata, file, fields, footer)
    deleted = None if constants is None else _deleted(file, io)
    if constants is None or deleted is None:
        return None
    return (constants, len(deleted) > 0), (path, file, deleted, footer.stamp)


def _bits(files: Sequence[_Member]) -> int:
    return len(files) * max(file.rows for _, file, *_ in files)


def _may_be_scanned(file: ColdFile) -> bool:
    is_by_position = not any(delete.keys for delete in file.deletes)
    is_small = 0 < file.rows <= _MOST_ROWS
    return file.file_format == "parquet" and is_by_position and is_small and local_path(file.path) is not None


def _deleted(file: ColdFile, io: FileIO) -> BitMap64 | None:
    try:
        found = deleted_positions(file.path, file.deletes, io)
    except (*UNREADABLE, UnsupportedTableError):
        return None  # whoever reads the file says why
    in_file = BitMap64()
    in_file.add_range(0, file.rows)
    return found & in_file
