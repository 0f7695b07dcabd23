"""What a SELECT can leave in its connection for the next one: only who leaves nothing shares one."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from federation.engine.statement.isolation import TRACES
from federation.engine.statement.statement import parse_statement
from federation.errors import StatementRefusedError

ROWS = "(SELECT i, 'abc'[i % 3 + 1] AS kind FROM range(20_000) r(i)) AS t"

# Of each kind of step that an engine takes for a SELECT.
ALIKE = [
    "SELECT count(*), sum(i), min(kind) FROM {t} WHERE i > 3",
    "SELECT kind, count(DISTINCT i), approx_count_distinct(i) FROM {t} GROUP BY ALL ORDER BY ALL",
    "SELECT approx_quantile(i, 0.5), reservoir_quantile(i, 0.5), approx_top_k(kind, 2) FROM {t}",
    "SELECT * FROM {t} ORDER BY i DESC LIMIT 3 OFFSET 2",
    "SELECT row_number() OVER (PARTITION BY kind ORDER BY i), lag(i) OVER () FROM {t}",
    "SELECT count(*) FROM {t} JOIN (SELECT 3 AS i, now() AS seen) AS u USING (i) WHERE seen <= now()",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT sum(n) FROM r, {t}",
    "SELECT list_sum(list_transform([1, 2], lambda x: x + i)), CURRENT_DATE FROM {t}",
    "SELECT (SELECT max(i) FROM {t} WHERE kind = u.kind) FROM (SELECT 'a' AS kind) AS u",
    "SELECT * FROM {t} PIVOT (count(*) FOR kind IN ('a', 'b'))",
    "SUMMARIZE (SELECT * FROM {t})",
    "DESCRIBE (SELECT * FROM {t})",
]

TRACING = [
    "SELECT setseed(0.5)",
    "SELECT SETSEED(0.5)",
    "SELECT main.setseed(0.5)",
    "SELECT a.setseed() FROM a.t",
    "SELECT list_transform([0.5], lambda x: setseed(x))",
    "SELECT 1 WHERE (WITH s AS (SELECT setseed(0.5)) SELECT count(*) FROM s) > 0",
    "SELECT * FROM a.t ORDER BY random()",
    "SELECT * FROM a.t USING SAMPLE 10 ROWS",
    "SELECT * FROM a.t TABLESAMPLE reservoir(10%)",
    "SELECT * FROM (SELECT * FROM a.t) AS s TABLESAMPLE 10%",
    "SELECT uuid(), current_connection_id()",
]


def _drawn_after(between: str | None) -> list[Any]:
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.25)").fetchall()
    if between is not None:
        connection.execute(between).fetchall()
    return connection.execute("SELECT random(), random()").fetchall()


@pytest.mark.parametrize("sql", ALIKE)
def test_what_leaves_no_trace_draws_no_random_number(sql: str) -> None:
    assert parse_statement(sql.format(t="a.t"), ["a.t"]).leaves_no_trace
    assert _drawn_after(sql.format(t=ROWS)) == _drawn_after(None)


def test_a_sample_of_rows_draws_random_numbers() -> None:
    assert _drawn_after(f"SELECT * FROM {ROWS} USING SAMPLE 10 ROWS") != _drawn_after(None)


@pytest.mark.parametrize("sql", TRACING)
def test_what_may_leave_a_trace_is_known(sql: str) -> None:
    assert not parse_statement(sql, ["a.t"]).leaves_no_trace


def test_every_function_that_the_engine_calls_volatile_may_leave_a_trace() -> None:
    volatile = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    names = {name for (name,) in duckdb.execute(volatile).fetchall()}

    # It fails, or is not called.
    assert names - {"error"} == TRACES


def test_no_macro_of_the_engine_hides_such_a_function() -> None:
    macros = (
        "SELECT function_name, macro_definition FROM duckdb_functions() WHERE macro_definition IS NOT NULL"
    )
    hiding = {
        name
        for name, text in duckdb.execute(macros).fetchall()
        if any(f"{trace}(" in text.replace('"', "") for trace in TRACES)
    }

    assert hiding <= TRACES | {"pg_sleep"}
    with pytest.raises(StatementRefusedError):
        parse_statement("SELECT pg_sleep(1)", [])


@pytest.mark.parametrize("name", sorted(TRACES))
def test_no_such_function_is_called_without_brackets(name: str) -> None:
    with pytest.raises(duckdb.BinderException):
        duckdb.sql(f"SELECT {name} AS found")


@pytest.mark.parametrize(
    "sql",
    [
        "SET VARIABLE x = 1",
        "SET TimeZone = 'Asia/Tokyo'",
        "RESET TimeZone",
        "PRAGMA enable_profiling",
        "CALL enable_logging()",
        "USE memory",
        "BEGIN",
        "PREPARE p AS SELECT 1",
        "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE TEMP MACRO x() AS 1",
        "PIVOT a.t ON kind",  # makes a type of the values
        "SELECT getvariable('x')",
        "SELECT current_setting('TimeZone')",
        "FROM duckdb_views()",
        "FROM enable_logging()",
    ],
)
def test_what_else_a_connection_remembers_is_refused(sql: str) -> None:
    with pytest.raises(StatementRefusedError):
        parse_statement(sql, ["a.t"])
