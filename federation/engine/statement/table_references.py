"""Check a syntax tree node by node, and make it read the engine's views.

DuckDB's tree of a SELECT is walked with the names of CTEs in scope. Each table
it names must be registered and is replaced by the view of that table, under
the alias that DuckDB would have given it; what reaches outside of a
statement's rows is refused. The tree is changed in place and nothing is run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from federation.engine.statement.syntax_tree import nodes_of
from federation.errors import SqlError, StatementRefusedError
from federation.options import Part

# What a query may be made of, at its top or as a CTE. A CTE may also write: tables, and files.
_QUERIES: Final = frozenset({"CTE_NODE", "RECURSIVE_CTE_NODE", "SELECT_NODE", "SET_OPERATION_NODE"})
# Functions in FROM that make rows out of nothing but their arguments.
_TABLE_FUNCTIONS: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
# Functions that look at, write to or run something outside of the statement's rows.
_REFUSED_FUNCTIONS: Final = frozenset(
    {
        "current_setting",
        "getenv",
        "getvariable",
        "json_execute_serialized_sql",
        "json_serialize_plan",
        "pg_sleep",
        "query",
        "query_table",
        "sleep_ms",
        "write_log",
    }
)


def rewrite_tables(tree: dict[str, Any], tables: Collection[str]) -> set[str]:
    """Replace the tables that a tree names by the engine's views.

    Args:
        tree: What `json_serialize_sql` answers; changed in place.
        tables: Names of the registered tables, `namespace.name`; each may be followed by
            the name of a part.

    Returns:
        The registered tables and parts of them that the tree reads.

    Raises:
        SqlError: A table is not registered, or a name is ambiguous.
        StatementRefusedError: A node may not be used here.
    """
    rewriter = _Rewriter(tables)
    rewriter.visit(tree)
    return {name for name, _ in rewriter.references}


class _Rewriter:
    """Walks a syntax tree: first every node is checked, then names are replaced."""

    def __init__(self, tables: Collection[str]) -> None:
        # The tables that are read, each with its node.
        self.references: list[tuple[str, dict[str, Any]]] = []
        self._tables = sorted(tables)
        named = [part.of(table) for part in Part for table in tables]
        self._by_name = {name.lower(): name for name in named}
        self._by_last: dict[str, list[str]] = {}
        for name in named:
            self._by_last.setdefault(_last(name), []).append(name)

    def visit(self, tree: dict[str, Any]) -> None:
        others: set[str] = set()
        for node, ctes in _scoped(tree):
            self._check(node)
            others |= ctes
            if "class" not in node and node.get("alias"):
                others.add(str(node["alias"]).lower())
            if node.get("type") == "BASE_TABLE":
                self._table(node, ctes)
        unaliased = {name for name, node in self.references if not node.get("alias")}
        clashing = self._clashing(tree, unaliased, others)
        for name, node in self.references:
            if not node.get("alias"):
                node["alias"] = name if _last(name) in clashing else name.rsplit(".", 1)[-1]
            node.update(catalog_name="", schema_name="", table_name=name, qualified_name={"path": [name]})
        for node in nodes_of(tree):
            if node.get("class") == "COLUMN_REF":
                node["column_names"] = self._column(node["column_names"], unaliased, others, clashing)

    def _check(self, node: dict[str, Any]) -> None:
        kind = node.get("type")
        if str(kind).endswith("_NODE") and kind not in _QUERIES:
            said = str(kind).removesuffix("_NODE").removesuffix("_QUERY")
            raise StatementRefusedError(f"only SELECT may run, also as a CTE, not {said}")
        if kind == "SHOW_REF" and node.get("query") is None:
            raise StatementRefusedError("only DESCRIBE and SUMMARIZE of a table or SELECT may run, not SHOW")
        if kind == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            if name not in _TABLE_FUNCTIONS:
                raise StatementRefusedError(f"table function {name!r} may not be used here")
        elif str(node.get("function_name", "")).lower() in _REFUSED_FUNCTIONS:
            raise StatementRefusedError(f"function {node['function_name']!r} may not be used here")

    def _table(self, node: dict[str, Any], ctes: frozenset[str]) -> None:
        path = [node.get(key, "") for key in ("catalog_name", "schema_name", "table_name")]
        written = ".".join(part for part in path if part)
        # A CTE's name is one word, whatever dots it is quoted with.
        if not path[0] and not path[1] and _folded(written) in ctes:
            return
        if node.get("at_clause") is not None:
            raise StatementRefusedError(
                "AT (VERSION | TIMESTAMP) is not supported yet; read an older cut by its token"
            )
        self.references.append((self._resolve(written), node))

    def _resolve(self, written: str) -> str:
        if written.lower() in self._by_name:
            return self._by_name[written.lower()]
        candidates = self._by_last.get(written.lower(), [])
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise SqlError(f"table name {written!r} is ambiguous: {', '.join(sorted(candidates))}")
        known = ", ".join(self._tables) or "none"
        raise SqlError(f"there is no table {written!r}; registered tables: {known}", table=written)

    def _clashing(self, tree: dict[str, Any], unaliased: set[str], others: set[str]) -> set[str]:
        """Return the short names that do not tell one table from everything else.

        Such tables are known by their full names, so nothing may use the short one.
        """
        shorts = [_last(name) for name in unaliased]
        nodes = list(nodes_of(tree))
        refs = [node["column_names"] for node in nodes if node.get("class") == "COLUMN_REF"]
        qualified = {_last(name) for names in refs if (name := self._qualifier(names, unaliased)) is not None}
        clashing = {short for short in shorts if shorts.count(short) > 1}
        clashing |= {short for short in qualified if short in others}
        starred = [str(node.get("relation_name", "")) for node in nodes if node.get("class") == "STAR"]
        used = {names[0].lower() for names in refs if len(names) > 1} | {name.lower() for name in starred}
        for short in clashing & used:
            raise StatementRefusedError(
                f"{short!r} may mean more than one table here; give the tables aliases, and use those"
            )
        return clashing

    def _qualifier(self, names: list[str], unaliased: set[str]) -> str | None:
        for length in range(len(names) - 1, 1, -1):
            name = self._by_name.get(".".join(names[:length]).lower())
            if name in unaliased:
                return name
        return None

    def _column(
        self, names: list[str], unaliased: set[str], others: set[str], clashing: set[str]
    ) -> list[str]:
        name = self._qualifier(names, unaliased)
        if name is None:
            return names
        if names[0].lower() in others:
            raise StatementRefusedError(
                f"{'.'.join(names)!r} may mean a column of table {name!r} or of {names[0]!r}; give "
                "the table an alias"
            )
        rest = names[len(name.split(".")) :]
        return [name if _last(name) in clashing else name.rsplit(".", 1)[-1], *rest]


def _folded(name: str) -> str:
    # As the engine compares names: the Kelvin sign is no k to it, and what it finds no CTE for is a table.
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _last(name: str) -> str:
    return name.lower().rsplit(".", 1)[-1]


def _scoped(tree: Any) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    # A name that is a CTE's in one place is no table's there, and may be one's elsewhere.
    pending: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, seen = pending.pop()
        if isinstance(node, list):
            pending.extend((item, seen) for item in node)
        elif isinstance(node, dict):
            # A CTE is seen by those after it and by the body.
            for entry in (node.get("cte_map") or {}).get("map", []):
                pending.append((entry["value"], seen))
                seen |= {_folded(str(entry["key"]))}
            yield node, seen
            # The second part of a recursive one sees itself; to the first, its name may be a table's.
            is_recursive = node.get("type") == "RECURSIVE_CTE_NODE"
            itself = {_folded(str(node["cte_name"]))} if is_recursive else frozenset()
            pending.extend(
                (value, seen | itself if key == "right" else seen)
                for key, value in node.items()
                if key != "cte_map"
            )
