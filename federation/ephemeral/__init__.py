"""Ephemeral snapshots: a cut as Iceberg metadata that is never committed, for engines of others.

`publish_cut` is the one place that writes them. What is over goes by itself while a process publishes.
"""

from federation.ephemeral.publisher import EphemeralSnapshot, publish_cut

__all__ = ["EphemeralSnapshot", "publish_cut"]
