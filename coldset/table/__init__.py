"""An Iceberg table as it is loaded: its catalog, one pinned snapshot, its history and its manifests.

No data file is opened here.
"""

from pyiceberg.catalog import Catalog
from pyiceberg.table.snapshots import Snapshot

from coldset.table.ancestry import (
    SOURCE_ID,
    Ancestry,
    adds_rows,
    find_source,
    is_complete,
    summary_value,
    walk_parents,
)
from coldset.table.ancestry_proof import adds_nothing_since
from coldset.table.arrow_form import arrow_schema
from coldset.table.catalog import PinnedTable, load_table, open_catalog, pin
from coldset.table.catalog_properties import check_properties
from coldset.table.empty_table import pin_absent
from coldset.table.expiry import kept_until_ms
from coldset.table.manifest_file import entries_of, manifests_of
from coldset.table.manifests import (
    FileReference,
    cut_short,
    entries_in,
    list_files,
    manifest_list_of,
    manifests_in,
    unreadable,
    weigh,
)
from coldset.table.storage import filesystem_of, storage_of

__all__ = [
    "SOURCE_ID",
    "Ancestry",
    "Catalog",
    "FileReference",
    "PinnedTable",
    "Snapshot",
    "adds_nothing_since",
    "adds_rows",
    "arrow_schema",
    "check_properties",
    "cut_short",
    "entries_in",
    "entries_of",
    "filesystem_of",
    "find_source",
    "is_complete",
    "kept_until_ms",
    "list_files",
    "load_table",
    "manifest_list_of",
    "manifests_in",
    "manifests_of",
    "open_catalog",
    "pin",
    "pin_absent",
    "storage_of",
    "summary_value",
    "unreadable",
    "walk_parents",
    "weigh",
]
