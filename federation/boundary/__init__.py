"""Who knows what is committed: one resolver per kind of writer.

`resolve_boundary` chooses one and asks it; each answers with the same kind of
`CommittedOffsets`, and raises `BoundaryUnknownError` rather than guess.
"""

from federation.boundary.assumptions import Assumption, Basis, Confidence, confidence_of, in_order
from federation.boundary.columns import KafkaLayout, layout_of
from federation.boundary.committed import CommittedOffsets
from federation.boundary.connect import CONNECT_OFFSETS_PREFIX
from federation.boundary.evidence import isolation_of
from federation.boundary.flink import FLINK_CHECKPOINT_ID, FLINK_JOB_ID, FLINK_OPERATOR_ID
from federation.boundary.offset_set import EMPTY, Spans, span, union
from federation.boundary.property import OFFSETS_PROPERTY, PIN_TAG, parse_offsets, render_offsets
from federation.boundary.redpanda import REDPANDA_MARK
from federation.boundary.resolve import epoch_unit_of, marks_of, resolve_boundary
from federation.boundary.spark import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.boundary.whole_log import begin_again, begin_at_log_start

__all__ = [
    "CONNECT_OFFSETS_PREFIX",
    "EMPTY",
    "FLINK_CHECKPOINT_ID",
    "FLINK_JOB_ID",
    "FLINK_OPERATOR_ID",
    "OFFSETS_PROPERTY",
    "PIN_TAG",
    "REDPANDA_MARK",
    "SPARK_EPOCH_ID",
    "SPARK_QUERY_ID",
    "Assumption",
    "Basis",
    "CommittedOffsets",
    "Confidence",
    "KafkaLayout",
    "Spans",
    "begin_again",
    "begin_at_log_start",
    "confidence_of",
    "epoch_unit_of",
    "in_order",
    "isolation_of",
    "layout_of",
    "marks_of",
    "parse_offsets",
    "render_offsets",
    "resolve_boundary",
    "span",
    "union",
]
