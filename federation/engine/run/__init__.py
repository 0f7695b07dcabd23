"""Run a statement over cuts: views, rows, limits and progress.

What it may say was decided in `statement`.
"""

from federation.engine.run.execution import Limits
from federation.engine.run.progress import Watched
from federation.engine.run.query import Answer, run_query

__all__ = ["Answer", "Limits", "Watched", "run_query"]
