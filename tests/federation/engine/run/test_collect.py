"""All rows of a result are the same whether they are made at once or in turn, and never more than may be.

What makes the choice is the plan; what ends a result that grows without end is the size of the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from federation.engine.run.answer import Limits
from federation.engine.run.collect import ResultGrewError, collect_at_once, collect_in_turn, is_row_by_row
from federation.engine.run.query import run_query
from federation.errors import ResultTooLargeError
from tests.federation.cold_table import Alone

ROWS = "SELECT range AS a, 'x' || range AS b, [range, NULL] AS c FROM range(300000) WHERE range % 3 = 0"


def plan_of(statement: str) -> str:
    connection = duckdb.connect()
    connection.register("t", pa.table({"a": [1, 2], "b": ["x", "y"]}))
    return str(connection.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchall()[0][1])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT a + 1, b FROM t WHERE a > 1", True),
        ("SELECT * FROM t UNION ALL SELECT * FROM t", True),
        ("SELECT a FROM t WHERE a NOT IN (SELECT a FROM t)", True),
        ("SELECT count(*) FROM t", False),
        ("SELECT * FROM t ORDER BY a", False),
        ("SELECT * FROM t LIMIT 1", False),
        ("SELECT * FROM t, t u", False),
        ("SELECT t.a FROM t JOIN t u USING (a)", False),
        ("SELECT unnest([a, a]) FROM t", False),
        ("SELECT row_number() OVER () FROM t", False),
        ("SELECT range FROM range(1000000000000)", False),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", False),
    ],
)
def test_only_plans_that_make_rows_of_rows_are_collected_at_once(statement: str, expected: bool) -> None:
    assert is_row_by_row(plan_of(statement)) is expected


def test_both_ways_give_the_same_rows_in_the_same_order() -> None:
    connection = duckdb.connect()
    limits = {"max_rows": 100_000, "max_bytes": 1 << 30}

    at_once = collect_at_once(connection.sql(ROWS), connection.interrupt, **limits)
    in_turn = collect_in_turn(connection.sql(ROWS), **limits)

    assert at_once.num_rows == 100_000
    assert at_once.equals(in_turn)


@pytest.mark.parametrize(
    "limits", [{"max_rows": 99_999, "max_bytes": 1 << 30}, {"max_rows": 10**9, "max_bytes": 999}]
)
def test_both_ways_end_in_an_error_above_a_limit(limits: dict[str, int]) -> None:
    connection = duckdb.connect()

    with pytest.raises(ResultTooLargeError):
        collect_at_once(connection.sql(ROWS), connection.interrupt, **limits)
    with pytest.raises(ResultTooLargeError):
        collect_in_turn(connection.sql(ROWS), **limits)


def test_a_result_without_end_is_stopped_when_the_process_has_grown() -> None:
    connection = duckdb.connect()
    endless = connection.sql(
        "SELECT range AS a, 'a rather long text ' || range AS b FROM range(1000000000000)"
    )

    with pytest.raises(ResultGrewError):
        collect_at_once(endless, connection.interrupt, max_rows=10**13, max_bytes=1 << 20)


def test_a_statement_that_made_the_process_grow_is_run_again_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Alone(tmp_path)
    table.append(*range(1000))
    monkeypatch.setattr("federation.engine.run.collect._SLACK_BYTES", -(1 << 40))
    monkeypatch.setattr("federation.engine.run.collect._WATCH_S", 0.0001)
    in_turn: list[int] = []

    def counted(*args: Any, **limits: int) -> pa.Table:
        in_turn.append(limits["max_rows"])
        return collect_in_turn(*args, **limits)

    monkeypatch.setattr("federation.engine.run.attempt.collect_in_turn", counted)
    # Long enough for somebody to look how large the process is.
    answer = table.ask("SELECT id, length(repeat(note, 20000)) AS n FROM {t}")

    assert len(in_turn) == 1
    assert answer.rows.column("id").to_pylist() == list(range(1000))
    assert answer.receipts[0].rows_cold == 1000


def test_too_large_a_statement_is_an_error_whichever_way_it_ends(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(*range(1000))

    with pytest.raises(ResultTooLargeError):
        run_query(
            f"SELECT repeat(note, 100000) AS n FROM {table.name}",
            {table.name: table.options()},
            Limits(max_bytes=1 << 20),
        )
