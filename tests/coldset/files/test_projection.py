"""The columns of a file become those of the table by id, with every null in place, or it is an error.

Files are written here with the ids that a writer would give them, and added to the table as they are.
"""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField

from coldset.errors import ColdReadError
from coldset.files.file_columns import file_columns
from coldset.files.projection import Projection, is_widening
from coldset.table.arrow_form import arrow_schema
from tests.coldset.tables import TABLE, add_file, make_catalog, read_now


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return make_catalog(tmp_path)


def added(catalog: Catalog, directory: Path, rows: pa.Table) -> None:
    """Add a file that was written elsewhere, without ids."""
    path = directory / "elsewhere.parquet"
    pq.write_table(rows, path)
    catalog.load_table(TABLE).add_files([str(path)])


def test_files_from_elsewhere_are_read_by_the_name_mapping(catalog: Catalog, tmp_path: Path) -> None:
    rows = pa.table(
        {"id": [1, 2], "s": [{"x": 1}, None], "l": [[{"y": 1}], None], "m": [[("k", {"z": 1})], None]},
        schema=pa.schema(
            [
                ("id", pa.int64()),
                ("s", pa.struct([("x", pa.int32())])),
                ("l", pa.list_(pa.field("element", pa.struct([("y", pa.int32())])))),
                ("m", pa.map_(pa.string(), pa.struct([("z", pa.int32())]))),
            ]
        ),
    )
    catalog.create_table(TABLE, schema=rows.schema)
    added(catalog, tmp_path, rows)
    with catalog.load_table(TABLE).update_schema() as change:
        change.rename_column("id", "number")
        change.rename_column(("s", "x"), "w")

    found = read_now(catalog)

    assert found.column("number").to_pylist() == [1, 2]
    assert found.column("s").to_pylist() == [{"w": 1}, None]
    assert found.select(["l", "m"]) == rows.select(["l", "m"])


def test_files_without_ids_or_a_name_mapping_are_an_error(catalog: Catalog, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64())})
    catalog.create_table(TABLE, schema=rows.schema)
    added(catalog, tmp_path, rows)
    with catalog.load_table(TABLE).transaction() as change:
        change.remove_properties("schema.name-mapping.default")

    with pytest.raises(ColdReadError, match=r"name-mapping.default"):
        read_now(catalog)


@pytest.mark.parametrize(
    ("written", "value", "kind", "read"),
    [
        (pa.int16(), 7, pa.int64(), 7),
        (pa.uint32(), 2**32 - 1, pa.int64(), 2**32 - 1),
        (pa.float32(), 0.5, pa.float64(), 0.5),
        (pa.decimal128(5, 2), Decimal("1.25"), pa.decimal128(20, 2), Decimal("1.25")),
        (pa.dictionary(pa.int32(), pa.string()), "x", pa.string(), "x"),
        (pa.large_string(), "x", pa.string(), "x"),
        (
            pa.timestamp("ms"),
            dt.datetime(2020, 1, 1),  # noqa: DTZ001
            pa.timestamp("us", tz="UTC"),
            dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        ),
        (
            pa.timestamp("ns"),
            -1_000_001,  # a thousand times as many as microseconds, and cut off towards the past
            pa.timestamp("us"),
            dt.datetime(1969, 12, 31, 23, 59, 59, 998999),  # noqa: DTZ001
        ),
    ],
    ids=str,
)
def test_a_type_that_another_writer_chose_is_widened(
    catalog: Catalog, tmp_path: Path, written: pa.DataType, value: Any, kind: pa.DataType, read: Any
) -> None:
    source = pa.schema([("v", written)])
    catalog.create_table(TABLE, schema=pa.schema([("v", kind)]))
    ids = pa.schema([source.field("v").with_metadata({"PARQUET:field_id": "1"})])
    rows = pa.table({"v": pa.array([value], written)}, schema=ids)
    add_file(catalog, tmp_path / "elsewhere.parquet", rows)

    assert read_now(catalog).column("v").to_pylist() == [read]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.int64(), pa.int32()),
        (pa.uint32(), pa.int32()),
        (pa.uint64(), pa.int64()),
        (pa.int32(), pa.float64()),
        (pa.float64(), pa.float32()),
        (pa.decimal128(9, 3), pa.decimal128(9, 2)),
        (pa.decimal128(10, 2), pa.decimal128(9, 2)),
        (pa.int64(), pa.string()),
        (pa.string(), pa.int64()),
        (pa.timestamp("us", tz="+05:00"), pa.timestamp("us")),
        (pa.date32(), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.bool_(), pa.int32()),
    ],
    ids=str,
)
def test_no_other_type_is_taken_for_the_tables(source: pa.DataType, target: pa.DataType) -> None:
    assert not is_widening(source, target)


def test_a_column_that_became_another_kind_is_an_error_that_names_it(
    catalog: Catalog, tmp_path: Path
) -> None:
    catalog.create_table(TABLE, schema=pa.schema([("v", pa.int32())]))
    text = pa.schema([pa.field("v", pa.string(), metadata={"PARQUET:field_id": "1"})])
    add_file(catalog, tmp_path / "elsewhere.parquet", pa.table({"v": ["1"]}, schema=text))

    with pytest.raises(ColdReadError, match=r"'v'.*string.*int32"):
        read_now(catalog)


def test_a_file_with_other_rows_than_its_manifest_says_is_an_error(catalog: Catalog, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("v", pa.int32(), metadata={"PARQUET:field_id": "1"})])
    catalog.create_table(TABLE, schema=pa.schema([("v", pa.int32())]))
    add_file(catalog, tmp_path / "elsewhere.parquet", pa.table({"v": [1]}, schema=schema), said=2)

    with pytest.raises(ColdReadError, match="1 rows, and its manifest says 2"):
        read_now(catalog)


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("long", 5, 5),
        ("string", "it's", "it's"),
        ("date", "2020-01-01", dt.date(2020, 1, 1)),
        ("decimal(9, 2)", "1.25", Decimal("1.25")),
        ("binary", "00ff", b"\x00\xff"),
        (
            "timestamptz",
            "2020-01-01T00:00:00.000001+00:00",
            dt.datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
        ),
    ],
)
def test_a_column_that_a_file_lacks_is_its_initial_default(kind: str, written: Any, read: Any) -> None:
    """As metadata spells it, and also after the way to a worker."""
    spelt = {"id": 2, "name": "v", "type": kind, "required": True, "initial-default": written}
    field = pickle.loads(pickle.dumps(NestedField.model_validate(spelt)))
    file = file_columns(pa.schema([pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"})]), None)
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int32())], names=["0"])
    target = arrow_schema(Schema(field)).field(0).type

    assert Projection(file, {}).column(field, target, batch).to_pylist() == [read, read]


def test_a_partitions_value_goes_before_a_files_column_and_that_before_a_default() -> None:
    field = NestedField(1, "v", IntegerType(), required=False, initial_default=7)
    file = file_columns(pa.schema([pa.field("v", pa.int32(), metadata={"PARQUET:field_id": "1"})]), None)
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.int32())], names=["0"])

    assert Projection(file, {}).column(field, pa.int32(), batch).to_pylist() == [1]
    assert Projection(file, {1: 3}).column(field, pa.int32(), batch).to_pylist() == [3]
    assert Projection((), {1: 3}).column(field, pa.int32(), batch).to_pylist() == [3]
    assert Projection((), {1: None}).column(field, pa.int32(), batch).to_pylist() == [None]
    assert Projection((), {}).column(field, pa.int32(), batch).to_pylist() == [7]
