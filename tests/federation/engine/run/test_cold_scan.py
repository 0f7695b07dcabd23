"""The engine scans data files itself where it can, opens nothing else, and is never believed when it fails.

What is gone before an answer is there is looked for once more, at a fresh cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import federation.engine.run.query as query
from coldset.errors import ColdReadError
from coldset.files.duckdb_sql import quoted
from coldset.plan.parquet_scan import DeletedRows
from federation.engine.run.instance import deletes_of, open_cursor
from federation.errors import SqlError
from tests.federation.cold_table import ROWS, Alone


def test_the_engine_reads_whole_snapshots_itself(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    table.append(3)

    answer = table.ask("SELECT sum(id) AS s FROM {t} WHERE note <> 'n2'")

    assert (table.scan().rows, table.scan().rest) == (3, ())
    assert [int(row["s"]) for row in answer.rows.to_pylist()] == [4]
    assert answer.receipts[0].rows_cold == 3


@pytest.mark.parametrize("is_scanned", [True, False], ids=["the engine's scan", "the reader of files"])
def test_a_double_is_what_its_file_says_in_a_partition_of_a_single(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_scanned: bool
) -> None:
    table = Alone(tmp_path, pa.schema([("id", pa.int64()), ("weight", pa.float64())]))
    with table.catalog.load_table(table.name).update_spec() as spec:
        spec.add_identity("weight")
    table.catalog.load_table(table.name).append(pa.table({"id": [1, 2, 3], "weight": [-9.9, 0.5, -9.9]}))
    if not is_scanned:
        monkeypatch.setattr(query, "plan_scan", lambda _taken: None)

    assert table.ask("SELECT id FROM {t} WHERE weight = -9.9 ORDER BY id").values() == [[1, 3]]
    assert table.ask("SELECT weight FROM {t} ORDER BY id").values() == [[-9.9, 0.5, -9.9]]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("share = 0.1::FLOAT", 1),
        ("share IN (0.1::FLOAT, 7::FLOAT)", 1),
        ("share = 'inf'::FLOAT", 1),
        ("share >= 3.4e38::FLOAT", 1),
        ("share > 0.1::FLOAT", 1),
        ("share <= 0.1::FLOAT", 1),
        ("share < 0.1::FLOAT", 0),
    ],
)
@pytest.mark.parametrize("is_partitioned", [False, True])
def test_a_single_is_found_by_the_number_next_to_it(
    tmp_path: Path, condition: str, count: int, *, is_partitioned: bool
) -> None:
    table = Alone(tmp_path, pa.schema([("share", pa.float32())]))
    if is_partitioned:
        with table.catalog.load_table(table.name).update_spec() as spec:
            spec.add_identity("share")
    for share in (0.1, float("inf")):
        rows = pa.table({"share": pa.array([share], pa.float32())})
        table.catalog.load_table(table.name).append(rows)

    assert table.ask(f"SELECT count(*) FROM {{t}} WHERE {condition}").values() == [[count]]


def test_an_instance_opens_the_files_of_its_scans_and_no_others(tmp_path: Path) -> None:
    mine, other = Alone(tmp_path / "a"), Alone(tmp_path / "b")
    mine.append(1)
    other.append(2)
    cursor = open_cursor([mine.scan()])
    [path], [foreign] = mine.scan().paths, other.scan().paths

    assert cursor.execute("SELECT count(*) FROM read_parquet(?)", [path]).fetchall() == [(1,)]
    for statement in (
        f"SELECT * FROM read_parquet('{foreign}')",
        f"SELECT * FROM read_parquet('{tmp_path}/**/*.parquet')",
        f"SELECT * FROM read_text('{tmp_path}/a/catalog.db')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.parquet'",
        "SET allowed_paths = []",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(statement).fetchall()


@pytest.mark.parametrize(
    "names", [('a"b', "c d"), ("filename", "file_row_number"), ("a", "A"), ("c1", "c2")], ids=repr
)
def test_columns_may_have_any_names(tmp_path: Path, names: tuple[str, str]) -> None:
    schema = pa.schema([(name, pa.int64()) for name in names])
    table = Alone(tmp_path, schema)
    table.catalog.load_table(table.name).append(pa.table([[1], [2]], schema=schema))

    assert [list(row) for row in zip(*table.ask("SELECT * FROM {t}").values(), strict=True)] == [[1, 2]]


def test_a_folder_that_looks_like_a_pattern_is_a_folder(tmp_path: Path) -> None:
    table = Alone(tmp_path, location=f"{tmp_path}/[ab]*")
    table.append(1)

    assert table.scan() is None
    assert table.ask("SELECT id FROM {t}").rows.to_pylist() == [{"id": 1}]


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-20]),
        lambda file: file.write_bytes(b"\0" * len(file.read_bytes())),
    ],
    ids=["gone", "empty", "cut short", "overwritten"],
)
@pytest.mark.parametrize("is_planned", [False, True])
def test_a_file_that_is_harmed_is_an_error_that_names_it(
    tmp_path: Path, harm: Callable[[Path], Any], is_planned: bool
) -> None:
    table = Alone(tmp_path)
    table.append(*range(1000))
    if is_planned:
        table.ask("SELECT count(*) FROM {t}")
    [file] = tmp_path.rglob("*.parquet")
    harm(file)

    with pytest.raises(ColdReadError, match=file.name):
        table.ask("SELECT sum(id) AS s, max(note) AS m FROM {t}")


def test_files_that_vanish_before_there_is_an_answer_are_looked_for_at_a_fresh_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    real, asked = query.plan_scan, []

    def compacted_meanwhile(taken: Any) -> Any:
        asked.append(taken.pinned.snapshot_id)
        if len(asked) == 1:
            old = list(tmp_path.rglob("*.parquet"))
            table.catalog.load_table(table.name).overwrite(
                pa.table({"id": [1, 2], "note": ["n1", "n2"]}, schema=ROWS)
            )
            for file in old:
                file.unlink()
        return real(taken)

    monkeypatch.setattr(query, "plan_scan", compacted_meanwhile)
    answer = table.ask("SELECT sum(id) AS s FROM {t}")

    assert int(answer.rows.column("s")[0].as_py()) == 3
    assert len(set(asked)) == 2
    assert answer.receipts[0].snapshot_id == asked[-1]


def test_an_error_of_the_statement_itself_stays_one(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1)

    with pytest.raises(SqlError, match="Conversion"):
        table.ask("SELECT CAST(note AS BIGINT) FROM {t}")


@pytest.mark.parametrize(
    "condition", ["f > 5", "f = 'nan'", "isnan(f)", "NOT f < 6", "s.f > 5", "l[1] > 5", "m['k'] > 5"]
)
def test_a_number_that_is_none_is_found_although_no_footer_counts_it(tmp_path: Path, condition: str) -> None:
    numbers = [1.0, float("nan"), None, -0.0]
    schema = pa.schema(
        [
            ("f", pa.float64()),
            ("s", pa.struct([("f", pa.float64())])),
            ("l", pa.list_(pa.float32())),
            ("m", pa.map_(pa.string(), pa.float64())),
        ]
    )
    rows = [{"f": n, "s": {"f": n}, "l": [n], "m": [("k", n)]} for n in numbers]
    table = Alone(tmp_path, schema)
    table.catalog.load_table(table.name).append(pa.Table.from_pylist(rows, schema))

    assert table.scan().rest == ()
    assert table.ask(f"SELECT count(*) FROM {{t}} WHERE {condition}").values() == [[1]]


def test_a_copy_of_a_table_has_its_own_schema_under_the_same_id(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1)
    other = table.copied()
    for each, name in ((table, "here"), (other, "there")):
        with each.catalog.load_table(each.name).update_schema() as update:
            update.rename_column("note", name)

    assert table.ask("SELECT here FROM {t}").values() == [["n1"]]
    assert other.ask("SELECT there FROM {t}").values() == [["n1"]]


def test_a_table_under_two_names_is_one_for_the_engine(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    scan = table.scan()
    first = replace(scan, groups=tuple(replace(g, deleted=(DeletedRows([0]),)) for g in scan.groups))

    cursor = open_cursor([first, first])

    [deletes] = deletes_of(first).values()
    assert cursor.sql(f"SELECT row FROM {quoted(deletes)}").fetchall() == [(0,)]


@pytest.mark.parametrize("most_listed", [0, 5, 6])
def test_deleted_rows_are_hidden_whether_they_are_listed_or_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_listed: int
) -> None:
    monkeypatch.setattr("coldset.plan.parquet_scan._MOST_LISTED", most_listed)
    table = Alone(tmp_path)
    for number in range(4):
        table.append(*range(10 * number, 10 * number + 5 + number))
    scan = table.scan()
    [group] = scan.groups
    # The scan's order is its own, so what is deleted of a file goes by its first row.
    firsts = [
        duckdb.sql(f"SELECT min(id) FROM read_parquet('{path}')").fetchall()[0][0] for path in group.paths
    ]
    by_first = {0: [0], 10: [], 20: [1, 2, 3], 30: [0, 7]}
    group = replace(group, deleted=tuple(DeletedRows(by_first[first]) for first in firsts))
    scan = replace(scan, groups=(group,))

    rows = (
        open_cursor([scan])
        .sql(f"SELECT id FROM ({scan.sql(['id'], deletes_of(scan))}) ORDER BY id")
        .fetchall()
    )

    assert group.is_listed is (most_listed == 6)
    gone = {first + row for first, deleted in by_first.items() for row in deleted}
    assert [id_ for (id_,) in rows] == [
        id_ for n in range(4) for id_ in range(10 * n, 10 * n + 5 + n) if id_ not in gone
    ]
