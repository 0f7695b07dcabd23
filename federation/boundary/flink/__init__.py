"""The boundary of tables that Flink fills.

`resolve_flink` finds the checkpoint of a snapshot; the other files read its format.
"""

from federation.boundary.flink.flink_commits import FLINK_CHECKPOINT_ID, FLINK_JOB_ID, FLINK_OPERATOR_ID
from federation.boundary.flink.flink_resolver import resolve_flink

__all__ = ["FLINK_CHECKPOINT_ID", "FLINK_JOB_ID", "FLINK_OPERATOR_ID", "resolve_flink"]
