"""What DuckDB raises, in our words: errors of reads as themselves, all else the statement's or the engine's.

DuckDB passes on the text of an error that its source of rows raised, and nothing else, so such errors are
kept where they happen and raised from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb

from federation.errors import EngineError, ResultTooLargeError, SqlError
from foundation.errors import KafkaIcebergError

# What is wrong with a statement before any row is read.
USER_SQL_ERRORS: Final = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)


def translate(error: Exception, stopped_by: Exception | None, failures: Sequence[Exception]) -> Exception:
    """Return the error that a statement ends in.

    Args:
        error: What was raised.
        stopped_by: Why the statement was stopped, if it was.
        failures: Errors of its reads, which may be what the engine failed of.
    """
    if stopped_by is not None:
        return stopped_by
    if failures:
        return failures[0]
    if isinstance(error, KafkaIcebergError):
        return error
    if isinstance(error, duckdb.OutOfMemoryException):
        return ResultTooLargeError(f"the statement needs more memory than it may use: {error}")
    if isinstance(error, duckdb.InternalException | duckdb.FatalException | duckdb.IOException):
        return EngineError(f"the engine failed: {error}")
    return SqlError(f"the statement failed: {error}")


def is_of_the_text(error: Exception) -> bool:
    """Return whether a statement is wrong whatever its tables hold."""
    return isinstance(error, SqlError) and isinstance(error.__cause__, USER_SQL_ERRORS)
