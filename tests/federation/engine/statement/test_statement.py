"""What a statement may be, and how its tables are found, decided on the syntax tree.

The attacks are those that a locked engine would still let through, and those
that it would not: the gate has to refuse both.
"""

from __future__ import annotations

import pytest

from federation.engine.statement.statement import MAX_SQL_BYTES, parse_statement
from federation.errors import SqlError, StatementRefusedError

TABLES = ("lake.orders", "lake.customers", "shop.orders", "plain")

ATTACKS = [
    # files, network, environment
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/proc/self/environ')",
    "select * from read_blob('/etc/passwd')",
    "select * from read_parquet('s3://x/y')",
    "select * from glob('/*')",
    "select * from sniff_csv('/etc/passwd')",
    "copy (select 1) to 'x'",
    "copy plain from 'x'",
    "export database 'x'",
    "import database 'x'",
    "attach 'x' as y",
    "attach ':memory:' as y",
    "detach y",
    "install httpfs",
    "load httpfs",
    "select getenv('HOME')",
    # the shared engine's state
    "create table t (i int)",
    'create or replace view "lake.orders" as select 1',
    "create temp view v as select 1",
    "create macro m() as 1",
    'drop view "lake.orders"',
    "insert into plain values (1)",
    "update plain set a = 1",
    "delete from plain",
    "alter table plain add column b int",
    "truncate plain",
    "set threads = 1",
    "reset threads",
    "set variable v = 1",
    "pragma database_list",
    "use memory",
    "begin",
    "commit",
    "checkpoint",
    "vacuum",
    "analyze",
    "call pragma_version()",
    "prepare q as select 1",
    "execute q",
    "deallocate q",
    "explain analyze select 1",
    "explain drop view plain",
    "explain explain select 1",
    "pivot plain on a",
    # a CTE that writes
    "with x as (copy (select 1) to '/tmp/x.parquet') select 1",
    "with x as materialized (copy (select 1) to '/tmp/x.parquet') select * from x",
    "with recursive x as (copy (select 1) to '/tmp/x.parquet') select 1",
    "with y as (select 1), x as (copy (from y) to '/tmp/x.parquet') select * from y, x",
    "select (with x as (copy (select 1) to '/tmp/x.parquet') select * from x)",
    "select * from (with x as (copy (select 1) to '/tmp/x.parquet') select * from x)",
    "select 1 union all (with x as (copy (select 1) to '/tmp/x.parquet') select 1)",
    "with x as (with y as (copy (select 1) to '/tmp/x.parquet') select 1) from x",
    "with x as (insert into plain values (1) returning *) select * from x",
    'with x as (insert into "deleted rows" values (1) returning *) select * from x',
    "with x as (update plain set a = 1 returning *) select * from x",
    "with x as (delete from plain returning *) select * from x",
    "with x as (delete from plain) select 1",
    "with x as (truncate plain) select 1",
    "explain with x as (copy (select 1) to '/tmp/x.parquet') select 1",
    # looking at the engine, or running text as a statement
    "select * from query('select 1')",
    "select * from query_table('plain')",
    "select * from main.query('select 1')",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from pragma_table_info('plain')",
    "select * from json_execute_serialized_sql('x')",
    "select current_setting('threads')",
    "select main.current_setting('threads')",
    "select CURRENT_SETTING('threads')",
    "select getvariable('v')",
    "select write_log('x')",
    "select (select current_setting('threads'))",
    "with x as (select current_setting('threads')) select * from x",
    "select * from plain where exists (select 1 from read_csv('x'))",
    "select * from plain order by getenv('HOME')",
    "select * from plain at (version => 1)",
    "show tables",
    "show all tables",
    "show databases",
    # more or fewer than one
    "",
    ";",
    "-- nothing",
    "select 1; select 2",
    "select 1; drop view plain",
]

NO_SUCH_TABLE = [
    "select * from '/etc/passwd'",
    "select * from 'x.parquet'",
    'select * from "/etc/passwd"',
    "select * from information_schema.tables",
    "select * from pg_catalog.pg_class",
    "select * from duckdb_tables",
    "select * from sqlite_master",
    "select * from main.sqlite_master",
    "select * from system.information_schema.tables",
    'select * from "lake.orders (cold)"',
    "from sqlite_master select name",
    "summarize sqlite_master",
    "describe sqlite_master",
    "select 1 where exists (table sqlite_master)",
    # a CTE elsewhere does not make a name one here
    "select * from sqlite_master where exists (with sqlite_master as (select 1) select 1)",
    "(with sqlite_master as (select 1) select 1) union all select name from sqlite_master",
    "with a as (select * from sqlite_master), sqlite_master as (select 1) select * from a",
    "with sqlite_master as (select * from sqlite_master) select * from sqlite_master",
    'with "main.sqlite_master" as (select 1) select * from main.sqlite_master',
    'with "information_schema.tables" as (select 1) select * from information_schema.tables',
    # nor does a recursive one make its name one in its first part
    "with recursive sqlite_master(v) as (with x as (from sqlite_master) select 1 from x union all "
    "select v from sqlite_master) select * from sqlite_master",
    "with recursive sqlite_master(v) as ((select 1 union all from sqlite_master) union all "
    "select v from sqlite_master) select * from sqlite_master",
    # a sign that Unicode has as the capital of k, and the engine has not
    'with "duc\u212adb_tables" as (select 1) select * from duckdb_tables',
    'with "/la\u212ae/1.parquet" as (select 1) select * from "/lake/1.parquet"',
]


@pytest.mark.parametrize("sql", ATTACKS)
def test_what_does_more_than_read_registered_tables_is_refused(sql: str) -> None:
    with pytest.raises((StatementRefusedError, SqlError)) as caught:
        parse_statement(sql, TABLES)

    assert type(caught.value) is StatementRefusedError or "cannot be parsed" in str(caught.value)


@pytest.mark.parametrize("sql", NO_SUCH_TABLE)
def test_nothing_but_a_registered_table_is_found(sql: str) -> None:
    with pytest.raises(SqlError, match="there is no table") as caught:
        parse_statement(sql, TABLES)

    assert "registered tables: lake.customers, lake.orders, plain, shop.orders" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("select 1", ()),
        ("values (1)", ()),
        ("from range(3)", ()),
        ("select * from generate_series(1, 3), unnest([1])", ()),
        ("select * from lake.orders", ("lake.orders",)),
        ("select * from LAKE.Orders", ("lake.orders",)),
        ('select * from "lake"."orders"', ("lake.orders",)),
        ('select * from "lake.orders"', ("lake.orders",)),
        ("select * from plain", ("plain",)),
        ("select * from customers", ("lake.customers",)),
        ("from lake.orders", ("lake.orders",)),
        ("table plain", ("plain",)),
        ("describe lake.orders", ("lake.orders",)),
        ("summarize lake.orders", ("lake.orders",)),
        ("select * from lake.orders o join shop.orders s using (id)", ("lake.orders", "shop.orders")),
        ("select * from lake.orders a, lake.orders b", ("lake.orders",)),
        ("select (select max(id) from plain) from customers", ("lake.customers", "plain")),
        ("select 1 where 1 in (select id from plain)", ("plain",)),
        ("select * from (select * from (select * from plain))", ("plain",)),
        ("select * from plain union all select * from customers", ("lake.customers", "plain")),
        ("with x as (select * from plain) select * from x, x y", ("plain",)),
        ("select * from plain, lateral (select * from customers)", ("lake.customers", "plain")),
        ("unpivot plain on a", ("plain",)),
        ("with recursive r as (select 1 n union all select n + 1 from r where n < 3) from r", ()),
        ("with plain as (select 1) select * from plain", ()),
        ("with plain as (select 1) select * from PLAIN, customers", ("lake.customers",)),
        ("with plain as (select * from plain) select * from plain", ("plain",)),
        ("with orders as (select 1) select * from orders, lake.orders", ("lake.orders",)),
        ("with a as (with plain as (select 1) from plain) select * from a, plain", ("plain",)),
        ("with a as (select 1), b as (from a) select * from b, (with c as (from a) from c)", ()),
    ],
)
def test_tables_are_found_wherever_they_are_named(sql: str, found: tuple[str, ...]) -> None:
    assert parse_statement(sql, TABLES).tables == found


def test_a_last_name_that_two_tables_have_is_ambiguous() -> None:
    with pytest.raises(SqlError, match=r"'orders' is ambiguous: lake\.orders, shop\.orders"):
        parse_statement("select * from orders", TABLES)


def test_tables_become_the_engines_views_under_their_last_names() -> None:
    statement = parse_statement("select lake.orders.id, o.id from lake.orders, shop.orders o", TABLES)

    assert statement.sql == ('SELECT orders.id, o.id FROM "lake.orders" AS orders , "shop.orders" AS o')


def test_quotes_in_a_name_stay_in_the_name() -> None:
    statement = parse_statement('select * from a."b""; drop view x; --"', ['a.b"; drop view x; --'])

    assert statement.sql == 'SELECT * FROM "a.b""; drop view x; --" AS "b""; drop view x; --"'


def test_explain_is_of_the_rewritten_select() -> None:
    statement = parse_statement("  Explain select id from lake.orders", TABLES)

    assert statement.is_explain
    assert statement.sql == 'SELECT id FROM "lake.orders" AS orders'


@pytest.mark.parametrize("sql", ["selec", "select from", "select 1 from", "select 'x", "select ((("])
def test_what_is_no_sql_is_the_users_error(sql: str) -> None:
    with pytest.raises(SqlError, match="cannot be parsed"):
        parse_statement(sql, TABLES)


def test_a_statement_has_a_greatest_length() -> None:
    with pytest.raises(StatementRefusedError, match="may have"):
        parse_statement("select '" + "x" * MAX_SQL_BYTES + "'", TABLES)


def test_a_deep_statement_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(SqlError):
        parse_statement("select " + "(" * 5000 + "1" + ")" * 5000, TABLES)
