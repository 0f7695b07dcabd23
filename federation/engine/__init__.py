"""SQL over federated tables by an embedded DuckDB: milliseconds, one process.

`statement` decides what may run and which tables it reads, `lookahead` what it looks at in them; `run` takes
one cut per table and runs it.
"""

from federation.engine.lookahead import bounds_of
from federation.engine.row_filter import RowFilter, plan_filter
from federation.engine.run import Answer, Limits, Watched, run_query

__all__ = ["Answer", "Limits", "RowFilter", "Watched", "bounds_of", "plan_filter", "run_query"]
