"""Tables that hold the latest row of each key, for which a union of both halves is wrong.

A table is recognised here; rows are merged nowhere yet.
"""

from federation.merge.upsert_signs import APPEND, find_upserts, require_appends

__all__ = ["APPEND", "find_upserts", "require_appends"]
