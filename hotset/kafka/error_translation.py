"""The one place where librdkafka's errors become this package's.

A code that is not listed is a protocol error: what is not understood must not
pass for something that goes away by itself. It must not know what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError

from hotset.errors import (
    HotsetError,
    KafkaAccessError,
    KafkaConfigError,
    KafkaProtocolError,
    KafkaUnavailableError,
    LogTruncatedError,
    OffsetOutOfRangeError,
    TopicChangedError,
    TopicNotFoundError,
)

_CODES: Final[Mapping[type[HotsetError], tuple[str, ...]]] = {
    TopicNotFoundError: ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"),
    TopicChangedError: ("UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"),
    LogTruncatedError: ("_LOG_TRUNCATION",),
    OffsetOutOfRangeError: ("OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET", "_NO_OFFSET"),
    KafkaAccessError: (
        "CLUSTER_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNSUPPORTED_SASL_MECHANISM",
        "_AUTHENTICATION",
        "_SSL",
    ),
    KafkaConfigError: ("_INVALID_ARG", "TOPIC_EXCEPTION"),
    KafkaUnavailableError: (
        "BROKER_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "_ALL_BROKERS_DOWN",
        "_RESOLVE",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_TRANSPORT",
    ),
}
_BY_CODE: Final = {getattr(KafkaError, name): cls for cls, names in _CODES.items() for name in names}

_TRUNCATED: Final = "log truncation"

# librdkafka looks for the coordinator of a group that is never joined, and who reads exact ranges
# needs no access to one.
GROUP_REFUSED: Final[int] = KafkaError.GROUP_AUTHORIZATION_FAILED

ALL_BROKERS_DOWN: Final[int] = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - its own codes begin with a dash
PARTITION_EOF: Final[int] = KafkaError._PARTITION_EOF  # noqa: SLF001
TRANSIENT: Final = frozenset(getattr(KafkaError, name) for name in _CODES[KafkaUnavailableError])


def error_class(error: KafkaError, otherwise: type[HotsetError]) -> type[HotsetError]:
    """Return the class for one of librdkafka's errors, or another if there is none for its code."""
    cls = _BY_CODE.get(error.code(), otherwise)
    if cls is OffsetOutOfRangeError and _TRUNCATED in error.str():
        return LogTruncatedError  # librdkafka gives both one code, since both would reset the offset
    return cls


def translate(error: KafkaError, *, doing: str) -> HotsetError:
    """Return this package's error for one of librdkafka's.

    Args:
        error: What librdkafka reported.
        doing: What was being done, to begin the message with.
    """
    cls = error_class(error, KafkaProtocolError)
    return cls(f"{doing} failed: {error.str()} ({error.name()})", kafka_error=error.name())


def unreadable_header(topic: str, partition: int, offset: int) -> HotsetError:
    """Return the error for a record with a header whose name is no text."""
    return KafkaProtocolError(
        f"the record at topic {topic!r} partition {partition} offset {offset} has a header whose name is not "
        "UTF-8; correct its producer, or leave headers out of the columns",
        topic=topic,
        partition=partition,
        offset=offset,
    )
