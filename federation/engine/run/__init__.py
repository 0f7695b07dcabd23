"""Run a statement over cuts: views, rows, limits and progress.

What it may say was decided in `statement`.
"""

from federation.engine.run.answer import Answer, Limits
from federation.engine.run.engine_errors import translate
from federation.engine.run.instance import open_cursor
from federation.engine.run.progress import Watched
from federation.engine.run.query import run_query

__all__ = ["Answer", "Limits", "Watched", "open_cursor", "run_query", "translate"]
