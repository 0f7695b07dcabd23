"""Every way reading Kafka can fail, as one tree.

Callers decide what to do from the class attributes, never from the message or
the class name: `code` is stable and unique, `kind` says whose problem it is
and `retriable` whether the same call may succeed later. This file knows
nothing about Iceberg, cuts or HTTP status codes.

    HotsetError
     ├ KafkaConfigError          user
     ├ TopicNotFoundError        user
     ├ KafkaAccessError          user
     ├ KafkaUnavailableError     external, retriable
     ├ HotReadTimeoutError       external, retriable
     ├ OffsetOutOfRangeError     external, retriable
     ├ TopicChangedError         external
     ├ KafkaProtocolError        external
     ├ RegistryConfigError       user
     ├ RegistryAccessError       user
     ├ RegistryUnavailableError  external, retriable
     ├ RegistryProtocolError     external
     ├ SchemaNotFoundError       user
     ├ HotStoreError             user
     └ DecodeError               user
        ├ UnsupportedFormatError user
        └ SchemaMismatchError    user
"""

from __future__ import annotations

from foundation.errors import KafkaIcebergError


class HotsetError(KafkaIcebergError):
    """Anything that kept the hotset from being read exactly."""

    code = "HOTSET_ERROR"


class KafkaConfigError(HotsetError, ValueError):
    """A Kafka property is missing, unknown, unsafe or refused by the client."""

    code = "KAFKA_CONFIG"
    kind = "user"


class TopicNotFoundError(HotsetError, LookupError):
    """The topic does not exist on the cluster that answered."""

    code = "TOPIC_NOT_FOUND"
    kind = "user"


class KafkaAccessError(HotsetError, PermissionError):
    """The broker refused the credentials or the operation."""

    code = "KAFKA_ACCESS_DENIED"
    kind = "user"


class KafkaUnavailableError(HotsetError, ConnectionError):
    """No broker answered within the deadline."""

    code = "KAFKA_UNAVAILABLE"
    kind = "external"
    retriable = True


class HotReadTimeoutError(HotsetError, TimeoutError):
    """A range was not read to its end in time; nothing partial is returned."""

    code = "HOT_READ_TIMEOUT"
    kind = "external"
    retriable = True


class OffsetOutOfRangeError(HotsetError):
    """Kafka no longer holds records of a range that was already planned."""

    code = "OFFSET_OUT_OF_RANGE"
    kind = "external"
    retriable = True


class TopicChangedError(HotsetError):
    """The topic was deleted or recreated while it was being read."""

    code = "TOPIC_CHANGED"
    kind = "external"


class LogTruncatedError(HotsetError):
    """The log was cut back below what was read (an unclean leader election), and may have been written on."""

    code = "LOG_TRUNCATED"
    kind = "external"


class KafkaProtocolError(HotsetError):
    """The broker or client answered something that must not be trusted."""

    code = "KAFKA_PROTOCOL"
    kind = "external"


class RegistryConfigError(HotsetError, ValueError):
    """A property of the schema registry is missing, unknown or malformed."""

    code = "REGISTRY_CONFIG"
    kind = "user"


class RegistryAccessError(HotsetError, PermissionError):
    """The schema registry refused the credentials, or its certificate is not trusted."""

    code = "REGISTRY_ACCESS_DENIED"
    kind = "user"


class RegistryUnavailableError(HotsetError, ConnectionError):
    """No server of the schema registry answered in time, and the schema is not kept yet."""

    code = "REGISTRY_UNAVAILABLE"
    kind = "external"
    retriable = True


class RegistryProtocolError(HotsetError):
    """The schema registry answered something that is not understood."""

    code = "REGISTRY_PROTOCOL"
    kind = "external"


class SchemaNotFoundError(HotsetError, LookupError):
    """The schema registry does not know the schema that a record names."""

    code = "SCHEMA_NOT_FOUND"
    kind = "user"


class HotStoreError(HotsetError):
    """The resident hot store has no folder that it may use."""

    code = "HOT_STORE"
    kind = "user"


class DecodeError(HotsetError, ValueError):
    """A record cannot become a row of the table; the message names the record."""

    code = "RECORD_NOT_DECODABLE"
    kind = "user"


class UnsupportedFormatError(DecodeError):
    """The value format, or a column type under it, is not covered."""

    code = "FORMAT_NOT_SUPPORTED"
    kind = "user"


class SchemaMismatchError(DecodeError):
    """No record of its schema can be a row of the table: another format, or types that do not fit."""

    code = "SCHEMA_NOT_COMPATIBLE"
    kind = "user"
