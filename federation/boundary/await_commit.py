"""What to do where a later commit of a table's writer would tell what this one does not.

To read a newer snapshot helps nobody who reads the newest already. This file must not know how writers record
their offsets.
"""

from __future__ import annotations

from coldset.table import PinnedTable


def await_newer(pinned: PinnedTable) -> str:
    """Return what to do: to read a newer snapshot, if there is one, or to wait for it."""
    head = pinned.table.current_snapshot()
    is_head = head is not None and head.snapshot_id == pinned.snapshot_id
    return "ask again after the writer's next commit" if is_head else "read a newer snapshot"
