"""What a cut that was taken before must agree with, before it is taken up again.

A token may come from anyone, so everything in it is held against the table and
what is known of it now. Nothing is asked here.
"""

from __future__ import annotations

from coldset.table import PinnedTable
from federation.boundary import CommittedOffsets
from federation.cut.cut import Cut
from federation.errors import CutTokenError
from federation.options import TableDefinition


def pin_as_cut(pinned: PinnedTable, cut: Cut) -> PinnedTable:
    """Return the table with the snapshot and the schema that a cut names.

    Raises:
        CutTokenError: The table does not have that schema.
    """
    schema = pinned.table.schemas().get(cut.schema_id)
    if schema is None:
        raise CutTokenError(f"the cut names schema {cut.schema_id}, which table {cut.table!r} does not have")
    snapshot = None if cut.snapshot_id is None else pinned.snapshot
    return PinnedTable(pinned.identifier, pinned.table, snapshot, schema)


def require_same_boundary(cut: Cut, committed: CommittedOffsets, definition: TableDefinition) -> None:
    """Raise unless a cut's ranges begin where its snapshot ends, and its gaps are accepted.

    Raises:
        CutTokenError: They do not, or are not.
    """
    same = all(committed.of(r.partition) == cut.committed(r.partition) for r in cut.ranges)
    if (
        not same
        or cut.lost != committed.lost
        or set(committed.next_offset) - {r.partition for r in cut.ranges}
    ):
        raise CutTokenError(
            f"the ranges of the cut do not begin where snapshot {cut.snapshot_id} of table "
            f"{cut.table!r} ends; "
            "take a token from a receipt"
        )
    if cut.gaps and not definition.accepts_gaps:
        raise CutTokenError("the cut has gaps, which are accepted only with failOnDataLoss=false")


def not_as_configured(cut: Cut) -> CutTokenError:
    """Return the error for a cut whose topic or isolation is not the table's."""
    return CutTokenError(f"the cut is not of table {cut.table!r} as it is configured now; take a new cut")
