"""The boundary of tables that Flink fills.

`resolve_flink` finds the checkpoint of a snapshot; the other files read its format.
"""

from federation.boundary.flink.flink_resolver import CHECKPOINT_ID, JOB_ID, OPERATOR_ID, resolve_flink

__all__ = ["CHECKPOINT_ID", "JOB_ID", "OPERATOR_ID", "resolve_flink"]
