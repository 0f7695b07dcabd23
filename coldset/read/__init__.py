"""Read planned files, and ask files for a few of their columns.

No planning happens here.
"""

from coldset.read.file_bounds import (
    HeldFile,
    RowBounds,
    column_id,
    held_files,
    may_take_out_rows,
    removed_files,
)
from coldset.read.file_contents import footer_bounds, leaf_of, read_held
from coldset.read.read_files import read_cold

__all__ = [
    "HeldFile",
    "RowBounds",
    "column_id",
    "footer_bounds",
    "held_files",
    "leaf_of",
    "may_take_out_rows",
    "read_cold",
    "read_held",
    "removed_files",
]
