"""What maintenance does to a table's history.

Tests of every resolver share these words.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.builders import Lake


def head(lake: Lake) -> int:
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def expire(lake: Lake) -> None:
    """Expire every snapshot that no branch or tag keeps."""
    later = datetime.now(UTC) + timedelta(days=1)
    lake.load().maintenance.expire_snapshots().older_than(later).commit()


def forget(lake: Lake) -> None:
    """Let the metadata log drop all files but the last one, as tables with many commits do."""
    with lake.load().transaction() as change:
        change.set_properties({"write.metadata.previous-versions-max": "1"})
    with lake.load().transaction() as change:
        change.set_properties({"written": "again"})


def rollback(lake: Lake, snapshot_id: int) -> None:
    lake.load().manage_snapshots().rollback_to_snapshot(snapshot_id).commit()
