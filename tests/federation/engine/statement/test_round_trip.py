"""Random statements mean the same after they were a tree, or are refused; none quietly becomes another.

Each is run by a plain DuckDB, where the tables have their names, and rewritten over tables that are named
like the engine's views. Rows, types and columns must be equal; what fails must fail on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import pytest

from federation.engine.statement.statement import parse_statement
from federation.errors import SqlError, StatementRefusedError
from tests.federation.random_sql import TABLES, Grammar, scalar_functions

SHORT: Final = 400
LONG: Final = 5_000
# Of what the grammar makes, at least so much has to run, or it tests nothing.
LEAST_RUN: Final = 0.4


class Twins:
    """The same tables twice: under their own names, and under the names of the engine's views."""

    def __init__(self) -> None:
        self.plain, self.views = duckdb.connect(), duckdb.connect()
        self.plain.execute("CREATE SCHEMA lake")
        for name, query in TABLES.items():
            quoted = name.replace('"', '""')
            self.plain.execute(f'CREATE TABLE lake."{quoted.removeprefix("lake.")}" AS {query}')
            self.views.execute(f'CREATE TABLE "{quoted}" AS {query}')
        for each in (self.plain, self.views):
            each.execute("SET threads = 1")  # samples are drawn in the order of rows
            each.execute("SET TimeZone = 'UTC'")

    def close(self) -> None:
        self.plain.close()
        self.views.close()


@pytest.fixture(scope="module")
def twins() -> Iterator[Twins]:
    found = Twins()
    yield found
    found.close()


def answer_of(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """Columns, types and rows as the engine's own text; None if the statement fails."""
    try:
        found = connection.sql(sql)
        places = range(len(found.columns))
        texts = ", ".join(f"c{place}::VARCHAR" for place in places)
        names = ", ".join(f"c{place}" for place in places)
        rows = connection.sql(f"SELECT {texts} FROM found AS x({names})").fetchall()
    except (duckdb.Error, UnicodeDecodeError):
        return None
    # A column without an alias is called by its text, in which a table has another name.
    return [name for name in found.columns if "FROM" not in name], [str(kind) for kind in found.types], rows


def compare(twins: Twins, seeds: range) -> tuple[list[str], int]:
    """Return the statements whose meaning changed, and how many ran."""
    grammar = Grammar(scalar_functions(twins.plain))
    changed, ran = [], 0
    for seed in seeds:
        sql = grammar.statement(seed)
        expected = answer_of(twins.plain, sql)
        try:
            found = answer_of(twins.views, parse_statement(sql, tuple(TABLES)).sql)
        except SqlError:
            found = None
        ran += expected is not None
        if found != expected:
            changed.append(f"seed {seed}: {sql}")
    return changed, ran


def test_statements_mean_the_same_after_they_were_a_tree(twins: Twins) -> None:
    changed, ran = compare(twins, range(SHORT))

    assert changed == []
    assert ran > SHORT * LEAST_RUN


@pytest.mark.long
def test_many_statements_mean_the_same_after_they_were_a_tree(twins: Twins) -> None:
    changed, ran = compare(twins, range(SHORT, LONG))

    assert changed == []
    assert ran > (LONG - SHORT) * LEAST_RUN


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'a\0b' = 'a'",
        "SELECT length('\0')",
        'SELECT 1 AS "a\0b"',
        "SELECT {'a\0b': 1}",
        "SELECT $$a\0$$",
        "SELECT 1 -- \0",
        "EXPLAIN SELECT 'a\0b'",
    ],
)
def test_a_nul_character_is_refused_since_a_tree_ends_a_text_there(sql: str) -> None:
    with pytest.raises(StatementRefusedError, match=r"chr\(0\)"):
        parse_statement(sql, ())


def test_a_nul_character_that_a_function_makes_is_kept(twins: Twins) -> None:
    sql = "SELECT 'a' || chr(0) || 'b' = 'a', length('a' || chr(0) || 'b')"

    assert twins.views.sql(parse_statement(sql, ()).sql).fetchall() == [(False, 3)]


@pytest.mark.parametrize("escaped", [r"E'a\0b'", r"E'a\x00b'", r"E'a\u0000b'", r"E'a\000b'", r"U&'a\0000b'"])
def test_no_escape_brings_a_nul_character_into_a_tree(twins: Twins, escaped: str) -> None:
    sql = f"SELECT length({escaped})"
    expected = answer_of(twins.plain, sql)

    try:
        found = answer_of(twins.views, parse_statement(sql, ()).sql)
    except SqlError:
        found = None

    assert found == expected or found is None
