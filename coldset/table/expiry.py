"""Until when the expiry of snapshots, run with the table's own settings, keeps a snapshot.

The rules are those of Iceberg's `expire_snapshots`: per branch, the newest
snapshots are kept by number and by age, a tag keeps the one it names, and what
no ref reaches goes by age alone. The file expires nothing and runs no clock.
"""

from __future__ import annotations

from typing import Final

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from coldset.table.ancestry import walk_parents

MAX_AGE: Final = "history.expire.max-snapshot-age-ms"
MIN_KEPT: Final = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE: Final = "history.expire.max-ref-age-ms"

# A ref that is to be kept for good, whatever the table's settings say, is given the largest age there is.
_CENTURY_MS: Final = 100 * 365 * 86_400_000

# Iceberg's own defaults: five days, one snapshot, and refs for ever.
_DEFAULTS: Final = {MAX_AGE: 432_000_000, MIN_KEPT: 1}


def kept_until_ms(table: Table, snapshot: Snapshot) -> int | None:
    """Return from when on expiry may remove the snapshot, if nothing else is committed.

    Returns:
        Epoch milliseconds, or None if it is kept as long as the table stays as it is.

    Raises:
        ValueError: A setting of the table is no number.
    """
    latest = snapshot.timestamp_ms + _setting(table, MAX_AGE)
    for name, ref in table.metadata.refs.items():
        until = _kept_by(table, name, ref, snapshot)
        if until is None:
            return None
        latest = max(latest, until)
    return latest


def _kept_by(table: Table, name: str, ref: SnapshotRef, snapshot: Snapshot) -> int | None:
    # Zero says that this ref keeps nothing; the snapshot's age alone then decides.
    head = table.metadata.snapshot_by_id(ref.snapshot_id)
    if head is None:
        return 0
    ref_age_ms = ref.max_ref_age_ms or _setting(table, MAX_REF_AGE, or_none=True)
    is_for_good = name == "main" or (ref_age_ms or _CENTURY_MS) >= _CENTURY_MS
    gone_ms = None if is_for_good else head.timestamp_ms + ref_age_ms
    if ref.snapshot_ref_type == SnapshotRefType.TAG:
        return gone_ms if ref.snapshot_id == snapshot.snapshot_id else 0
    kept = ref.min_snapshots_to_keep or _setting(table, MIN_KEPT)
    for position, ancestor in enumerate(walk_parents(table, head)):
        if ancestor.snapshot_id == snapshot.snapshot_id:
            if position < kept:
                return gone_ms
            by_age_ms = snapshot.timestamp_ms + (ref.max_snapshot_age_ms or _setting(table, MAX_AGE))
            return by_age_ms if gone_ms is None else min(by_age_ms, gone_ms)
    return 0


def _setting(table: Table, name: str, *, or_none: bool = False) -> int:
    value = table.metadata.properties.get(name)
    if value is None:
        return None if or_none else _DEFAULTS[name]  # type: ignore[return-value]
    return int(value)
