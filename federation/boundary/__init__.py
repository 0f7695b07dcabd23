"""Who knows what is committed: one resolver per kind of writer.

`resolve_boundary` chooses one and asks it; each answers with the same kind of
`CommittedOffsets`, and raises `BoundaryUnknownError` rather than guess.
"""

from federation.boundary.committed import CommittedOffsets, Confidence
from federation.boundary.resolve import resolve_boundary
from federation.boundary.summary import PIN_TAG, PROPERTY, parse_offsets, render_offsets
from federation.boundary.whole_log import begin_again, begin_at_log_start

__all__ = [
    "PIN_TAG",
    "PROPERTY",
    "CommittedOffsets",
    "Confidence",
    "begin_again",
    "begin_at_log_start",
    "parse_offsets",
    "render_offsets",
    "resolve_boundary",
]
