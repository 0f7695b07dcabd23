"""The text of a statement: whether it may run, which tables it names, and what its syntax tree tells.

Nothing is run here.
"""

from federation.engine.statement.statement import Statement, parse_condition, parse_statement

__all__ = ["Statement", "parse_condition", "parse_statement"]
