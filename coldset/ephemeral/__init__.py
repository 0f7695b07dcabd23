"""Iceberg metadata of a snapshot that is never committed: a pinned snapshot, and files appended to it.

Any engine that reads Iceberg reads it as it reads the table. Everything here is pure, but for reading the
pinned snapshot's own list of manifests; whoever uses it writes the bytes. Format: the Iceberg specification
1.12, versions 2 and 3; a table of version 1 is told as one of version 2, as an upgrade would.
"""

from coldset.ephemeral.appended_file import describe_file
from coldset.ephemeral.snapshot_builder import (
    EphemeralMetadata,
    ListedManifest,
    SnapshotBase,
    build_manifest,
    build_snapshot,
    open_base,
)
from coldset.ephemeral.table_form import pinned_form

__all__ = [
    "EphemeralMetadata",
    "ListedManifest",
    "SnapshotBase",
    "build_manifest",
    "build_snapshot",
    "describe_file",
    "open_base",
    "pinned_form",
]
