"""Ephemeral snapshots: a cut as Iceberg metadata that is never committed, for engines of others.

`publish_cut` is the one place that writes them. What is over goes by itself while a process publishes.
"""

from federation.ephemeral.ephemeral_snapshot import (
    EphemeralSnapshot,
    cold_metadata,
    epochs_of,
    storage_of_cut,
)
from federation.ephemeral.publisher import publish_cut
from federation.ephemeral.summary import CUT_PROPERTY

__all__ = ["CUT_PROPERTY", "EphemeralSnapshot", "cold_metadata", "epochs_of", "publish_cut", "storage_of_cut"]
