"""One data file: how it is opened, what its footer says, and how its columns become those of the table.

Which files there are to read is planned in `plan`.
"""

from coldset.files.data_file import ColdFile, DeleteFile
from coldset.files.duckdb_sql import (
    column_definition,
    definition_of,
    is_scanned_alike,
    literal,
    local_path,
    may_hold_nan,
    quoted,
    sql_type,
    text_literal,
)
from coldset.files.file_columns import FileColumn, with_id
from coldset.files.file_reader import UNREADABLE, AnyFile, open_file
from coldset.files.file_stamp import Stamp, require_regular, stamp_of
from coldset.files.footers import Footer, footer_of, forget_footer, read_footers
from coldset.files.projection import Projection
from coldset.files.row_groups import wanted_groups

__all__ = [
    "UNREADABLE",
    "AnyFile",
    "ColdFile",
    "DeleteFile",
    "FileColumn",
    "Footer",
    "Projection",
    "Stamp",
    "column_definition",
    "definition_of",
    "footer_of",
    "forget_footer",
    "is_scanned_alike",
    "literal",
    "local_path",
    "may_hold_nan",
    "open_file",
    "quoted",
    "read_footers",
    "require_regular",
    "sql_type",
    "stamp_of",
    "text_literal",
    "wanted_groups",
    "with_id",
]
