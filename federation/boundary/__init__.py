"""Who knows what is committed: one resolver per kind of writer.

Every resolver has the same face, `(pinned table) -> CommittedOffsets`, and
raises `BoundaryUnknownError` rather than guess. This release has one.
"""

from federation.boundary.committed import CommittedOffsets, Confidence
from federation.boundary.summary import PIN_TAG, PROPERTY, parse_offsets, render_offsets, resolve_summary

__all__ = [
    "PIN_TAG",
    "PROPERTY",
    "CommittedOffsets",
    "Confidence",
    "parse_offsets",
    "render_offsets",
    "resolve_summary",
]
