"""Every way reading or committing to the Iceberg table can fail, as one tree.

Callers decide from the class attributes (`code`, `kind`, `retriable`), never
from the message. This file knows nothing about Kafka or cuts.

    ColdsetError
     ├ CatalogConfigError           user
     ├ TableNotFoundError           user
     ├ SnapshotNotFoundError        user
     ├ CatalogUnavailableError      external, retriable
     ├ ColdReadError                external, retriable
     ├ UnsupportedTableError        user
     ├ CommitConflictError          external, retriable
     └ CommitStateUnknownError      external
"""

from __future__ import annotations

from foundation.errors import KafkaIcebergError


class ColdsetError(KafkaIcebergError):
    """Anything that kept the coldset from being read or committed exactly."""

    code = "COLDSET_ERROR"


class CatalogConfigError(ColdsetError, ValueError):
    """A catalog property is missing, unsafe or refused by the catalog."""

    code = "CATALOG_CONFIG"
    kind = "user"


class TableNotFoundError(ColdsetError, LookupError):
    """The catalog has no such table."""

    code = "TABLE_NOT_FOUND"
    kind = "user"


class SnapshotNotFoundError(ColdsetError, LookupError):
    """The table does not hold the snapshot asked for (any more)."""

    code = "SNAPSHOT_NOT_FOUND"
    kind = "user"


class CatalogUnavailableError(ColdsetError, ConnectionError):
    """The catalog did not answer, or failed."""

    code = "CATALOG_UNAVAILABLE"
    kind = "external"
    retriable = True


class ColdReadError(ColdsetError, OSError):
    """A file of the pinned snapshot could not be read; nothing partial is returned."""

    code = "COLD_READ"
    kind = "external"
    retriable = True


class UnsupportedTableError(ColdsetError):
    """The table uses something that would not be read exactly here."""

    code = "TABLE_NOT_SUPPORTED"
    kind = "user"


class CommitConflictError(ColdsetError):
    """Someone else committed; nothing of this commit is in the table."""

    code = "COMMIT_CONFLICT"
    kind = "external"
    retriable = True


class CommitStateUnknownError(ColdsetError):
    """The catalog did not say whether the commit landed; its files are kept."""

    code = "COMMIT_STATE_UNKNOWN"
    kind = "external"
