"""A pinned snapshot is read exactly: by id, branch or tag, through any change of schema.

Every test writes with pyiceberg, changes the table under the reader, and
compares whole rows.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.types import LongType, StringType

from coldset.errors import (
    CatalogConfigError,
    CatalogUnavailableError,
    ColdReadError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)
from coldset.plan.file_plan import plan_cold
from coldset.read.read_files import read_cold
from coldset.table.catalog import open_catalog, pin
from tests.coldset.tables import SPLIT_BYTES, TABLE, make_catalog, read, read_now

SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), ("note", pa.string())])


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return make_catalog(tmp_path)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "note": [f"n{n}" for n in ids]}, schema=SCHEMA)


def test_a_pin_does_not_move_when_the_table_does(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    pinned = pin(catalog, TABLE)

    table.append(rows(2))
    table.overwrite(rows(9))

    assert read(pinned) == rows(1)
    assert read_now(catalog) == rows(9)


def test_a_table_without_snapshots_has_no_rows(catalog: Catalog) -> None:
    catalog.create_table(TABLE, schema=SCHEMA)

    pinned = pin(catalog, TABLE)

    assert (pinned.snapshot_id, read(pinned).num_rows) == (None, 0)
    assert pinned.arrow_schema == SCHEMA


def test_snapshots_are_read_by_id_branch_and_tag(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    first = table.current_snapshot().snapshot_id  # type: ignore[union-attr]
    table.manage_snapshots().create_tag(first, "v1").create_branch(first, "audit").commit()
    table.append(rows(2))
    table.append(rows(3), branch="audit")

    assert sorted(read_now(catalog).column("id").to_pylist()) == [1, 2]
    assert read(pin(catalog, TABLE, snapshot_id=first)) == rows(1)
    assert read(pin(catalog, TABLE, ref="v1")) == rows(1)
    assert sorted(read(pin(catalog, TABLE, ref="audit")).column("id").to_pylist()) == [1, 3]
    assert pin(catalog, TABLE, ref="main").snapshot_id == pin(catalog, TABLE).snapshot_id


@pytest.mark.parametrize("asked", [{"snapshot_id": 1}, {"ref": "none"}])
def test_a_snapshot_that_is_not_there_is_named(catalog: Catalog, asked: dict[str, Any]) -> None:
    catalog.create_table(TABLE, schema=SCHEMA)

    with pytest.raises(SnapshotNotFoundError, match=str(next(iter(asked.values())))):
        pin(catalog, TABLE, **asked)


@pytest.mark.parametrize("name", ["lake.none", "none.orders"])
def test_a_table_that_is_not_there_is_named(catalog: Catalog, name: str) -> None:
    with pytest.raises(TableNotFoundError, match=name):
        pin(catalog, name)


def test_columns_are_followed_by_id_through_every_change(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    with table.update_schema() as change:
        change.rename_column("note", "remark")
        change.add_column("extra", StringType())
        change.update_column("id", LongType())
    table.append(
        pa.table(
            {"id": [2**40], "remark": ["r"], "extra": ["e"]},
            schema=pa.schema(
                [pa.field("id", pa.int64(), nullable=False), ("remark", pa.string()), ("extra", pa.string())]
            ),
        )
    )
    with table.update_schema() as change:
        change.delete_column("remark")
    with table.update_schema() as change:
        change.add_column("remark", StringType())  # the same name, and another column
        change.move_first("extra")

    found = read_now(catalog)

    assert found.schema.names == ["extra", "id", "remark"]
    assert found.schema.field("id").type == pa.int64()
    assert sorted(found.to_pylist(), key=lambda row: row["id"]) == [
        {"extra": None, "id": 1, "remark": None},
        {"extra": "e", "id": 2**40, "remark": None},
    ]


def test_an_older_snapshot_is_read_with_its_own_schema(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    first = table.current_snapshot().snapshot_id  # type: ignore[union-attr]
    with table.update_schema() as change:
        change.rename_column("note", "remark")
    table.append(
        pa.table(
            {"id": pa.array([2], pa.int32()), "remark": ["r"]},
            schema=SCHEMA.set(1, pa.field("remark", pa.string())),
        )
    )

    assert read(pin(catalog, TABLE, snapshot_id=first)) == rows(1)
    assert read_now(catalog).column("remark").to_pylist() == ["r", "n1"]


def test_a_change_of_schema_without_a_commit_shows_at_once(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    with table.update_schema() as change:
        change.add_column("extra", StringType())

    assert read_now(catalog).to_pylist() == [{"id": 1, "note": "n1", "extra": None}]


def test_columns_that_are_only_in_the_partitioning_are_read(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    with table.update_spec() as spec:
        spec.add_identity("note")
    table.append(rows(1, 2, 3))

    assert sorted(read_now(catalog, "note").column("note").to_pylist()) == ["n1", "n2", "n3"]
    assert sorted(read_now(catalog).column("id").to_pylist()) == [1, 2, 3]


def test_a_table_partitioned_anew_is_read_whole(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1))
    with table.update_spec() as spec:
        spec.add_identity("note")
    table.append(rows(2))

    assert sorted(read_now(catalog).column("id").to_pylist()) == [1, 2]


@pytest.mark.parametrize("columns", [("note",), ("note", "id"), ("id",)])
def test_columns_come_in_the_order_asked_for(catalog: Catalog, columns: tuple[str, ...]) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1, 2))

    assert read_now(catalog, *columns) == rows(1, 2).select(list(columns))


def test_asking_for_no_column_still_counts_rows(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    table.append(rows(1, 2, 3))
    table.delete("id = 2")

    tasks = plan_cold(pin(catalog, TABLE), split_bytes=SPLIT_BYTES)

    batches = [batch for task in tasks for batch in read_cold(task, (), {})]
    assert sum(batch.num_rows for batch in batches) == 2
    assert {batch.num_columns for batch in batches} == {0}


def test_each_file_is_in_one_task_whatever_the_size(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=SCHEMA)
    for n in range(4):
        table.append(rows(n))
    pinned = pin(catalog, TABLE)

    for split_bytes, count in ((1, 4), (SPLIT_BYTES, 1)):
        tasks = plan_cold(pinned, split_bytes=split_bytes)
        paths = [file.path for task in tasks for file in task.files]

        assert (len(tasks), len(paths), len(set(paths))) == (count, 4, 4)


def test_a_missing_data_file_is_an_error_that_names_it(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1))
    pinned = pin(catalog, TABLE)
    [file] = tmp_path.rglob("*.parquet")
    file.unlink()

    with pytest.raises(ColdReadError, match=file.name) as caught:
        read(pinned)

    assert caught.value.details["snapshot_id"] == pinned.snapshot_id


def test_a_damaged_data_file_is_an_error_that_names_it(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1))
    [file] = tmp_path.rglob("*.parquet")
    file.write_bytes(b"PAR1 and then nothing")

    with pytest.raises(ColdReadError, match=file.name):
        read_now(catalog)


def test_a_missing_manifest_is_an_error(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1))
    pinned = pin(catalog, TABLE)
    for file in tmp_path.rglob("*.avro"):
        file.unlink()

    with pytest.raises(ColdReadError, match="manifest"):
        read(pinned)


@pytest.mark.parametrize("kind", ["snap-*.avro", "*-m0.avro"], ids=["manifest list", "manifest"])
def test_a_manifest_that_is_cut_short_anywhere_is_never_a_shorter_table(
    catalog: Catalog, tmp_path: Path, kind: str
) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1, 2))
    pinned = pin(catalog, TABLE)
    [file] = tmp_path.rglob(kind)
    whole = file.read_bytes()

    for length in range(0, len(whole), 3):
        file.write_bytes(whole[:length])
        with pytest.raises(ColdReadError):
            read(pinned)

    header_ends = whole.index(whole[-16:]) + 16  # at the first of the marks that follow each block
    file.write_bytes(whole[:header_ends])
    with pytest.raises(ColdReadError, match="cut short"):
        read(pinned)


def test_missing_metadata_is_a_catalog_that_does_not_answer(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_table(TABLE, schema=SCHEMA).append(rows(1))
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        database.execute("UPDATE iceberg_tables SET metadata_location = metadata_location || '.gone'")

    with pytest.raises(CatalogUnavailableError, match=TABLE):
        pin(catalog, TABLE)


def test_a_catalog_that_cannot_be_opened_says_what_to_set() -> None:
    with pytest.raises(CatalogConfigError, match=r"catalog\.type"):
        open_catalog("x", {"type": "none-such"})


def test_a_type_that_is_not_supported_is_named() -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import GeometryType, NestedField, StructType

    from coldset.table.arrow_form import arrow_schema

    inner = StructType(NestedField(2, "at", GeometryType(), required=False))

    with pytest.raises(UnsupportedTableError, match=r"'p\.at'.*geometry"):
        arrow_schema(Schema(NestedField(1, "p", inner, required=False)))
