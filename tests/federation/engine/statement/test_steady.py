"""A statement that means the same at any time is planned once; what it reads is decided by each cut anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from federation.engine.lookahead.lookahead import Lookout
from federation.engine.statement import steadiness
from federation.engine.statement.statement import parse_statement
from tests.federation.cold_table import Alone

STEADY = "SELECT sum(id) AS s FROM {t} WHERE id BETWEEN 12 AND 24 / 2"


def is_steady(sql: str) -> bool:
    return parse_statement(sql, ["a.t"]).is_steady


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that were planned over tables of nothing."""
    seen: list[str] = []
    real = Lookout.look

    def look(lookout: Lookout, sql: str) -> Any:
        seen.append(sql)
        return real(lookout, sql)

    monkeypatch.setattr(Lookout, "look", look)
    return seen


def test_a_steady_statement_is_planned_once_and_reads_what_each_cut_has(
    tmp_path: Path, planned: list[str]
) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    found = []
    for first in (12, 24, 12):
        found.append(table.ask(STEADY).values())
        table.append(first, first + 1)
    found.append(table.ask(STEADY).values())

    assert (found, len(planned)) == ([[[None]], [[12]], [[12]], [[24]]], 1)


def test_a_statement_is_planned_anew_over_other_columns(tmp_path: Path, planned: list[str]) -> None:
    table = Alone(tmp_path)
    table.append(1)
    before = table.ask("SELECT * FROM {t} WHERE id = 1").rows
    with table.catalog.load_table(table.name).update_schema() as change:
        change.rename_column("note", "text")
    after = table.ask("SELECT * FROM {t} WHERE id = 1").rows

    assert (before.schema.names, after.schema.names) == (["id", "note"], ["id", "text"])
    assert len(planned) == 2


def test_a_statement_that_depends_on_its_time_is_planned_each_time(
    tmp_path: Path, planned: list[str]
) -> None:
    table = Alone(tmp_path)
    table.append(1)
    for _ in range(2):
        table.ask("SELECT id FROM {t} WHERE id < epoch(now())")

    assert len(planned) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM a.t",
        "SELECT region, count(*), sum(n + 1) FROM a.t WHERE s LIKE 'a%' GROUP BY ALL ORDER BY region",
        "SELECT date_trunc('day', seen) FROM a.t WHERE seen > TIMESTAMP '2026-01-01'",
    ],
)
def test_a_statement_of_columns_and_constants_is_steady(sql: str) -> None:
    assert is_steady(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM a.t WHERE seen > now()",
        "SELECT * FROM a.t WHERE day = CURRENT_DATE",
        'SELECT * FROM a.t WHERE day = "Current_Date"',
        "SELECT * FROM a.t WHERE age(seen) < INTERVAL 1 DAY",
        "SELECT * FROM a.t WHERE n < random()",
        "SELECT row_number() OVER () FROM a.t",
        "SELECT (SELECT max(day) FROM a.t WHERE day < today()) FROM a.t",
    ],
)
def test_what_the_time_or_chance_may_change_is_not_steady(sql: str) -> None:
    assert not is_steady(sql)


def test_no_function_that_the_engine_calls_unsteady_is_taken_for_a_steady_one() -> None:
    unsteady = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT'"
    names = [name for (name,) in duckdb.execute(unsteady).fetchall()]

    assert len(names) > 10
    assert not any(steadiness.is_steady({"class": "FUNCTION", "function_name": name}) for name in names)


def test_no_name_that_the_engine_takes_for_a_function_is_taken_for_a_column() -> None:
    every = "SELECT DISTINCT function_name FROM duckdb_functions()"
    names = [*(name for (name,) in duckdb.execute(every).fetchall()), "current_timestamp", "localtimestamp"]
    bare = [name for name in names if _is_called_bare(name)]

    assert "current_date" in bare
    assert not any(is_steady(f"SELECT {name} FROM a.t") for name in bare)


def _is_called_bare(name: str) -> bool:
    try:
        duckdb.sql(f"SELECT {name} AS found").fetchall()
    except duckdb.Error:
        return False
    return True
