"""The cluster: one client, offsets and bounds of a log, and errors in our words.

No record is decoded here.
"""

from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.error_translation import (
    GROUP_REFUSED,
    PARTITION_EOF,
    TRANSIENT,
    translate,
    unreadable_header,
)
from hotset.kafka.kafka_properties import ALLOWED_KAFKA_PROPERTIES, SECRET_KAFKA_PROPERTIES
from hotset.kafka.leader_history import is_same_history, require_history
from hotset.kafka.log_bounds import read_log_bounds, require_topic_id
from hotset.kafka.offsets import Isolation, LogBounds, OffsetRange, PartitionBounds
from hotset.kafka.reader_settings import exact_settings
from hotset.kafka.record_source import (
    DEFAULT_LIMITS,
    HEADERS_TYPE,
    Arrived,
    DrainLimits,
    Event,
    RecordSource,
    Wanted,
)
from hotset.kafka.retention import read_offsets_at, read_retention

__all__ = [
    "ALLOWED_KAFKA_PROPERTIES",
    "DEFAULT_LIMITS",
    "GROUP_REFUSED",
    "HEADERS_TYPE",
    "PARTITION_EOF",
    "SECRET_KAFKA_PROPERTIES",
    "TRANSIENT",
    "Arrived",
    "DrainLimits",
    "Event",
    "Isolation",
    "KafkaClient",
    "LogBounds",
    "OffsetRange",
    "PartitionBounds",
    "RecordSource",
    "Wanted",
    "connect",
    "exact_settings",
    "is_same_history",
    "read_log_bounds",
    "read_offsets_at",
    "read_retention",
    "require_history",
    "require_topic_id",
    "translate",
    "unreadable_header",
]
