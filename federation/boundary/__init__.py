"""Who knows what is committed: one resolver per kind of writer.

`resolve_boundary` chooses one and asks it; each answers with the same kind of
`CommittedOffsets`, and raises `BoundaryUnknownError` rather than guess.
"""

from federation.boundary.committed import CommittedOffsets, Confidence
from federation.boundary.resolve import resolve_boundary
from federation.boundary.summary import PIN_TAG, PROPERTY, parse_offsets, render_offsets

__all__ = [
    "PIN_TAG",
    "PROPERTY",
    "CommittedOffsets",
    "Confidence",
    "parse_offsets",
    "render_offsets",
    "resolve_boundary",
]
