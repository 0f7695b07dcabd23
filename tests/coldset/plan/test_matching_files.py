"""Which files and row groups of real tables are read for a predicate, and that no row of it is missing.

Rows that are not asked for may come, so what comes is filtered once more before it is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
)
from pyiceberg.types import StringType
from pyroaring import BitMap64

import coldset.errors
import coldset.read.read_files
import coldset.table.manifests
from coldset.plan.file_plan import plan_cold, plan_matching
from coldset.prune.predicate import AllOf, AnyOf, Compared, IsNull, NotNull, Predicate, StartsWith
from coldset.read.read_files import read_cold
from coldset.table.catalog import PinnedTable, pin
from coldset.table.manifests import entries_in
from tests.coldset.tables import SPLIT_BYTES, TABLE, make_catalog

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string()), ("at", pa.timestamp("us", tz="UTC"))])
DAY_S = 86_400


def rows(first: int, count: int, note: str | None = "n") -> pa.Table:
    """Rows of which each is a day after the one before."""
    ids = range(first, first + count)
    times = [datetime.fromtimestamp(n * DAY_S, UTC) for n in ids]
    return pa.table({"id": ids, "note": [note and f"{note}{n}" for n in ids], "at": times}, schema=ROWS)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = make_catalog(tmp_path)
    made.create_table(TABLE, schema=ROWS)
    return made


Change = Callable[[UpdateSchema], Any]


def _rename(name: str, new: str) -> Change:
    return lambda update: update.rename_column(name, new)


def _drop(name: str) -> Change:
    return lambda update: update.delete_column(name)


def _add(name: str) -> Change:
    return lambda update: update.add_column(name, StringType())


def append(catalog: Catalog, *tables: pa.Table) -> PinnedTable:
    for table in tables:
        catalog.load_table(TABLE).append(table)
    return pin(catalog, TABLE)


def ids_read(pinned: PinnedTable, where: Predicate | None) -> list[int]:
    tasks = plan_cold(pinned, split_bytes=SPLIT_BYTES, where=where)
    found = [batch.column("id") for task in tasks for batch in read_cold(task, ("id",), {})]
    return sorted(value for array in found for value in array.to_pylist())


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (Compared("id", "=", 25), 1),
        (Compared("id", "<", 10), 1),
        (Compared("id", "<=", 10), 2),
        (Compared("id", ">", 29), 1),
        (Compared("id", ">=", 29), 2),
        (AllOf((Compared("id", ">=", 10), Compared("id", "<", 20))), 1),
        (AnyOf((Compared("id", "=", 3), Compared("id", "=", 33))), 2),
        (Compared("at", "=", datetime.fromtimestamp(15 * DAY_S, UTC)), 1),
        (StartsWith("note", "n3"), 1),
        (StartsWith("note", "o"), 0),
        (IsNull("note"), 1),
        (NotNull("note"), 3),
        (AllOf((IsNull("note"), Compared("id", "<", 10))), 0),
        (Compared("nothing", "=", 1), 4),
        (Compared("note", "=", 1), 4),
        (None, 4),
    ],
    ids=repr,
)
def test_files_that_cannot_match_are_not_planned(catalog: Catalog, where: Predicate, files: int) -> None:
    pinned = append(catalog, rows(0, 10), rows(10, 10), rows(20, 10), rows(30, 10, None))

    found = plan_matching(pinned, where)

    assert len(found.files) == files
    assert len(ids_read(pinned, where)) == 10 * files
    assert found.files_pruned == 4 - files


def test_files_are_left_out_by_many_values_as_by_few(catalog: Catalog) -> None:
    pinned = append(catalog, rows(0, 10), rows(1000, 10), rows(2000, 10), rows(3000, 10))
    where = AnyOf(tuple(Compared("id", "=", number) for number in (*range(10, 600), 3005, 2000)))

    assert ids_read(pinned, where) == [*range(2000, 2010), *range(3000, 3010)]


@pytest.mark.parametrize(
    ("transform", "source"),
    [
        (DayTransform(), "at"),
        (BucketTransform(4), "id"),
        (TruncateTransform(10), "id"),
        (TruncateTransform(2), "note"),
        (IdentityTransform(), "id"),
    ],
    ids=str,
)
def test_manifests_of_other_partitions_are_not_even_read(
    catalog: Catalog,
    transform: Transform[Any, Any],
    source: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with catalog.load_table(TABLE).update_spec() as update:
        update.add_field(source, transform, "part")
    pinned = append(catalog, *(rows(number, 1, f"x{number:02}") for number in (7, 33, 64, 95)))
    read: list[int] = []

    def entries(pinned: PinnedTable, manifests: Any) -> Any:
        read.append(len(manifests))
        return entries_in(pinned, manifests)

    monkeypatch.setattr("coldset.plan.file_plan.entries_in", entries)
    table = rows(64, 1, "x64")
    where = Compared(source, "=", table.column(source)[0].as_py())
    found = plan_matching(pinned, where)

    assert [len(found.files), found.manifests, found.manifests_skipped] == [1, 1, 3]
    assert read == [1, 0]
    assert plan_matching(pinned, where) is found
    assert len(plan_matching(pinned, None).files) == 4


@pytest.mark.parametrize(
    ("changes", "where", "files"),
    [
        # What a name meant before says nothing of the column that has it now.
        ([_rename("note", "old"), _add("note")], IsNull("note"), 2),
        ([_drop("note"), _add("note")], IsNull("note"), 2),
        ([_rename("note", "new")], StartsWith("new", "b"), 1),
    ],
    ids=["renamed and named anew", "dropped and named anew", "renamed"],
)
def test_columns_are_those_of_the_schema_that_is_read(
    catalog: Catalog, changes: list[Change], where: Predicate, files: int
) -> None:
    append(catalog, rows(0, 3, "a"), rows(3, 3, "b"))
    for change in changes:
        with catalog.load_table(TABLE).update_schema() as update:
            change(update)

    assert len(plan_matching(pin(catalog, TABLE), where).files) == files


def test_files_under_an_older_spec_are_judged_by_it(catalog: Catalog) -> None:
    with catalog.load_table(TABLE).update_spec() as update:
        update.add_field("id", TruncateTransform(10), "tens")
    append(catalog, rows(0, 2), rows(20, 2))
    with catalog.load_table(TABLE).update_spec() as update:
        update.remove_field("tens")
        update.add_field("id", BucketTransform(4), "bucket")
    pinned = append(catalog, rows(21, 1), rows(22, 1))

    for number in (0, 1, 20, 21, 22):
        assert number in ids_read(pinned, Compared("id", "=", number))
    assert len(plan_matching(pinned, Compared("id", "=", 0)).files) == 1


def in_groups_of_ten(catalog: Catalog, path: Path) -> PinnedTable:
    """The table with a file of 100 rows, and no other."""
    pq.write_table(rows(0, 100), path, row_group_size=10)
    table = catalog.load_table(TABLE)
    with table.transaction() as changed:
        changed.set_properties({"schema.name-mapping.default": table.schema().name_mapping.model_dump_json()})
    catalog.load_table(TABLE).add_files([str(path)])
    return pin(catalog, TABLE)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (Compared("id", "=", 44), range(40, 50)),
        (Compared("id", "<", 10), range(10)),
        (Compared("id", "<=", 10), range(20)),
        (Compared("id", ">", 89), range(90, 100)),
        (Compared("id", ">=", 89), range(80, 100)),
        (StartsWith("note", "n99"), range(90, 100)),
    ],
    ids=repr,
)
def test_only_row_groups_that_may_match_are_read(
    catalog: Catalog, tmp_path: Path, where: Predicate, ids: range
) -> None:
    assert ids_read(in_groups_of_ten(catalog, tmp_path / "groups.parquet"), where) == list(ids)


def test_row_groups_that_cannot_match_are_not_read_and_positions_stay_those_of_the_file(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = in_groups_of_ten(catalog, tmp_path / "groups.parquet")
    gone = BitMap64([5, 41, 42, 99])
    monkeypatch.setattr(coldset.read.read_files, "deleted_positions", lambda *_: gone)
    where = AnyOf((Compared("id", "=", 44), StartsWith("note", "n9")))

    # Texts from n9 to n99 are in the first group, by its bounds, and in the last.
    assert ids_read(pinned, where) == [
        *(n for n in range(10) if n != 5),
        *(n for n in range(40, 50) if n not in (41, 42)),
        *range(90, 99),
    ]
    assert len(ids_read(pinned, None)) == 96


def test_a_file_with_fewer_rows_than_its_manifest_says_is_found_out_with_a_predicate_too(
    catalog: Catalog,
) -> None:
    pinned = append(catalog, rows(0, 10))
    [task] = plan_cold(pinned, split_bytes=SPLIT_BYTES, where=Compared("id", "=", 3))
    [file] = task.files
    wrong = replace(task, files=(replace(file, rows=11),))

    with pytest.raises(coldset.errors.ColdReadError, match="10 rows, and its manifest says 11"):
        list(read_cold(wrong, ("id",), {}))


def test_manifests_are_read_once_for_all_snapshots(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = coldset.table.manifests.entries_of

    def entries_of(manifest: Any, io: FileIO, **more: Any) -> Any:
        read.append(manifest.manifest_path)
        return real(manifest, io, **more)

    monkeypatch.setattr("coldset.table.manifests.entries_of", entries_of)
    for number in range(5):
        pinned = append(catalog, rows(number, 1))
        assert len(plan_matching(pinned, None).files) == number + 1

    assert len(read) == len(set(read)) == 5
