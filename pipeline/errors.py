"""What can go wrong in a pipeline beyond what its parts already say.

The errors of reading and committing pass through as they are; these are about the job itself.

    PipelineError
     ├ FencedError             external
     └ FreezeOptionError       user
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["user", "external", "internal"]


class PipelineError(Exception):
    """A job did not do what it was started for. `details` holds the values named."""

    code: ClassVar[str] = "PIPELINE_ERROR"
    kind: ClassVar[Kind] = "internal"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.details = details


class FencedError(PipelineError):
    """The table has moved on since this job took its cut; the job landed nothing."""

    code = "FREEZE_FENCED"
    kind: ClassVar[Kind] = "external"


class FreezeOptionError(PipelineError, ValueError):
    """The options name something that cannot be frozen into, such as an old snapshot."""

    code = "FREEZE_OPTION"
    kind: ClassVar[Kind] = "user"
