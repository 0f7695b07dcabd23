"""What a statement may be, and which tables it reads.

SQL comes from anyone, so it is held to one SELECT (or EXPLAIN of one) over
registered tables. DuckDB's own parser gives the syntax tree, so nothing is
judged by pattern; table references in the tree are replaced by the names the
engine gives to its views, and the tree is turned back into SQL. Nothing is
executed or bound here.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from federation.engine.statement.steadiness import changing_names, is_steady
from federation.engine.statement.syntax_tree import nodes_of
from federation.engine.statement.table_references import rewrite_tables
from federation.errors import SqlError, StatementRefusedError
from foundation.lru import LruCache

MAX_SQL_BYTES: Final = 64 * 1024
MAX_NESTING: Final = 200

_BEHIND_CONDITION: Final = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
_PARSED_BYTES: Final = 4 * 1024 * 1024
_NODE_BYTES: Final = 1024
_EXPLAIN: Final = re.compile(r"^\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run.

    Attributes:
        sql: The statement over the engine's views.
        tables: Names of the registered tables it reads, and of parts of them.
        is_explain: Whether it asks for the plan only.
        is_steady: Whether it surely means the same at any time, over tables of the same columns.
    """

    sql: str
    tables: tuple[str, ...]
    is_explain: bool
    is_steady: bool = False


_parsed: Final[LruCache[tuple[str, frozenset[str]], Statement]] = LruCache(
    _PARSED_BYTES, lambda found: _NODE_BYTES + 4 * len(found.sql)
)


def parse_statement(sql: str, tables: Collection[str]) -> Statement:
    """Parse one statement and check that it only reads registered tables.

    Args:
        sql: The user's text.
        tables: Names of the registered tables, `namespace.name`.

    Raises:
        SqlError: It is not valid SQL, or names a table that is not registered.
        StatementRefusedError: It is more than one statement, not a SELECT, or
            uses a function that reaches outside of its rows.
    """
    _require_whole(sql)
    _require_small(sql)
    # What a text means depends on nothing but itself and the names of tables.
    key = (sql, frozenset(tables))
    found = _parsed.get(key)
    if found is None:
        found = _parse(sql, tables)
        _parsed.put(key, found)
    return found


def _parse(sql: str, tables: Collection[str]) -> Statement:
    kind = _only_statement_type(sql)
    is_explain = kind == duckdb.StatementType.EXPLAIN
    if is_explain:
        match = _EXPLAIN.match(sql)
        if match is None or match.group(1):
            raise StatementRefusedError(
                "only EXPLAIN followed by a SELECT may run, without ANALYZE or a comment"
            )
        sql = sql[match.end() :]
        kind = _only_statement_type(sql)
    if kind != duckdb.StatementType.SELECT:
        raise StatementRefusedError(f"only SELECT and EXPLAIN may run, not {kind.name}")
    tree = _call("SELECT json_serialize_sql(?)", sql)
    if tree.get("error"):
        raise SqlError(f"the statement cannot be parsed: {tree.get('error_message')}")
    try:
        found = rewrite_tables(tree, tables)
        rewritten = _call("SELECT to_json(json_deserialize_sql(?::JSON))", json.dumps(tree))
    except RecursionError as exc:
        raise StatementRefusedError("the statement is nested too deeply; simplify it") from exc
    return Statement(str(rewritten), tuple(sorted(found)), is_explain, is_steady(tree))


def parse_condition(expression: str, table: str) -> Statement:
    """Return the statement that selects the rows of a table for which an expression is true.

    Args:
        expression: A condition.
        table: The table's name.

    Raises:
        SqlError: It is not valid SQL.
        StatementRefusedError: It is more than a condition, or uses a function that reaches outside.
    """
    # The line ends keep a comment at its end from hiding what follows.
    text = f"SELECT 1 FROM {table} WHERE (\n{expression}\n)"
    _require_small(text)
    _only_statement_type(text)
    tree = _call("SELECT json_serialize_sql(?)", text)
    node = {} if tree.get("error") else tree["statements"][0]["node"]
    # An expression that closes the bracket before it could go on with anything.
    is_alone = node.get("type") == "SELECT_NODE" and not any(node.get(part) for part in _BEHIND_CONDITION)
    if not tree.get("error") and not is_alone:
        raise StatementRefusedError("a filter is one condition, without anything behind it")
    for part in nodes_of(node):
        if part.get("class") == "SUBQUERY":
            raise StatementRefusedError("a filter is of one row at a time; it has no SELECT in it")
    changing = changing_names(node)
    if changing:
        raise StatementRefusedError(
            f"a filter means the same wherever rows are read; {', '.join(changing)} would not"
        )
    return parse_statement(text, {table})


def _require_whole(sql: str) -> None:
    # On the way from the tree to SQL every text ends at its first NUL character.
    if "\0" in sql:
        raise StatementRefusedError("the statement has a NUL character; write chr(0) in its place")


def _require_small(sql: str) -> None:
    # The parser has no limits of its own, and takes seconds and gigabytes for deep nesting.
    try:
        size_bytes = len(sql.encode())
    except UnicodeEncodeError as exc:
        raise SqlError("the statement is not valid Unicode text") from exc
    if size_bytes > MAX_SQL_BYTES:
        raise StatementRefusedError(f"the statement has {size_bytes} bytes, and may have {MAX_SQL_BYTES}")
    depth = 0
    for character in sql:
        if character in "([{":
            depth += 1
            if depth > MAX_NESTING:
                raise StatementRefusedError(f"the statement has more than {MAX_NESTING} open brackets")
        elif character in ")]}":
            depth -= 1


def _only_statement_type(sql: str) -> duckdb.StatementType:
    try:
        found = duckdb.extract_statements(sql)
    except duckdb.Error as exc:
        raise SqlError(f"the statement cannot be parsed: {exc}") from exc
    if len(found) != 1:
        raise StatementRefusedError(f"exactly one statement may run, not {len(found)}")
    return found[0].type


_lock = threading.Lock()
_parser: list[duckdb.DuckDBPyConnection] = []


def _call(query: str, argument: str) -> Any:
    # One connection that only ever parses; DuckDB's connections are not for two threads at once.
    with _lock:
        if not _parser:
            _parser.append(duckdb.connect(":memory:", config={"enable_external_access": "false"}))
        try:
            row = _parser[0].execute(query, [argument]).fetchone()
        except duckdb.Error as exc:
            raise SqlError(f"the statement cannot be parsed: {exc}") from exc
    assert row is not None
    try:
        return json.loads(row[0])
    except RecursionError as exc:
        raise StatementRefusedError("the statement is nested too deeply; simplify it") from exc
