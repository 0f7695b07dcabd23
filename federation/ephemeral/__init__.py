"""Ephemeral snapshots: a cut as Iceberg metadata that is never committed, for engines of others.

`publish_cut` is the one place that writes them, and `clean_scratch` the one that removes them.
"""

from federation.ephemeral.publisher import EphemeralSnapshot, publish_cut
from federation.ephemeral.scratch import clean_scratch

__all__ = ["EphemeralSnapshot", "clean_scratch", "publish_cut"]
