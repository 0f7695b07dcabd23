"""The files that a plan is made of, as plain values that travel.

A manifest's entry holds bounds and counts for every column, which a reader
does not need; what a reader does need of a data file, and of the deletes that
apply to it, is here. Which deletes apply is decided in `delete_index`. This file
does no input or output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Deletes of rows, by position or by the values of some columns.

    Attributes:
        path: The file.
        file_format: `parquet`, `orc`, `avro` or `puffin`.
        size_bytes: Its size.
        rows: How many deletes it has, for a data file or for all of them.
        spec_id, partition: Where it belongs, as for a data file.
        keys: Ids of the columns whose values name a deleted row; empty for positions.
        start, length: Where in the file a deletion vector is; None for other files.
    """

    path: str
    file_format: str
    size_bytes: int
    rows: int
    spec_id: int
    partition: tuple[Any, ...]
    keys: tuple[int, ...] = ()
    start: int | None = None
    length: int | None = None

    @property
    def is_vector(self) -> bool:
        """Whether this is a deletion vector of one data file."""
        return self.start is not None


@dataclass(frozen=True, slots=True)
class ColdFile:
    """A data file of a snapshot, with everything that must be known to read its rows.

    Attributes:
        path: The file; files never change, so it is their identity.
        file_format: `parquet`, `orc` or `avro`.
        size_bytes: Its size.
        rows: How many rows it has, deleted ones too.
        spec_id: The partition spec it was written under.
        partition: Its values for that spec's fields.
        deletes: What hides some of its rows; positions are a vector or files, never both.
    """

    path: str
    file_format: str
    size_bytes: int
    rows: int
    spec_id: int
    partition: tuple[Any, ...]
    deletes: tuple[DeleteFile, ...] = ()
