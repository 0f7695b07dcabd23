"""A rewritten statement means what its text meant.

Each statement is run twice over the same small tables: its own text by a plain DuckDB, where the
tables have their names, and the rewritten text over the engine's views. The answers must be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from federation.engine.statement.statement import parse_statement
from federation.errors import SqlError, StatementRefusedError

TABLES = ("lake.orders", "lake.cust", "sales.orders")

STATEMENTS = [
    "SELECT lake.orders.id FROM lake.orders ORDER BY lake.orders.id DESC LIMIT 2",
    "SELECT orders.p.x, lake.orders.p.x FROM lake.orders ORDER BY 1",
    "SELECT o.id FROM lake.orders o JOIN lake.cust c USING (cust) ORDER BY o.id",
    "SELECT * FROM lake.orders NATURAL JOIN lake.cust ORDER BY ALL",
    "SELECT lake.cust.name, count(*) FROM lake.orders JOIN lake.cust ON lake.orders.cust = lake.cust.cust "
    "GROUP BY lake.cust.name ORDER BY 1",
    "SELECT id, (SELECT max(name) FROM lake.cust WHERE lake.cust.cust = orders.cust) FROM "
    "lake.orders ORDER BY id",
    "SELECT id FROM lake.orders WHERE NOT EXISTS "
    "(SELECT 1 FROM lake.cust WHERE lake.cust.cust = lake.orders.cust) ORDER BY id",
    "WITH orders AS (SELECT * FROM lake.orders WHERE id < 5) SELECT count(*), sum(orders.id) FROM orders",
    "WITH t AS (SELECT * FROM lake.orders) SELECT a.id FROM t a JOIN t b ON a.id = b.id + 1 ORDER BY 1",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
    "SELECT n.i, count(*) FROM n, lake.orders WHERE lake.orders.id > n.i GROUP BY n.i ORDER BY 1",
    "SELECT (SELECT max(lake.orders.cust) FROM lake.orders WHERE lake.orders.id = sales.orders.id), "
    "sales.orders.id FROM sales.orders ORDER BY 2",
    "SELECT sales.orders.id FROM sales.orders WHERE NOT EXISTS "
    "(SELECT 1 FROM lake.orders WHERE lake.orders.id = sales.orders.id) ORDER BY 1",
    "SELECT count(*) FROM lake.orders JOIN sales.orders ON lake.orders.id = sales.orders.id",
    "SELECT count(*) FROM lake.orders, sales.orders",
    "SELECT lake.cust.name FROM (SELECT {'name': 'struct'} AS cust) AS lake, sales.orders AS cust",
    "SELECT id, row_number() OVER (PARTITION BY cust ORDER BY id) FROM lake.orders ORDER BY id",
    "SELECT cust, id FROM lake.orders QUALIFY row_number() OVER (PARTITION BY cust ORDER BY id DESC) "
    "= 1 ORDER BY 1",
    "SELECT x.id, y.name FROM lake.orders x, LATERAL (SELECT name FROM lake.cust WHERE cust = "
    "x.cust) y ORDER BY 1",
    "SELECT cust FROM lake.orders UNION SELECT cust FROM lake.cust EXCEPT SELECT 1 ORDER BY 1",
    "FROM lake.orders SELECT id WHERE id IN (SELECT id FROM sales.orders) ORDER BY id",
    "SELECT COLUMNS('i.*') FROM lake.orders ORDER BY ALL",
    "SELECT orders.* EXCLUDE (p) FROM lake.orders ORDER BY id",
    "SELECT unnest([id, cust]) FROM lake.orders ORDER BY 1",
    'SELECT count(*) FROM "lake"."orders"',
    "SELECT count(*) FROM LAKE.ORDERS",
    "SELECT name FROM cust ORDER BY 1",
]


@pytest.fixture
def databases() -> Iterator[tuple[Any, Any]]:
    """The same tables twice: under their own names, and under the names of the engine's views."""
    plain, views = duckdb.connect(), duckdb.connect()
    rows = {
        "lake.orders": "SELECT i AS id, i % 4 AS cust, {'x': i} AS p FROM range(10) t(i)",
        "lake.cust": "SELECT i AS cust, 'c' || i AS name FROM range(3) t(i)",
        "sales.orders": "SELECT i * 3 AS id, i AS amount FROM range(5) t(i)",
    }
    for schema in ("lake", "sales"):
        plain.execute(f"CREATE SCHEMA {schema}")
    for name, query in rows.items():
        plain.execute(f"CREATE TABLE {name} AS {query}")
        views.execute(f'CREATE VIEW "{name}" AS {query}')
    plain.execute("SET search_path = 'lake'")
    yield plain, views
    plain.close()
    views.close()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_rewritten_statement_gives_the_same_rows(databases: tuple[Any, Any], sql: str) -> None:
    plain, views = databases

    rewritten = parse_statement(sql, TABLES).sql

    assert views.execute(rewritten).fetchall() == plain.execute(sql).fetchall()


def test_a_short_name_that_may_mean_two_tables_is_refused() -> None:
    with pytest.raises(StatementRefusedError, match="give the tables aliases"):
        parse_statement("SELECT orders.id FROM lake.orders, sales.orders", TABLES)


def test_a_name_that_may_be_a_struct_or_a_table_is_refused() -> None:
    with pytest.raises(StatementRefusedError, match="give the table an alias"):
        parse_statement("SELECT lake.cust.name FROM (SELECT 1 AS one) AS lake, lake.cust", TABLES)


def test_a_short_name_of_two_tables_is_ambiguous() -> None:
    with pytest.raises(SqlError, match="ambiguous"):
        parse_statement("SELECT 1 FROM orders", TABLES)


@pytest.mark.parametrize("sql", ["SELECT " + "(" * 300 + "1" + ")" * 300, "SELECT 1" + " + 1" * 5000])
def test_a_statement_that_is_nested_too_deeply_is_refused(sql: str) -> None:
    with pytest.raises(SqlError):
        parse_statement(sql, TABLES)
