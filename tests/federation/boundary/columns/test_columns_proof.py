"""The proof from Kafka columns, held against a model: whatever is not right is not proven.

The model writes rows into files as a writer might, well or badly; `settle` may only say what the rows say.
Then whole tables: each file is settled by the cheapest source that can, and all sources agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog
from pyiceberg.types import LongType

from coldset.read.file_bounds import HeldFile, RowBounds, column_id, held_files
from coldset.read.file_contents import footer_bounds, read_held
from coldset.table.catalog import PinnedTable, pin
from federation.boundary.columns.held_offsets import (
    BY_FOOTER,
    BY_MANIFEST,
    BY_SCAN,
    Columns,
    Held,
    find_held,
    settle,
)
from federation.errors import BoundaryUnknownError
from tests.coldset.tables import TABLE, make_catalog

ROWS = pa.schema([("seq", pa.int64()), ("p", pa.int32()), ("o", pa.int64())])
NUMBERS = st.tuples(st.integers(0, 2), st.integers(0, 6))
FILE = st.lists(NUMBERS, unique=True, min_size=1, max_size=8)
COLUMNS = Columns((1, 2), None)


def bounds_of(rows: Sequence[tuple[int, int]], slack: int = 0) -> RowBounds:
    low = tuple(min(row[i] for row in rows) - slack for i in (0, 1))
    high = tuple(max(row[i] for row in rows) + slack for i in (0, 1))
    return RowBounds(len(rows), low, high)


@settings(deadline=None)
@given(FILE, st.integers(0, 2))
def test_what_bounds_settle_is_what_the_rows_hold(rows: list[tuple[int, int]], slack: int) -> None:
    """Bounds may be wider than the rows; then they settle nothing, and never something else."""
    settled = settle(bounds_of(rows, slack), COLUMNS)

    if settled is not None:
        partition, spans = settled
        assert {(partition, o) for start, end in spans for o in range(start, end)} == set(rows)
    if slack == 0:
        offsets = {o for _, o in rows}
        is_whole = len({p for p, _ in rows}) == 1 and len(offsets) == max(offsets) - min(offsets) + 1
        assert (settled is not None) == is_whole


@pytest.mark.parametrize(
    "bounds",
    [
        RowBounds(3, (0, 0), (0, None)),
        RowBounds(3, (None, 0), (None, 2)),
        RowBounds(3, (0, 0), (1, 2)),
        RowBounds(4, (0, 0), (0, 2)),
        RowBounds(2, (0, 0), (0, 2)),
        RowBounds(3, (0, -1), (0, 1)),
        RowBounds(3, (-1, 0), (-1, 2)),
        RowBounds(3, ("0", 0), ("0", 2)),
        RowBounds(1, (0, (1 << 63) - 1), (0, (1 << 63) - 1)),
    ],
)
def test_bounds_that_leave_a_doubt_settle_nothing(bounds: RowBounds) -> None:
    assert settle(bounds, COLUMNS) is None


@pytest.mark.parametrize(("low", "high"), [("t", "u"), (None, None), ("u", "u"), ("s", "t")])
def test_rows_that_may_be_of_another_topic_settle_nothing(low: str | None, high: str | None) -> None:
    bounds = RowBounds(3, (0, 0, low), (0, 2, high))

    assert settle(bounds, Columns((1, 2, 3), "t")) is None
    assert settle(replace(bounds, low=(0, 0, "t"), high=(0, 2, "t")), Columns((1, 2, 3), "t")) is not None


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return make_catalog(tmp_path)


def rows(*coordinates: tuple[int, int], schema: pa.Schema = ROWS) -> pa.Table:
    found = [{"seq": 1, "p": p, "o": o} for p, o in coordinates]
    return pa.Table.from_pylist(found, schema=schema)


def files_of(pinned: PinnedTable) -> tuple[tuple[HeldFile, ...], Columns]:
    columns = Columns((column_id(pinned, ["p"]), column_id(pinned, ["o"])), None)
    return held_files(pinned, columns.ids), columns


def held(pinned: PinnedTable) -> Held:
    files, columns = files_of(pinned)
    return find_held(pinned, files, columns, {})


def offsets(found: Held) -> set[tuple[int, int]]:
    return {(p, o) for p, spans in found.spans.items() for start, end in spans for o in range(start, end)}


def test_a_file_per_partition_is_settled_by_the_manifest(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=ROWS)
    table.append(rows((0, 0), (0, 1), (0, 2)))
    table.append(rows((1, 7), (1, 8)))

    found = held(pin(catalog, TABLE))

    assert dict(found.sources) == {BY_MANIFEST: 2}
    assert offsets(found) == {(0, 0), (0, 1), (0, 2), (1, 7), (1, 8)}


def test_a_file_with_a_hole_is_read(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=ROWS)
    table.append(rows((0, 0), (0, 2)))

    found = held(pin(catalog, TABLE))

    assert dict(found.sources) == {BY_SCAN: 1}
    assert offsets(found) == {(0, 0), (0, 2)}


def test_a_file_of_several_partitions_is_settled_by_its_row_groups_or_read(catalog: Catalog) -> None:
    """As compaction leaves them: sorted by partition with small row groups, or mixed."""
    table = catalog.create_table(TABLE, schema=ROWS, properties={"write.parquet.row-group-limit": "2"})
    table.append(rows((0, 0), (0, 1), (1, 0), (1, 1)))
    table.append(rows((0, 2), (1, 2), (0, 3), (1, 3)))

    found = held(pin(catalog, TABLE))

    assert dict(found.sources) == {BY_FOOTER: 1, BY_SCAN: 1}
    assert offsets(found) == {(p, o) for p in (0, 1) for o in range(4)}


def test_a_table_of_120_columns_has_no_bounds_in_manifests_and_is_settled_by_footers(
    catalog: Catalog,
) -> None:
    wide = pa.schema(
        [*(pa.field(f"c{i}", pa.int32()) for i in range(118)), ("p", pa.int32()), ("o", pa.int64())]
    )
    table = catalog.create_table(TABLE, schema=wide, properties={"write.metadata.metrics.default": "none"})
    table.append(rows((0, 0), (0, 1), schema=wide))
    files, columns = files_of(pin(catalog, TABLE))
    assert files[0].bounds.low == (None, None)

    found = find_held(pin(catalog, TABLE), files, columns, {})

    assert dict(found.sources) == {BY_FOOTER: 1}
    assert offsets(found) == {(0, 0), (0, 1)}


def test_a_table_partitioned_by_the_partition_column_needs_no_bounds_of_it(catalog: Catalog) -> None:
    made = catalog.create_table(TABLE, schema=ROWS, properties={"write.metadata.metrics.column.p": "none"})
    with made.update_spec() as update:
        update.add_identity("p")
    table = catalog.load_table(TABLE)
    table.append(rows((0, 0), (1, 0), (0, 1), (1, 1)))

    found = held(pin(catalog, TABLE))

    assert dict(found.sources) == {BY_MANIFEST: 2}
    assert offsets(found) == {(p, o) for p in (0, 1) for o in (0, 1)}


def test_a_row_that_is_there_twice_changes_nothing_and_is_counted(catalog: Catalog) -> None:
    table = catalog.create_table(TABLE, schema=ROWS)
    table.append(rows((0, 0), (0, 1), (0, 2)))
    table.append(rows((0, 1), (0, 2), (0, 3)))
    table.append(rows((0, 4), (0, 4)))

    found = held(pin(catalog, TABLE))

    assert offsets(found) == {(0, o) for o in range(5)}
    assert (found.rows, found.repeated) == (8, 3)


@pytest.mark.parametrize("bad", [(0, None), (None, 0), (0, -3), (0, (1 << 63) - 1)])
def test_rows_without_coordinates_are_an_error(catalog: Catalog, bad: tuple[int, int]) -> None:
    table = catalog.create_table(TABLE, schema=ROWS)
    table.append(rows((0, 0), bad))

    with pytest.raises(BoundaryUnknownError, match="kafkaColumns"):
        held(pin(catalog, TABLE))


def test_bounds_of_a_column_that_has_grown_from_int_to_long_are_read_right(catalog: Catalog) -> None:
    narrow = pa.schema([("seq", pa.int64()), ("p", pa.int32()), ("o", pa.int32())])
    table = catalog.create_table(TABLE, schema=narrow)
    table.append(rows((0, 300), (0, 301), schema=narrow))
    with table.update_schema() as update:
        update.update_column("o", LongType())
    catalog.load_table(TABLE).append(rows((0, 302), (0, 1 << 33)))

    found = held(pin(catalog, TABLE))

    assert offsets(found) == {(0, 300), (0, 301), (0, 302), (0, 1 << 33)}
    assert dict(found.sources) == {BY_MANIFEST: 1, BY_SCAN: 1}


@settings(deadline=None, max_examples=25)
@given(st.lists(FILE, min_size=1, max_size=3), st.integers(1, 4))
def test_every_source_says_the_same_of_any_files(
    tmp_path_factory: pytest.TempPathFactory, written: list[list[tuple[int, int]]], group: int
) -> None:
    catalog = make_catalog(tmp_path_factory.mktemp("any"))
    table = catalog.create_table(TABLE, schema=ROWS, properties={"write.parquet.row-group-limit": str(group)})
    for each in written:
        table.append(rows(*each))
    pinned = pin(catalog, TABLE)
    files, columns = files_of(pinned)

    for file in files:
        read = {
            (p, o)
            for arrays in read_held(pinned, file, {})
            for p, o in zip(arrays[0].to_pylist(), arrays[1].to_pylist(), strict=True)
        }
        groups = footer_bounds(pinned, file, {})
        assert groups is not None
        assert sum(each.rows for each in groups) == file.bounds.rows == len(read)
        for bounds in (file.bounds, *groups):
            settled = settle(bounds, columns)
            if settled is not None:
                offsets_settled = {(settled[0], o) for start, end in settled[1] for o in range(start, end)}
                assert offsets_settled <= read
                assert len(offsets_settled) == bounds.rows
    assert offsets(find_held(pinned, files, columns, {})) == {row for each in written for row in each}
