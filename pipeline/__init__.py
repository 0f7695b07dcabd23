"""Spark jobs that move records from the hot half to the cold one.

A job takes a cut, writes files on executors and commits once, under a fence.
It knows nothing of HTTP. Its face can be imported without the extra `spark`, which `pipeline.session` needs.
"""

from pipeline.errors import FencedError, PipelineError
from pipeline.freeze import FreezeResult, freeze_once

__all__ = ["FencedError", "FreezeResult", "PipelineError", "freeze_once"]
