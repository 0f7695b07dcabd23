"""Who knows what is committed: one resolver per kind of writer.

`resolve_boundary` chooses one and asks it; each answers with the same kind of
`CommittedOffsets`, and raises `BoundaryUnknownError` rather than guess.
"""

from federation.boundary.columns import KafkaLayout, layout_of
from federation.boundary.committed import CommittedOffsets, Confidence
from federation.boundary.connect import PREFIX
from federation.boundary.flink import CHECKPOINT_ID, JOB_ID, OPERATOR_ID
from federation.boundary.offset_set import EMPTY, Spans, span, union
from federation.boundary.property import PIN_TAG, PROPERTY, parse_offsets, render_offsets
from federation.boundary.redpanda import MARK
from federation.boundary.resolve import marks_of, resolve_boundary
from federation.boundary.spark import EPOCH_ID, QUERY_ID
from federation.boundary.whole_log import begin_again, begin_at_log_start

__all__ = [
    "CHECKPOINT_ID",
    "EMPTY",
    "EPOCH_ID",
    "JOB_ID",
    "MARK",
    "OPERATOR_ID",
    "PIN_TAG",
    "PREFIX",
    "PROPERTY",
    "QUERY_ID",
    "CommittedOffsets",
    "Confidence",
    "KafkaLayout",
    "Spans",
    "begin_again",
    "begin_at_log_start",
    "layout_of",
    "marks_of",
    "parse_offsets",
    "render_offsets",
    "resolve_boundary",
    "span",
    "union",
]
