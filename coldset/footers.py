"""The footers of Parquet files: which columns they have and how many rows, each asked for once.

Files never change, so what a footer says is kept, within a bound. A footer that cannot be read is not known
here; whoever reads the file says why. Which files are asked is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from coldset.columns import FileColumn, file_columns
from coldset.kept import Kept
from coldset.read import UNREADABLE

_KEPT: Final = 200_000
_THREADS: Final = 8

Footer = tuple[tuple[FileColumn, ...], int]
_footers: Final[Kept[str, Footer]] = Kept(_KEPT, lambda found: len(found[0]) + 1)


def footer_of(path: str) -> Footer | None:
    """Return a file's columns and its number of rows, if they were read.

    Raises:
        Nothing of its own.
    """
    return _footers.get(path)


def read_footers(paths: Sequence[str], io: FileIO) -> None:
    """Read the footers that are not known yet, as far as they can be read.

    Raises:
        Nothing of its own.
    """
    unknown = [path for path in paths if _footers.get(path) is None]
    if len(unknown) < _THREADS:
        for path in unknown:
            _read_footer(path, io)
        return
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(lambda path: _read_footer(path, io), unknown))


def _read_footer(path: str, io: FileIO) -> None:
    try:
        with io.new_input(path).open() as stream:
            metadata = pq.read_metadata(stream)
        columns = file_columns(metadata.schema.to_arrow_schema(), None)
    except UNREADABLE:
        return  # whoever reads the file says why
    _footers.put(path, (columns, metadata.num_rows))
