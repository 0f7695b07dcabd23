"""What a statement will look at in its tables: which columns, and rows of which kind.

Before anything is read, the statement is planned over tables that are streams
of nothing, whose columns have names that no statement can guess. So the plan
says of each scan whose it is and by what it is filtered, however the statement
names and joins things. The form of a plan is no stable interface of DuckDB,
which is why its version is fixed; what is not found in one is looked at whole.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyarrow.types import is_integer

from coldset.files import quoted
from coldset.prune import Predicate, any_of
from federation.engine.arrow_stream import Stream
from federation.engine.lookahead.conditions import condition_of, tree_of

_PLANNED: Final = "planned"
# So many values of an IN the planner shows by itself; of more it only says that there are some.
_SHOWN: Final = 4
_MOST_SPELLED: Final = 200
# What could make a name in a plan read as something else than a name.
_ODD: Final = re.compile(r"[()'\"\\;\n]|--|/\*")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a statement will look at in one table.

    Attributes:
        is_scanned: Whether it looks at the table's rows at all.
        columns: The columns it looks at; they may be none if rows are only counted.
        where: Rows for which this is not true do not matter; None if all may.
    """

    is_scanned: bool
    columns: tuple[str, ...]
    where: Predicate | None


class Lookout:
    """Tables as a planner sees them before anything is read."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        tables: Mapping[str, pa.Schema],
        others: Collection[str] = (),
    ) -> None:
        """Show tables on a cursor, under their names, until something else is shown there.

        Args:
            cursor: Where the statement will run.
            tables: The columns of each table.
            others: Columns of other streams that are shown already.

        Raises:
            duckdb.Error: The engine refused (a mistake of ours).
        """
        self._cursor = cursor
        self._columns: dict[str, tuple[str, str | None]] = {}
        self._whole: set[str] = set()
        self._tables = tables
        self._others = frozenset(others)
        token = f"k{secrets.token_hex(8)}"
        for number, (name, schema) in enumerate(tables.items()):
            hidden = [f"{token}_{number}_{place}" for place in range(len(schema))]
            self._columns.update((h, (name, column)) for h, column in zip(hidden, schema.names, strict=True))
            self._whole.update(h for h, kind in zip(hidden, schema.types, strict=True) if is_integer(kind))
            # Who only counts rows is given the first column by the planner, which is none of the table's.
            rows = f"{token}_{number}"
            self._columns[rows] = (name, None)
            stream = f"{name} ({_PLANNED})"
            fields = zip([rows, *hidden], [pa.bool_(), *schema.types], strict=True)
            cursor.register(stream, Stream(pa.schema(fields), lambda: iter(())))
            shown = ", ".join(f"{h} AS {quoted(n)}" for h, n in zip(hidden, schema.names, strict=True))
            cursor.execute(
                f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT {shown} FROM {quoted(stream)}"
            )

    def plan(self, sql: str) -> str:
        """Return the plan of a statement over these tables, as JSON.

        Raises:
            duckdb.Error: The statement cannot be planned.
        """
        [row] = self._cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()
        return str(row[1])

    def look(self, sql: str) -> tuple[str, dict[str, Outlook]]:
        """Return the plan of a statement, and what it will look at, by table.

        Raises:
            duckdb.Error: The statement cannot be planned.
        """
        tree = self._parse(sql)
        plan = self.plan(self._spelled(sql, tree))
        names = {hidden: column for hidden, (_, column) in self._columns.items() if column is not None}
        has_odd_names = any(map(_ODD.search, _names(tree))) or any(map(_ODD.search, names.values()))
        conditions: dict[str | None, list[Predicate | None]] = {}
        looked: dict[str, set[str]] = {name: set() for name in self._tables}
        is_understood = True
        for projected, condition in _scans(json.loads(plan)):
            found = [self._columns[each] for each in projected if each in self._columns]
            is_understood &= self._columns.keys() | self._others >= set(projected)
            for name, column in found:
                looked[name].update([] if column is None else [column])
            is_readable = bool(condition) and not has_odd_names
            where = condition_of(condition, names, self._parse, whole=self._whole) if is_readable else None
            # Who only counts rows looks at no column, and so tells not of which table.
            conditions.setdefault(found[0][0] if found else None, []).append(where)
        return plan, {
            name: Outlook(
                is_scanned=name in conditions or None in conditions,
                columns=tuple(c for c in schema.names if c in looked[name] or not is_understood),
                where=None if None in conditions else any_of(conditions.get(name, [])),
            )
            for name, schema in self._tables.items()
        }

    def _spelled(self, sql: str, tree: Any) -> str:
        """Return a statement in which the planner shows what its INs are about."""
        if not _spell(tree):
            return sql
        [row] = self._cursor.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchall()
        return str(row[0])

    def _parse(self, sql: str) -> Any:
        [row] = self._cursor.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
        return tree_of(row[0])


def _scans(plan: Any) -> Iterator[tuple[list[str], str]]:
    """Yield the columns of each scan of a stream, and the condition right above it."""
    pending = [(node, "") for node in plan]
    while pending:
        node, above = pending.pop()
        said = node.get("extra_info", {})
        if "ARROW_SCAN" in node.get("name", ""):
            columns = said.get("Projections", [])
            yield [_top(each) for each in ([columns] if isinstance(columns, str) else columns)], above
        expression = said.get("Expression", "") if node.get("name") == "FILTER" else ""
        # A text with a line end is torn apart in a plan.
        below = expression if isinstance(expression, str) else ""
        pending.extend((child, below) for child in node.get("children", []))


def _top(projected: str) -> str:
    # A field of a struct is written `column.field`.
    return projected.partition(".")[0]


def _names(tree: Any) -> Iterator[str]:
    """Yield every text of a statement's tree but those of constants."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            pending.extend(value for key, value in node.items() if key != "literal")
        elif isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, str):
            yield node


def _spell(tree: Any) -> bool:
    """Put ORs into a tree for INs of a column among values of one type; return whether there are any."""
    pending, is_changed = [tree], False
    while pending:
        node = pending.pop()
        pending.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        if not isinstance(node, dict) or node.get("type") != "COMPARE_IN":
            continue
        column, *values = node["children"]
        is_alike = len({_kind(value) for value in values}) == 1 and _kind(values[0]) is not None
        if column["type"] != "COLUMN_REF" or not _SHOWN < len(values) <= _MOST_SPELLED or not is_alike:
            continue
        equal = {"class": "COMPARISON", "type": "COMPARE_EQUAL", "alias": "", "left": column}
        node.update(
            {"class": "CONJUNCTION", "type": "CONJUNCTION_OR"},
            children=[{**equal, "right": value} for value in values],
        )
        is_changed = True
    return is_changed


def _kind(node: Any) -> str | None:
    """Return the type of a constant, as it is written; None for anything else."""
    if node["type"] == "OPERATOR_CAST" and node["child"]["type"] == "VALUE_CONSTANT":
        return str(node["type_expr"].get("type_name"))
    is_plain = node["type"] == "VALUE_CONSTANT" and node.get("literal", {}).get("kind") in (
        "INTEGER",
        "STRING",
    )
    return str(node["literal"]["kind"]) if is_plain else None
