"""What manifests say of a few columns of each data file.

Manifests hold bounds and counts that can answer without any file being opened.
All of it is about files as they were written: rows that delete files hide are
still in them, because the question is what a writer has ever put into the
table. The file does not know what the columns mean; reading them is `file_contents`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from coldset.errors import ColdReadError
from coldset.plan import constants_of, plan_files
from coldset.table import PinnedTable, entries_of, manifests_of, summary_value

Value = int | str


@dataclass(frozen=True, slots=True)
class RowBounds:
    """What metadata says of some rows of a file.

    Attributes:
        rows: How many there are.
        low, high: For each column asked for, a value that none is below and one
            that none is above; None if that is not known, or if a value is null.
    """

    rows: int
    low: tuple[Value | None, ...]
    high: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class HeldFile:
    """One data file of a snapshot, as it was written.

    Attributes:
        path: Where it is; files never change, so it is their identity.
        bounds: What the manifest says of the columns asked for.
        columns: The ids of these columns.
    """

    path: str
    bounds: RowBounds
    columns: tuple[int, ...]
    file: DataFile = field(repr=False)


def column_id(pinned: PinnedTable, path: Sequence[str]) -> int:
    """Return the id of a column, or of a field in columns that are structs.

    Raises:
        KeyError: There is none.
    """
    fields: Sequence[NestedField] = pinned.schema.fields
    found: NestedField | None = None
    for name in path:
        found = next((each for each in fields if each.name == name), None)
        if found is None:
            raise KeyError(".".join(path))
        fields = found.field_type.fields if isinstance(found.field_type, StructType) else ()
    assert found is not None
    return found.field_id


def held_files(pinned: PinnedTable, columns: Sequence[int]) -> tuple[HeldFile, ...]:
    """Return the data files of the pinned snapshot with what its manifests say of some columns.

    Raises:
        UnsupportedTableError, ColdReadError: The snapshot cannot be planned.
    """
    if pinned.snapshot is None:
        return ()
    return tuple(_held(pinned, file, tuple(columns)) for file in plan_files(pinned).entries)


def removed_files(pinned: PinnedTable, snapshot: Snapshot, columns: Sequence[int]) -> tuple[HeldFile, ...]:
    """Return the data files that one snapshot of the table has taken out.

    Raises:
        ColdReadError: A manifest could not be read.
    """
    try:
        found: list[HeldFile] = []
        for manifest in manifests_of(snapshot, pinned.table.io):
            is_its_own = manifest.added_snapshot_id == snapshot.snapshot_id
            if manifest.content != ManifestContent.DATA or not is_its_own:
                continue
            entries = entries_of(manifest, pinned.table.io, discard_deleted=False)
            found.extend(
                _held(pinned, entry.data_file, tuple(columns))
                for entry in entries
                if entry.status is ManifestEntryStatus.DELETED
            )
    except Exception as exc:
        # A damaged Avro file makes its reader stumble in any way there is.
        raise _no_manifest(pinned, snapshot, f"could not be read: {type(exc).__name__}: {exc}") from exc
    said = summary_value(snapshot, "deleted-data-files") or "0"
    if said.isdecimal() and len(found) < int(said):
        # One that was cut off between two blocks reads as a shorter one.
        raise _no_manifest(pinned, snapshot, f"lists {len(found)} of {said} files that were taken out")
    return tuple(found)


def may_take_out_rows(snapshot: Snapshot) -> bool:
    """Return whether the summary leaves room for rows that this snapshot has removed from data files.

    A compaction that wrote as many rows as it took away has removed none. Rows
    that only a delete file hides are still in their data file.
    """
    summary = snapshot.summary
    if summary is None:
        return True
    if summary.operation is Operation.APPEND:
        return False
    said = summary.additional_properties
    # No count of removed files is a count of zero, but only where a writer counts at all.
    is_counted = any(key.startswith(("added-", "deleted-", "total-")) for key in said)
    if is_counted and said.get("deleted-data-files", "0") == "0":
        return False
    is_rewrite = summary.operation is Operation.REPLACE
    return not (is_rewrite and said.get("deleted-records", "") == said.get("added-records"))


_WHOLE: Final = (IntegerType, LongType)


def _held(pinned: PinnedTable, file: DataFile, columns: tuple[int, ...]) -> HeldFile:
    constants = told_by_partition(pinned, file)
    sides = [
        (constants[each], constants[each]) if each in constants else _file_side(pinned, file, each)
        for each in columns
    ]
    bounds = RowBounds(file.record_count, tuple(s[0] for s in sides), tuple(s[1] for s in sides))
    return HeldFile(file.file_path, bounds, columns, file)


def _file_side(pinned: PinnedTable, file: DataFile, column: int) -> tuple[Value | None, Value | None]:
    low, high = (file.lower_bounds or {}).get(column), (file.upper_bounds or {}).get(column)
    if low is None or high is None or (file.null_value_counts or {}).get(column) != 0:
        return None, None
    kind = pinned.schema.find_type(column)
    if isinstance(kind, _WHOLE):
        # Four bytes where the column was an int when the file was written, eight where a long.
        return int.from_bytes(low, "little", signed=True), int.from_bytes(high, "little", signed=True)
    if isinstance(kind, StringType):
        try:
            return low.decode(), high.decode()
        except UnicodeDecodeError:
            return None, None
    return None, None


def told_by_partition(pinned: PinnedTable, file: DataFile) -> dict[int, Value]:
    """Return the whole numbers and texts that a file's partition gives to columns, by id, for every row."""
    constants = constants_of(pinned.table.specs()[file.spec_id], file.partition)
    return {column: value for column, value in constants.items() if isinstance(value, int | str)}


def _no_manifest(pinned: PinnedTable, snapshot: Snapshot, what: str) -> ColdReadError:
    return ColdReadError(
        f"a manifest of snapshot {snapshot.snapshot_id} of table {pinned.identifier!r} {what}; ask again, or "
        "restore it",
        table=pinned.identifier,
        snapshot_id=snapshot.snapshot_id,
    )
