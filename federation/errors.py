"""Every way joining the two halves can fail, as one tree.

Errors of one half are in trees of their own, `hotset.errors` and `coldset.errors`.
Policy is in the class attributes (`code`, `kind`, `retriable`).

    FederationError
     ├ OptionError                  user
     ├ CutError                     external
     │  ├ OffsetGapError            external
     │  ├ NotKeptError              external
     │  ├ OffsetOverlapError        external
     │  ├ TopicReplacedError        external
     │  ├ IsolationMismatchError    user
     │  ├ TableReplacedError        external
     │  ├ MergeNeededError          user
     │  └ BoundaryUnknownError      user
     │     ├ WriterUnavailableError external, retriable
     │     └ NotOneToOneError     user
     ├ CutTokenError                user
     ├ AdoptionError                user
     ├ HotBudgetError               user
     ├ SqlError                     user
     │  └ StatementRefusedError     user
     ├ QueryTimeoutError            external, retriable
     ├ QueryCancelledError          user
     ├ ResultTooLargeError          user
     └ EngineError                  internal
"""

from __future__ import annotations

from typing import ClassVar

from foundation.errors import KafkaIcebergError, Kind


class FederationError(KafkaIcebergError):
    """Anything that kept the two halves from being joined exactly."""

    code = "FEDERATION_ERROR"


class OptionError(FederationError, ValueError):
    """An option is unknown, missing, malformed or contradicts another."""

    code = "OPTION_INVALID"
    kind = "user"


class CutError(FederationError):
    """No exact cut could be taken."""

    code = "CUT_NOT_POSSIBLE"
    kind: ClassVar[Kind] = "external"


class OffsetGapError(CutError):
    """Records are in neither half: the log starts after what the table holds."""

    code = "OFFSET_GAP"


class NotKeptError(CutError):
    """What had arrived by an earlier time, and was in no snapshot yet, is not in the topic any more."""

    code = "NOT_KEPT"


class OffsetOverlapError(CutError):
    """The table claims records past the readable end of the log."""

    code = "OFFSET_OVERLAP"


class TopicReplacedError(CutError):
    """The topic is not the one whose records the table holds."""

    code = "TOPIC_REPLACED"


class IsolationMismatchError(CutError):
    """The table was written with another isolation than the topic would be read with."""

    code = "ISOLATION_MISMATCH"
    kind: ClassVar[Kind] = "user"


class TableReplacedError(CutError):
    """The table is not the one a cut was taken of."""

    code = "TABLE_REPLACED"


class MergeNeededError(CutError):
    """The table holds the latest row of each key, so a union would have several rows of one."""

    code = "MERGE_NEEDED"
    kind: ClassVar[Kind] = "user"


class BoundaryUnknownError(CutError):
    """Nothing says which records the pinned snapshot already holds."""

    code = "BOUNDARY_UNKNOWN"
    kind: ClassVar[Kind] = "user"


class WriterUnavailableError(BoundaryUnknownError):
    """The writer that knows the boundary does not answer now, or is behind its table."""

    code = "WRITER_UNAVAILABLE"
    kind = "external"
    retriable = True


class NotOneToOneError(BoundaryUnknownError):
    """The table's writer reads other topics, too, or fills other tables: no boundary makes a union right."""

    code = "NOT_ONE_TO_ONE"


class CutTokenError(FederationError, ValueError):
    """A cut token is malformed or of another table."""

    code = "CUT_TOKEN_INVALID"
    kind = "user"


class AdoptionError(FederationError, ValueError):
    """The table cannot be adopted: what it holds is known, or something writes to it meanwhile."""

    code = "ADOPTION_REFUSED"
    kind = "user"


class HotBudgetError(FederationError):
    """The hot half holds more offsets, or more bytes, than the statement may read."""

    code = "HOT_BUDGET_EXCEEDED"
    kind = "user"


class SqlError(FederationError, ValueError):
    """The statement is not valid SQL, or fails on the rows it reads."""

    code = "SQL_INVALID"
    kind = "user"


class StatementRefusedError(SqlError):
    """The statement does something other than read registered tables."""

    code = "STATEMENT_REFUSED"


class QueryTimeoutError(FederationError, TimeoutError):
    """The statement ran longer than it may; it was stopped."""

    code = "QUERY_TIMEOUT"
    kind = "external"
    retriable = True


class QueryCancelledError(FederationError):
    """The statement was stopped because nobody waits for its answer."""

    code = "QUERY_CANCELLED"
    kind = "user"


class ResultTooLargeError(FederationError):
    """The result has more rows or bytes than may be returned; none are."""

    code = "RESULT_TOO_LARGE"
    kind = "user"


class EngineError(FederationError):
    """The engine failed in a way that is not the statement's fault."""

    code = "ENGINE_FAILED"
