"""What can go wrong in a pipeline beyond what its parts already say.

The errors of reading and committing pass through as they are; these are about the job itself.

    PipelineError
     ├ FencedError             external
     └ FreezeOptionError       user
"""

from __future__ import annotations

from foundation.errors import KafkaIcebergError


class PipelineError(KafkaIcebergError):
    """A job did not do what it was started for."""

    code = "PIPELINE_ERROR"


class FencedError(PipelineError):
    """The table has moved on since this job took its cut; the job landed nothing."""

    code = "FREEZE_FENCED"
    kind = "external"


class FreezeOptionError(PipelineError, ValueError):
    """The options name something that cannot be frozen into, such as an old snapshot."""

    code = "FREEZE_OPTION"
    kind = "user"
