"""Commits of a writer that are not in a snapshot's history although later ones of it are.

A rollback takes rows away that their writer believes committed and will not
send again. If it goes on from there, its record tells of more than the table
holds. Such commits show as long as expiry has not removed them. This file must
not know how writers count their commits.
"""

from __future__ import annotations

from collections.abc import Callable

from coldset.table import SOURCE_ID, Ancestry, PinnedTable, Snapshot, summary_value
from federation.errors import BoundaryUnknownError

Place = Callable[[Snapshot], tuple[object, int] | None]


def require_none_undone(pinned: PinnedTable, place_of: Place) -> None:
    """Raise if the table has a commit that its writer made earlier and that this history lacks.

    Args:
        pinned: The loaded table and snapshot.
        place_of: Returns who made a commit and the number it gave it, which rises; None for others.

    Raises:
        BoundaryUnknownError: There is such a commit.
    """
    assert pinned.snapshot is not None
    ancestors = list(Ancestry(pinned.table, pinned.snapshot))
    places = {place for snapshot in ancestors if (place := place_of(snapshot)) is not None}
    newest: dict[object, int] = {}
    for writer, number in places:
        newest[writer] = max(number, newest.get(writer, number))
    here = {snapshot.snapshot_id for snapshot in ancestors}
    copied = {summary_value(snapshot, SOURCE_ID) for snapshot in ancestors}
    for snapshot in pinned.table.metadata.snapshots:
        place = place_of(snapshot)
        if snapshot.snapshot_id in here or place is None or place in places:
            continue
        if place[1] < newest.get(place[0], place[1]) and str(snapshot.snapshot_id) not in copied:
            raise BoundaryUnknownError(
                f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r} is not built on snapshot "
                f"{snapshot.snapshot_id}, which its writer made before: that was rolled back or is on a "
                "branch, and its records will not be written again; let the writer begin again at what is "
                "missing, or name the table's Kafka columns",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            )
