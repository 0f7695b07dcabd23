"""What a statement looks at is found in its own plan, and the files of no other rows are read.

Which rows come of it is held against Spark in `tests/coldset`; here is what a plan says, and what a receipt
does of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from coldset.errors import ColdReadError
from coldset.plan.parquet_scan import DeletedRows
from coldset.prune.predicate import AllOf, AnyOf, Compared, IsNull, NotNull, Predicate, StartsWith
from federation.engine.lookahead.lookahead import Lookout
from tests.federation.cold_table import ROWS, Alone
from tests.federation.engine.lookahead.looking import SCHEMA, look, where

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("id > 5", Compared("id", ">", 5)),
        ("5 >= id", Compared("id", "<=", 5)),
        ("id + 1 = 5", Compared("id", "=", 4)),
        ("TRY_CAST(weight AS BIGINT) = 5 OR TRY_CAST(note AS BIGINT) IS NULL", None),
        ("id BETWEEN 3 AND 5", AllOf((Compared("id", ">=", 3), Compared("id", "<=", 5)))),
        ("NOT id BETWEEN 3 AND 5", AnyOf((Compared("id", "<", 3), Compared("id", ">", 5)))),
        ("small > 5000000000", Compared("small", ">", 5_000_000_000)),
        ("id IN (1, 2)", AnyOf((Compared("id", "=", 1), Compared("id", "=", 2)))),
        ("id IN (1,2,3,4,5,6)", AnyOf(tuple(Compared("id", "=", n) for n in range(1, 7)))),
        ("note IN ('a','b','c','d','e')", AnyOf(tuple(Compared("note", "=", c) for c in "abcde"))),
        ("id NOT IN (1,2,3,4,5,6)", NotNull("id")),
        ("id <> 3", NotNull("id")),
        ("note = 'it''s) AND (id = 3)'", Compared("note", "=", "it's) AND (id = 3)")),
        ("note LIKE 'ab%'", StartsWith("note", "ab")),
        ("starts_with(note, 'ab')", StartsWith("note", "ab")),
        ("note NOT LIKE 'ab%'", NotNull("note")),
        ("note IS NULL", IsNull("note")),
        ("NOT note IS NULL", NotNull("note")),
        ("price = 1.5", Compared("price", "=", Decimal("1.50"))),
        ("weight < 0.1", Compared("weight", "<", Decimal("0.1"))),
        ("share >= 0.1", Compared("share", ">=", Decimal("0.1"))),
        ("day = '2026-01-01'", Compared("day", "=", date(2026, 1, 1))),
        ("year(day) = 2026 AND id = 1", None),
        ("seen > '2026-01-01 12:00:00+00'", Compared("seen", ">", NOON)),
        ("seen > TIMESTAMPTZ '2026-01-01 13:00:00+01'", Compared("seen", ">", NOON)),
        ("local <= '2026-01-01 12:00'", Compared("local", "<=", NOON.replace(tzinfo=None))),
        ("flag", Compared("flag", "=", True)),
        ("NOT flag", Compared("flag", "=", False)),
        ("id = 1 OR note = 'a'", AnyOf((Compared("id", "=", 1), Compared("note", "=", "a")))),
        ("id = 1 AND random() < 2", Compared("id", "=", 1)),
        ("id = 1 OR random() < 2", None),
        ("id % 2 = 0", None),
        ('"in".x = 3', None),
        ("note = e'a\\nb'", None),
        ("note = 'A' COLLATE nocase", None),
        ("seen > 'infinity'", None),
        ("seen > '12000-01-01'::TIMESTAMPTZ", None),
        ("seen::DATE = '2026-01-01'", None),
        ("id IS DISTINCT FROM 3", None),
        ("id = (SELECT 3)", None),
        ("true", None),
    ],
)
def test_a_filter_says_what_is_understood_of_it(condition: str, predicate: Predicate | None) -> None:
    found = where(condition)

    if "year" in condition:  # the planner knows what a year is
        assert isinstance(found, AllOf)
        assert Compared("id", "=", 1) in found.parts
    elif isinstance(found, AllOf | AnyOf):
        assert isinstance(predicate, AllOf | AnyOf)
        assert set(found.parts) == set(predicate.parts)
    else:
        assert found == predicate


def test_a_time_from_now_is_the_time_of_the_statement() -> None:
    found = where("seen > now() - INTERVAL 1 HOUR")

    assert isinstance(found, Compared)
    assert isinstance(found.value, datetime)
    assert abs(datetime.now(UTC) - timedelta(hours=1) - found.value) < timedelta(minutes=10)


@pytest.mark.parametrize(
    ("sql", "of_t", "of_u"),
    [
        ("SELECT 1 FROM t JOIN u USING (id) WHERE u.note = 'a'", None, Compared("note", "=", "a")),
        (
            "SELECT 1 FROM t JOIN u USING (id) WHERE t.id = 5",
            Compared("id", "=", 5),
            Compared("id", "=", 5),
        ),
        (
            "WITH c AS (SELECT * FROM t WHERE id > 5) SELECT * FROM c, u WHERE u.id = 1",
            Compared("id", ">", 5),
            Compared("id", "=", 1),
        ),
        (
            "SELECT id FROM t WHERE id = 1 UNION ALL SELECT id FROM t WHERE id = 2",
            AnyOf((Compared("id", "=", 1), Compared("id", "=", 2))),
            None,
        ),
        ("SELECT id FROM t WHERE id = 1 UNION ALL SELECT id FROM t", None, None),
        ("SELECT id FROM t LEFT JOIN u USING (id) WHERE t.note = 'b'", Compared("note", "=", "b"), None),
        (
            "SELECT id FROM t LEFT JOIN (SELECT * FROM u WHERE note = 'b') USING (id)",
            None,
            Compared("note", "=", "b"),
        ),
        ("SELECT * FROM t WHERE id IN (SELECT id FROM u WHERE note = 'x')", None, Compared("note", "=", "x")),
        ("SELECT (SELECT max(id) FROM u WHERE u.note = t.note) FROM t", None, NotNull("note")),
        ("SELECT id FROM (SELECT id, row_number() OVER () FROM t) WHERE id = 3", None, None),
        ("SELECT count(*) FILTER (WHERE id = 3) FROM t", None, None),
        ("SELECT note FROM t GROUP BY note HAVING note = 'a'", Compared("note", "=", "a"), None),
        ("SELECT * FROM (SELECT id % 7 AS id FROM t) WHERE id = 3", None, None),
        ("SELECT * FROM (SELECT id % 7 AS small FROM t) WHERE CAST(small AS DOUBLE) = 3.5", None, None),
        ("SELECT * FROM t TABLESAMPLE 10 ROWS WHERE id = 3", None, None),
        ('SELECT * FROM (SELECT id AS "x) OR (y" FROM t WHERE id = 3)', None, None),
    ],
)
def test_each_scan_has_its_own_filter(sql: str, of_t: Predicate | None, of_u: Predicate | None) -> None:
    found = look(sql, "t", "u")

    assert (_unordered(found["t"].where), _unordered(found["u"].where)) == (
        _unordered(of_t),
        _unordered(of_u),
    )


def _unordered(predicate: Predicate | None) -> object:
    return set(predicate.parts) if isinstance(predicate, AllOf | AnyOf) else predicate


def test_columns_are_those_of_each_table() -> None:
    found = look(
        'SELECT t.note, "in".x FROM t JOIN (SELECT id, day FROM u) v ON t.id = v.id AND v.day > t.day',
        "t",
        "u",
    )
    alone = look("SELECT u.id FROM u", "t", "u")

    assert ("small" in found["t"].columns, set(found["u"].columns)) == (False, {"id", "day"})
    assert (alone["t"].is_scanned, alone["u"].is_scanned, alone["u"].columns) == (False, True, ("id",))


@pytest.fixture
def parts(tmp_path: Path) -> Alone:
    """Four files of ten rows."""
    table = Alone(tmp_path)
    for first in (0, 10, 20, 30):
        table.append(*range(first, first + 10))
    return table


def told(table: Alone, sql: str) -> tuple[Any, dict[str, Any]]:
    answer = table.ask(sql)
    return answer.values(), answer.receipts[0].to_dict()


@pytest.mark.parametrize("is_scanned", [True, False], ids=["the engine's scan", "the reader of files"])
def test_a_receipt_says_what_was_read_and_what_was_left_out(
    parts: Alone, is_scanned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_scanned:
        monkeypatch.setattr("federation.engine.run.query.plan_scan", lambda _taken: None)
    rows, one = told(parts, "SELECT note FROM {t} WHERE id = 25")
    _, both = told(parts, "SELECT note FROM {t} WHERE id IN (1, 2, 3, 4, 35, 36)")
    _, everything = told(parts, "SELECT note FROM {t} WHERE id % 10 = 5")
    _, nothing = told(parts, "SELECT note FROM {t} WHERE id > 99")

    assert rows == [["n25"]]
    assert [found["files_read"] for found in (one, both, everything, nothing)] == [1, 2, 4, 0]
    assert [found["rows_cold"] for found in (one, both, everything, nothing)] == [10, 20, 40, 0]
    for found in (one, both, everything, nothing):
        assert found["files_read"] + found["files_pruned"] == 4
        assert found["bytes_read"] + found["bytes_pruned"] == everything["bytes_read"] > 0
        assert found["manifests_read"] + found["manifests_skipped"] == 4


@pytest.mark.parametrize("is_scanned", [True, False], ids=["the engine's scan", "the reader of files"])
def test_rows_are_counted_without_opening_a_file(
    parts: Alone, is_scanned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_scanned:
        monkeypatch.setattr("federation.engine.run.query.plan_scan", lambda _taken: None)
    told(parts, "SELECT count(*) FROM {t}")
    for file in parts.directory.rglob("*.parquet"):
        file.write_bytes(b"")
    rows, found = told(parts, "SELECT count(*) FROM {t}")
    pairs, _ = told(parts, "SELECT count(*) + 1 FROM (SELECT 2 * id FROM {t} a) JOIN {t} b ON true LIMIT 1")

    assert (rows, pairs) == ([[40]], [[1601]])
    assert [found[name] for name in ("rows_cold", "files_read", "bytes_read", "files_answered")] == [
        40,
        0,
        0,
        4,
    ]
    with pytest.raises(ColdReadError):
        parts.ask("SELECT count(id) FROM {t}")


def test_rows_that_are_deleted_are_not_counted(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2, 3)
    scan = table.scan()
    gone = replace(scan, rows=2, groups=tuple(replace(g, deleted=(DeletedRows([0]),)) for g in scan.groups))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("federation.engine.run.query.plan_scan", lambda _taken: gone)

        assert told(table, "SELECT count(*) FROM {t}")[0] == [[2]]


def test_a_table_that_is_named_and_not_looked_at_is_not_read(parts: Alone) -> None:
    rows, found = told(parts, "SELECT id FROM {t} WHERE false")

    assert (rows, found["files_read"], found["rows_cold"]) == ([[]], 0, 0)


def test_two_scans_of_a_table_have_the_files_of_both(parts: Alone) -> None:
    rows, found = told(
        parts, "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.id = b.id - 20 WHERE a.id = 5 AND b.note = 'n25'"
    )

    assert rows == [[5], [25]]
    assert found["files_read"] == 2


def test_rows_of_a_required_column_that_came_later_are_not_lost(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1)
    with table.catalog.load_table(table.name).update_schema() as update:
        update.rename_column("note", "old")
    with table.catalog.load_table(table.name).update_schema() as update:
        update.add_column("note", _string())
    later = pa.table(
        {"id": [2], "old": ["o"], "note": ["n1"]}, schema=ROWS.insert(1, pa.field("old", pa.string()))
    )
    table.catalog.load_table(table.name).append(later)

    assert told(table, "SELECT id FROM {t} WHERE note = 'n1'")[0] == [[2]]
    assert told(table, "SELECT id FROM {t} WHERE note IS NULL")[0] == [[1]]
    assert told(table, "SELECT id FROM {t} WHERE old = 'n1'")[0] == [[1]]


def _string() -> Any:
    from pyiceberg.types import StringType

    return StringType()


def test_a_plan_in_another_form_than_known_has_no_filters() -> None:
    cursor = duckdb.connect()
    lookout = Lookout(cursor, {"t": SCHEMA}, ["letter"])
    real = lookout.plan
    lookout.plan = lambda sql: real(sql).replace('"Projections": "', '"Projections": "other ')  # type: ignore[method-assign]

    found = lookout.look("SELECT id FROM t WHERE id = 3")[1]["t"]

    assert (found.columns, found.where) == (tuple(SCHEMA.names), None)
