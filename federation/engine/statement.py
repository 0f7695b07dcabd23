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
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from federation.errors import SqlError, StatementRefusedError

MAX_SQL_BYTES: Final = 1 << 20

# Functions in FROM that make rows out of nothing but their arguments.
_TABLE_FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
# Functions that look at, write to or run something outside of the statement's rows.
_REFUSED_FUNCTIONS: Final = frozenset(
    {
        "current_setting",
        "getenv",
        "getvariable",
        "json_execute_serialized_sql",
        "query",
        "query_table",
        "write_log",
    }
)
_EXPLAIN: Final = re.compile(r"^\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run.

    Attributes:
        sql: The statement over the engine's views.
        tables: Names of the registered tables it reads.
        is_explain: Whether it asks for the plan only.
    """

    sql: str
    tables: tuple[str, ...]
    is_explain: bool


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
    if len(sql.encode()) > MAX_SQL_BYTES:
        raise StatementRefusedError(f"the statement is longer than {MAX_SQL_BYTES} bytes")
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
    rewriter = _Rewriter(tables)
    rewriter.visit(tree)
    rewritten = _call("SELECT to_json(json_deserialize_sql(?::JSON))", json.dumps(tree))
    return Statement(str(rewritten), tuple(sorted(rewriter.found)), is_explain)


class _Rewriter:
    """Walks a syntax tree once: checks every node, and names the engine's views."""

    def __init__(self, tables: Collection[str]) -> None:
        self.found: set[str] = set()
        self._by_name = {name.lower(): name for name in tables}
        self._by_last: dict[str, list[str]] = {}
        for name in tables:
            self._by_last.setdefault(name.lower().rsplit(".", 1)[-1], []).append(name)

    def visit(self, tree: dict[str, Any]) -> None:
        for node, ctes in _scoped(tree):
            kind = node.get("type")
            if kind == "BASE_TABLE":
                self._table(node, ctes)
            elif kind == "SHOW_REF" and node.get("query") is None:
                raise StatementRefusedError(
                    "only DESCRIBE and SUMMARIZE of a table or SELECT may run, not SHOW"
                )
            elif kind == "TABLE_FUNCTION":
                name = str(node["function"].get("function_name", "")).lower()
                if name not in _TABLE_FUNCTIONS:
                    raise StatementRefusedError(f"table function {name!r} may not be used here")
            elif str(node.get("function_name", "")).lower() in _REFUSED_FUNCTIONS:
                raise StatementRefusedError(f"function {node['function_name']!r} may not be used here")
        for node in _nodes(tree):
            if node.get("class") == "COLUMN_REF":
                node["column_names"] = self._column(node["column_names"])

    def _table(self, node: dict[str, Any], ctes: frozenset[str]) -> None:
        path = [node.get(key, "") for key in ("catalog_name", "schema_name", "table_name")]
        written = ".".join(part for part in path if part)
        # A CTE's name is one word, whatever dots it is quoted with.
        if not path[0] and not path[1] and written.lower() in ctes:
            return
        if node.get("at_clause") is not None:
            raise StatementRefusedError(
                "AT (VERSION | TIMESTAMP) is not supported yet; read an older cut by its token"
            )
        name = self._resolve(written)
        self.found.add(name)
        if not node.get("alias"):
            node["alias"] = name.rsplit(".", 1)[-1]
        node.update(catalog_name="", schema_name="", table_name=name, qualified_name={"path": [name]})

    def _resolve(self, written: str) -> str:
        if written.lower() in self._by_name:
            return self._by_name[written.lower()]
        candidates = self._by_last.get(written.lower(), [])
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise SqlError(f"table name {written!r} is ambiguous: {', '.join(sorted(candidates))}")
        known = ", ".join(sorted(self._by_name.values())) or "none"
        raise SqlError(f"there is no table {written!r}; registered tables: {known}", table=written)

    def _column(self, names: list[str]) -> list[str]:
        for length in range(len(names) - 1, 1, -1):
            if ".".join(names[:length]).lower() in self._by_name:
                return names[length - 1 :]
        return names


def _scoped(tree: Any) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    # A name that is a CTE's in one place is no table's there, and may be one's elsewhere.
    pending: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, seen = pending.pop()
        if isinstance(node, list):
            pending.extend((item, seen) for item in node)
        elif isinstance(node, dict):
            # A CTE is seen by those after it and by the body, and by itself if it is recursive.
            for entry in (node.get("cte_map") or {}).get("map", []):
                name = frozenset({str(entry["key"]).lower()})
                is_recursive = entry["value"]["query_node"]["type"] == "RECURSIVE_CTE_NODE"
                pending.append((entry["value"], seen | name if is_recursive else seen))
                seen |= name
            yield node, seen
            pending.extend((value, seen) for key, value in node.items() if key != "cte_map")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


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
    return json.loads(row[0])
