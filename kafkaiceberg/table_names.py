"""Where a statement of Spark's SQL names federated tables, found without changing anything else of its text.

sqlglot parses the statement and says where names are; what it does not understand is refused, since a name
that was not found would be looked up by Spark as somebody else's table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from federation.errors import SqlError


@dataclass(frozen=True, slots=True, order=True)
class NamedTable:
    """One place in a statement, `[start, end)`, where a table is named.

    Attributes:
        table: The table's name.
        alias: What to call it if the statement gives it no other name; empty if it does, or for a column.
    """

    start: int
    end: int
    table: str
    alias: str


@dataclass(frozen=True, slots=True)
class FoundTables:
    """All places of a statement where federated tables are named."""

    places: tuple[NamedTable, ...]

    @property
    def tables(self) -> frozenset[str]:
        """The tables' names."""
        return frozenset(place.table for place in self.places)


def find_tables(statement: str, known: Collection[str], catalog: str) -> FoundTables:
    """Return where a statement names tables.

    Args:
        statement: The statement, in Spark's SQL.
        known: The tables' names.
        catalog: What may stand before a name.

    Raises:
        SqlError: It cannot be parsed.
    """
    by_name = {name.lower(): name for name in known}
    try:
        [tree] = sqlglot.parse(statement, dialect="spark")
    except (SqlglotError, ValueError) as exc:
        raise SqlError(
            f"the tables of the statement cannot be found ({exc}); read them with kafkaiceberg.spark.table, "
            "and make views of the frames"
        ) from exc
    places = set()
    for node in tree.find_all(exp.Table, exp.Column) if tree is not None else ():
        parts = [part for part in (node.args.get("catalog"), node.args.get("db")) if part is not None]
        named = node.this if isinstance(node, exp.Table) else node.args.get("table")
        if not parts or not isinstance(named, exp.Identifier):
            continue
        names = [part.name for part in (*parts, named)]
        name = by_name.get(".".join(names[1:] if names[0].lower() == catalog else names).lower())
        if name is None:
            continue
        is_table = isinstance(node, exp.Table)
        alias = "" if not is_table or node.alias else named.name
        places.add(NamedTable(parts[0].meta["start"], named.meta["end"] + 1, name, alias))
    return FoundTables(tuple(sorted(places)))


def name_frames(statement: str, found: FoundTables, frames: Mapping[str, str]) -> str:
    """Return a statement for `spark.sql` in which tables are frames.

    Args:
        statement: The statement.
        found: Where it names tables.
        frames: What the frame of each table is called.
    """
    parts, at = [], 0
    for place in found.places:
        parts.append(_escaped(statement[at : place.start]))
        alias = place.alias.replace("`", "``")
        is_column = statement[place.end :].lstrip().startswith(".")
        if is_column:
            parts.append(_escaped(f"`{place.table.rpartition('.')[2]}`"))
        else:
            parts.append(f"{{{frames[place.table]}}}" + (_escaped(f" AS `{alias}`") if alias else ""))
        at = place.end
    return "".join([*parts, _escaped(statement[at:])])


def _escaped(text: str) -> str:
    # The text becomes a format string, in which braces are frames.
    return text.replace("{", "{{").replace("}", "}}")
