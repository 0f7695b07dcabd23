"""A chunk is a data file like any other: whoever reads the table's files reads it alike, cell by cell.

The same rows are written as a chunk and by pyiceberg, and both files are read by Arrow, by DuckDB with field
ids, by pyiceberg and by the reader of cold files.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from coldset.files.duckdb_sql import definition_of
from coldset.table.arrow_form import file_schema
from coldset.table.catalog import pin
from federation.engine.run.hot_scan import has_spelling, scan_hot
from hotset.kafka.offsets import OffsetRange
from hotset.store.chunk import encode_chunk, open_chunk
from hotset.store.coverage import ChunkPart
from hotset.store.hot_rows import OTHERS, PLACE, Rows
from hotset.store.resident_log import HotRows
from tests.coldset.tables import TABLE, make_catalog, read
from tests.formats.columns import COLUMNS

NAN, INF = float("nan"), float("inf")
ITEM = pa.field("element", pa.float64())
DEEP = pa.struct(
    [
        ("a", pa.int32()),
        ("l", pa.list_(pa.field("element", pa.struct([("c", pa.string()), ("x", pa.float32())])))),
        ("m", pa.map_(pa.string(), pa.field("value", pa.list_(pa.field("element", pa.int64()))))),
    ]
)
KINDS = {name: column.arrow for name, column in COLUMNS.items() if name not in ("list", "map")} | {
    "list": pa.list_(ITEM),
    "map": pa.map_(pa.string(), pa.field("value", pa.float64())),
    "deep": DEEP,
    "narrow": pa.decimal128(9, 2),
}
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [-(2**31), 2**31 - 1, 0],
    "long": [-(2**63), 2**63 - 1, 0],
    "float": [NAN, -0.0, INF, -INF, 1e-45, 3.4028234663852886e38],
    "double": [NAN, -0.0, INF, -INF, 5e-324, 1.7976931348623157e308],
    "decimal": [Decimal("12345678901234567890123456789.000000001"), Decimal("-0.000000001")],
    "narrow": [Decimal("-9999999.99"), Decimal("0.01")],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)],
    "time": [dt.time(0), dt.time(23, 59, 59, 999999)],
    "timestamp": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],  # noqa: DTZ001
    "timestamptz": [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)],
    "timestamp_ns": [-1, 2**62],
    "timestamptz_ns": [-1, 2**62],
    "string": ["", "é\0x", "\U0001f600", "x" * 5000],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
    "binary": [b"", b"\0\xff", bytes(300)],
    "fixed": [bytes(16), bytes(range(16))],
    "struct": [{"a": None}, {"a": 7}],
    "list": [[], [None], [NAN, 1.5]],
    "map": [[], [("k", None), ("l", NAN)]],
    "deep": [
        {"a": 1, "l": [], "m": []},
        {"a": None, "l": [None, {"c": None, "x": NAN}], "m": [("k", [1, None]), ("l", None)]},
    ],
}
# pyiceberg writes no such columns, and reads them.
FINE = ("timestamp_ns", "timestamptz_ns")


def rows_of(kind: str) -> pa.Table:
    """Values of a column among nulls."""
    values = [None, *VALUES[kind], None]
    wanted = KINDS[kind]
    if kind in FINE:
        column = pa.array(values, pa.int64()).cast(wanted)
    elif kind == "uuid":
        column = pa.array([None if v is None else v.bytes for v in values], pa.binary(16)).cast(wanted)
    else:
        column = pa.array(values, wanted)
    return pa.table({"id": pa.array(range(len(values)), pa.int64()), "v": column})


class Written:
    """Rows of a kind as a chunk, and a table whose one data file has them, too."""

    def __init__(self, directory: Path, kind: str) -> None:
        rows = rows_of(kind)
        self.catalog = make_catalog(directory)
        plain = pa.schema([("id", pa.int64()), ("v", pa.string() if kind in FINE else KINDS[kind])])
        self.table: Table = self.catalog.create_table(TABLE, schema=plain)
        self.filled = (
            pa.schema([_with_id(pa.field("id", pa.int64()), 1), _with_id(pa.field("v", KINDS[kind]), 2)])
            if kind in FINE
            else file_schema(self.table.schema())
        )
        if kind not in FINE:
            self.table.append(rows)
        self.rows = rows.cast(pa.schema([pa.field(f.name, f.type) for f in self.filled]))
        self.chunk = open_chunk(_write(directory, self.filled, rows))

    @property
    def data_file(self) -> Path:
        [task] = self.table.scan().plan_files()
        return Path(task.file.file_path.removeprefix("file://"))


def _with_id(field: pa.Field, number: int) -> pa.Field:
    return field.with_metadata({b"PARQUET:field_id": str(number).encode()})


def _write(directory: Path, filled: pa.Schema, rows: pa.Table, name: str = "1-chunk") -> Path:
    count, schema = rows.num_rows, pa.schema([*filled, *PLACE])
    places = [pa.array([0] * count, pa.int32()), *[pa.array(range(count), pa.int64())] * 2]
    found = pa.Table.from_arrays(
        [*rows.columns, *places], names=[*rows.schema.names, *(field.name for field in PLACE)]
    )
    made = Rows((OffsetRange(0, 0, count),), {0: 0}, found, OTHERS.empty_table())
    path = directory / f"{name}.parquet"
    path.write_bytes(encode_chunk(made, schema)[".parquet"])
    return path


def leaves(path: Path) -> list[tuple[Any, ...]]:
    """What a file says of its columns: place, physical and logical type, and levels."""
    schema = pq.ParquetFile(path).schema
    found = [schema.column(at) for at in range(len(schema))]
    return [
        (
            each.path,
            each.physical_type,
            each.length,
            json.loads(each.logical_type.to_json()),
            each.max_definition_level,
            each.max_repetition_level,
        )
        for each in found
        if not each.path.startswith("$")
    ]


def shown(column: pa.ChunkedArray | pa.Array) -> str:
    """Values as a text, in which a number that is none is like itself."""
    is_fine = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
    return repr((column.cast(pa.int64()) if is_fine else column).to_pylist())


def ids(schema: pa.Schema | pa.DataType) -> list[Any]:
    """The field ids of columns, at every depth."""
    inner = (
        list(schema) if isinstance(schema, pa.Schema) else [schema.field(n) for n in range(schema.num_fields)]
    )
    return [((field.metadata or {}).get(b"PARQUET:field_id"), ids(field.type)) for field in inner]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(FINE)))
def test_a_chunk_says_of_its_columns_what_pyiceberg_says(tmp_path: Path, kind: str) -> None:
    written = Written(tmp_path, kind)

    assert leaves(written.chunk.path) == leaves(written.data_file)
    found, other = (pq.read_schema(path) for path in (written.chunk.path, written.data_file))
    assert ids(found)[: len(other)] == ids(other)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_chunk_gives_back_what_was_written(tmp_path: Path, kind: str) -> None:
    written = Written(tmp_path, kind)

    rows = written.chunk.read().rows.select(["id", "v"])

    assert rows.schema.remove_metadata().equals(written.rows.schema)
    assert shown(rows["v"]) == shown(written.rows["v"])
    [batch] = written.chunk.batches_within(written.chunk.info.ranges, ["v"])
    assert shown(batch["v"]) == shown(written.rows["v"])


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(FINE)))
def test_readers_of_the_table_read_a_chunk_as_its_file(tmp_path: Path, kind: str) -> None:
    written = Written(tmp_path, kind)
    expected = [repr(row) for row in written.table.scan().to_arrow().sort_by("id").to_pylist()]
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=written.chunk.path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=written.rows.num_rows,
        file_size_in_bytes=written.chunk.path.stat().st_size,
    )
    file.spec_id = 0
    with written.table.transaction() as change, change.update_snapshot().fast_append() as append:
        append.append_data_file(file)

    by_pyiceberg = written.table.scan().to_arrow().sort_by("id").to_pylist()
    by_us = read(pin(written.catalog, TABLE)).sort_by("id").to_pylist()

    assert [repr(row) for row in by_pyiceberg] == [text for text in expected for _ in range(2)]
    assert [repr(row) for row in by_us] == [text for text in expected for _ in range(2)]


def by_engine(path: Path, filled: pa.Schema) -> pa.Table:
    definitions = [definition_of(int(f.metadata[b"PARQUET:field_id"]), f.type) for f in filled]
    scan = f"read_parquet('{path}', schema = MAP {{{', '.join(map(str, definitions))}}})"
    return duckdb.sql(f"SELECT c1, c2 FROM {scan} ORDER BY c1").to_arrow_table()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_engine_reads_a_chunk_as_the_tables_file(tmp_path: Path, kind: str) -> None:
    written = Written(tmp_path, kind)
    assert has_spelling(written.filled)

    found = by_engine(written.chunk.path, written.filled)

    in_memory = duckdb.from_arrow(written.rows).to_arrow_table()
    assert found.schema.types == in_memory.schema.types
    assert shown(found["c2"]) == shown(in_memory["v"])
    if kind not in FINE:
        assert repr(found) == repr(by_engine(written.data_file, written.filled))


@pytest.mark.parametrize("kind", ["float", "double", "list", "map", "deep"])
@pytest.mark.parametrize("end", [3, None])
def test_filters_of_the_engine_find_numbers_that_are_none(tmp_path: Path, kind: str, end: int | None) -> None:
    """A footer's bounds leave NaN out, which is above all numbers to the engine."""
    written = Written(tmp_path, kind)
    wanted = OffsetRange(0, 0, written.rows.num_rows if end is None else end)
    scan = scan_hot(
        HotRows((ChunkPart(written.chunk, (wanted,)),)),
        written.filled,
        pa.schema([pa.field(f.name, f.type) for f in written.filled]),
    )
    rows = duckdb.from_arrow(written.rows.slice(0, end))  # noqa: F841 - named below
    inside = {"list": "v[2]", "map": "v['l']", "deep": "v.l[2].x"}.get(kind, "v")

    for condition in (f"{inside} > 1e308", f"{inside} = 'NaN'", f"isnan({inside})", f"{inside} >= 1.5"):
        told = duckdb.sql(f"SELECT id FROM rows WHERE {condition} ORDER BY id").fetchall()
        [part] = scan.chunks
        assert duckdb.sql(f"SELECT id FROM ({part}) WHERE {condition} ORDER BY id").fetchall() == told


def test_a_column_says_that_it_holds_a_number_that_is_none(tmp_path: Path) -> None:
    assert Written(tmp_path, "double").chunk.info.with_nan == {"v"}


def test_columns_are_found_whatever_they_are_called(tmp_path: Path) -> None:
    """A name may be the path of a field in another column, or differ from another one in case only."""
    names = ["s.a", "a", "A", 'q"', "x y", "é"]
    fields = [_with_id(pa.field(name, pa.int64()), number) for number, name in enumerate(names, 1)]
    nested = _with_id(pa.field("s", pa.struct([_with_id(pa.field("a", pa.int64()), 8)])), 7)
    rows = pa.Table.from_arrays(
        [*(pa.array([10 * n, 10 * n + 1]) for n in range(len(names))), pa.array([{"a": 98}, {"a": 99}])],
        names=[*names, "s"],
    )
    chunk = open_chunk(_write(tmp_path, pa.schema([*fields, nested]), rows))

    for columns in [["s.a"], ["A", "a"], ["s", 'q"'], ["é", "x y", "s.a"], []]:
        for end in (1, 2):
            [batch] = chunk.batches_within([OffsetRange(0, 0, end)], columns)
            assert batch.to_pydict() == rows.select(columns).slice(0, end).to_pydict()
            assert batch.num_rows == end


def test_a_chunk_without_a_row_is_one(tmp_path: Path) -> None:
    written = Written(tmp_path, "double")
    chunk = open_chunk(_write(tmp_path, written.filled, written.rows.slice(0, 0), "2-empty"))

    assert chunk.info.counts.rows == 0
    assert by_engine(chunk.path, written.filled).num_rows == 0
    assert list(chunk.batches_within([OffsetRange(0, 0, 5)], ["v"])) == []
