"""What the footers of Parquet files say, asked once for each file and kept.

Data files never change, so a footer stays true of its path; with it is kept how the file looked
when it was read, for whoever has to know that it is the same file still. A file that cannot be
read has no footer here, and whoever reads its rows says why. This file decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.types import NestedField

from coldset.files.data_file import ColdFile
from coldset.files.duckdb_sql import local_path
from coldset.files.file_columns import FileColumn, file_columns
from coldset.files.file_reader import UNREADABLE
from coldset.files.file_stamp import Stamp, stamp_of
from coldset.files.row_groups import facts_by_id
from coldset.prune import UNKNOWN, Fact, comparable
from foundation.lru import LruCache

_KEPT: Final = 200_000
_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns and rows of a file on this machine, and how the file looked.

    Attributes:
        facts: What its row groups say of the columns that were asked for, by their ids.
    """

    columns: tuple[FileColumn, ...]
    rows: int
    stamp: Stamp
    facts: Mapping[int, frozenset[Fact]]

    def has_only(self, column: NestedField, value: object) -> bool:
        """Return whether a column is known to have one value, or null, in all rows."""
        facts = self.facts.get(column.field_id) or {UNKNOWN}
        if value is None:
            return not any(fact.has_value for fact in facts)
        same = comparable(value, column.field_type)
        is_same = all(fact.low == fact.high == same and not fact.has_null for fact in facts)
        return same is not None and is_same


_kept: Final[LruCache[str, Footer]] = LruCache(_KEPT, lambda found: len(found.columns) + 1)


def footer_of(file: ColdFile) -> Footer | None:
    """Return what was read of a file's footer, if it could be."""
    path = local_path(file.path)
    return None if path is None else _kept.get(path)


def forget_footer(path: str) -> None:
    """Have the footer of a file at this path read again."""
    _kept.forget(path)


def read_footers(files: Sequence[ColdFile], io: FileIO, columns: Sequence[NestedField] = ()) -> None:
    """Read the footers that are not known yet, of files on this machine.

    Args:
        files: Whose footers.
        io: Reaches them.
        columns: Columns of the table whose values matter, too.
    """
    unknown = [file for file in files if footer_of(file) is None]
    if len(unknown) < _THREADS:
        for file in unknown:
            _read(file, io, columns)
        return
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(lambda file: _read(file, io, columns), unknown))


def _read(file: ColdFile, io: FileIO, wanted: Sequence[NestedField]) -> None:
    path = local_path(file.path)
    stamp = None if path is None else stamp_of(path)
    # What is no regular file is not opened at all, for that may never end.
    if path is None or stamp is None or stamp.size_bytes != file.size_bytes:
        return
    try:
        with io.new_input(file.path).open() as stream:
            metadata = pq.read_metadata(stream)
        columns = file_columns(metadata.schema.to_arrow_schema(), None)
        facts = facts_by_id(metadata, columns, wanted)
    except UNREADABLE:
        return
    _kept.put(path, Footer(columns, metadata.num_rows, stamp, facts))
