"""Random SELECT statements over two small tables, by seed, to see what becomes of them as trees.

A statement is made by the grammar in `select.grammar`: a name in angle brackets stands for a line of its
rule. Rules in capitals are types, so that most expressions bind; their literals are at their limits, with
quotes and Unicode. Functions are those that the engine tells of.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb

from federation.engine.statement.table_references import _REFUSED_FUNCTIONS

TABLES: Final = {
    "lake.orders": 'SELECT i AS id, i % 4 AS cust, i / 3 AS price, (i * 1.5)::DECIMAL(9,2) AS "Am\'t", '
    '\'n\' || i AS name, i % 3 = 0 AS "is ""good""", DATE \'2026-01-01\' + i::INTEGER AS day, '
    "[i, i + 1] AS \"li.st\", {'x': i, 'y z': 's' || i} AS \"größe\", NULL::INTEGER AS \"select\" "
    "FROM range(10) t(i)",
    'lake.cu"st': "SELECT i AS cust, 'c' || i AS label FROM range(3) t(i)",
}

_GRAMMAR: Final = Path(__file__).with_name("select.grammar")
_DEEPEST: Final = 4
_NAME: Final = re.compile(r"<(\w+)>")


def read_grammar() -> dict[str, list[str]]:
    """Return the lines of each rule."""
    rules: dict[str, list[str]] = {}
    heads: list[str] = []
    for line in _GRAMMAR.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            for name in heads:
                rules.setdefault(name, []).append("" if line == "    ." else line.strip())
        elif not line.startswith("#"):
            heads = line.split()
    return rules


class Grammar:
    """Makes statements; the same seed makes the same ones.

    Args:
        functions: What `scalar_functions` answers.
    """

    def __init__(self, functions: Sequence[tuple[str, Sequence[str]]]) -> None:
        self._functions = functions
        self._lines = read_grammar()
        self._types = [name for name in self._lines if name.isupper() and name.isalpha()]
        self._lines["any"] = [f"<{kind}>" for kind in self._types]
        self._branches = {
            kind: [line.replace("<K>", f"<{kind}>") for line in self._lines["+"]]
            + self._lines.get(f"+{kind}", ["<function>"])
            for kind in self._types
        }

    def statement(self, seed: int) -> str:
        """Return the statement of a seed."""
        return self._expand("statement", random.Random(seed), 0)

    def _expand(self, name: str, chance: random.Random, depth: int) -> str:
        if name == "function":
            line = self._call(chance)
        else:
            is_deeper = name in self._branches and depth < _DEEPEST and chance.random() < 0.6
            line = chance.choice((self._branches if is_deeper else self._lines)[name])
        below = depth + (name in self._branches)
        return _NAME.sub(lambda found: self._expand(found[1], chance, below), line)

    def _call(self, chance: random.Random) -> str:
        function, kinds = chance.choice(self._functions)
        known = (_KINDS.get(kind, kind) for kind in kinds)
        arguments = (f"<{kind}>" if kind in self._types else "<any>" for kind in known)
        return f"{function}({', '.join(arguments)})"


def scalar_functions(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, list[str]]]:
    """Return the engine's scalar functions as they are written, each with the types of its arguments.

    Those that look at a clock or at their connection are left out, and those whose answers may be long.
    """
    rows = connection.execute(
        "SELECT DISTINCT function_name, parameter_types FROM duckdb_functions() "
        "WHERE function_type = 'scalar' AND stability = 'CONSISTENT' ORDER BY ALL"
    ).fetchall()
    return [
        (f'"{name}"', [str(kind) for kind in kinds])
        for name, kinds in rows
        if re.fullmatch(r"[a-z_]\w*", name) and not name.startswith("current_") and name not in _LEFT_OUT
    ]


_LONG: Final = frozenset({"generate_series", "lpad", "range", "repeat", "rpad"})
# All that touches its connection and that the engine calls consistent all the same.
_OF_CONNECTION: Final = frozenset(
    {"currval", "nextval", "setseed", "setval", "sleep_ms", "stats", "vector_type", "write_log"}
)
_LEFT_OUT: Final = _OF_CONNECTION | _REFUSED_FUNCTIONS | _LONG | {"error"}
_KINDS: Final = {
    **dict.fromkeys(("ANY[]", "T[]", "BIGINT[]"), "LIST"),
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ",
    "TIME WITH TIME ZONE": "TIME",
}
