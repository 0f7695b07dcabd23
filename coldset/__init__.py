"""The coldset: one pinned snapshot of an Iceberg table, as Arrow.

This package loads and pins tables, walks their history, plans and reads files,
and appends under a fence. It knows nothing of Kafka, offsets or engines.
"""

from pyiceberg.table.snapshots import Snapshot

from coldset.absent import pin_absent
from coldset.ancestry import (
    SOURCE_ID,
    Ancestry,
    adds_rows,
    find_source,
    is_complete,
    summary_value,
    walk_parents,
)
from coldset.bounds import (
    HeldFile,
    RowBounds,
    column_id,
    held_files,
    may_take_out_rows,
    removed_files,
)
from coldset.catalog import PinnedTable, load_table, open_catalog, pin
from coldset.commit import COMMIT_ID, commit_append
from coldset.contents import footer_bounds, leaf_of, read_held
from coldset.errors import ColdsetError
from coldset.files import ColdFile
from coldset.kept import Kept
from coldset.narrowed import narrow_scan
from coldset.parquet_scan import ParquetScan, plan_parquet_scan
from coldset.predicate import Predicate
from coldset.proof import adds_nothing_since
from coldset.properties import check_properties
from coldset.read import read_cold
from coldset.scan import ColdTask, MatchingFiles, plan_cold, plan_matching
from coldset.storage import storage_of
from coldset.write import delete_files, write_files

__all__ = [
    "COMMIT_ID",
    "SOURCE_ID",
    "Ancestry",
    "ColdFile",
    "ColdTask",
    "ColdsetError",
    "HeldFile",
    "Kept",
    "MatchingFiles",
    "ParquetScan",
    "PinnedTable",
    "Predicate",
    "RowBounds",
    "Snapshot",
    "adds_nothing_since",
    "adds_rows",
    "check_properties",
    "column_id",
    "commit_append",
    "delete_files",
    "find_source",
    "footer_bounds",
    "held_files",
    "is_complete",
    "leaf_of",
    "load_table",
    "may_take_out_rows",
    "narrow_scan",
    "open_catalog",
    "pin",
    "pin_absent",
    "plan_cold",
    "plan_matching",
    "plan_parquet_scan",
    "read_cold",
    "read_held",
    "removed_files",
    "storage_of",
    "summary_value",
    "walk_parents",
    "write_files",
]
