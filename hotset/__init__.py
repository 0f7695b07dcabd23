"""The hotset: what a Kafka topic holds beyond the last commit, as Arrow.

This package reads bounds and exact offset ranges and decodes records against
an Arrow schema. It knows nothing of Iceberg, of cuts or of engines.
"""

from hotset.bounds import read_log_bounds, require_topic_id
from hotset.client import KafkaClient, connect
from hotset.deadline import Deadline
from hotset.drain import drain
from hotset.errors import HotsetError
from hotset.history import require_history
from hotset.native import Native, native_available
from hotset.offsets import Isolation, LogBounds, OffsetRange, PartitionBounds
from hotset.source import RAW_SCHEMA, DrainLimits

__all__ = [
    "RAW_SCHEMA",
    "Deadline",
    "DrainLimits",
    "HotsetError",
    "Isolation",
    "KafkaClient",
    "LogBounds",
    "Native",
    "OffsetRange",
    "PartitionBounds",
    "connect",
    "drain",
    "native_available",
    "read_log_bounds",
    "require_history",
    "require_topic_id",
]
