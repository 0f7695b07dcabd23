"""SQL over federated tables by an embedded DuckDB: milliseconds, one process.

`statement` decides what may run and which tables it reads; `query` takes one
cut per table, and `execution` runs it.
"""

from federation.engine.execution import Limits
from federation.engine.query import Answer, run_query
from federation.engine.statement import Statement, parse_statement
from federation.engine.watched import StatementProgress, Watched

__all__ = [
    "Answer",
    "Limits",
    "Statement",
    "StatementProgress",
    "Watched",
    "parse_statement",
    "run_query",
]
