"""The one assertion about boundaries: at every snapshot, the union is all visible records, each once.

Whatever filled a table, its history holds many snapshots, and each of them with the hot half that begins
at its own boundary must give the same answer. The suite of boundaries and the tests of real writers use it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from pyiceberg.table.snapshots import Snapshot

from federation.errors import BoundaryUnknownError
from tests.builders import Lake

Rows = Iterable[tuple[object, ...]]


def assert_exact_at_every_snapshot(
    lake: Lake,
    expected: Rows | Callable[[Snapshot], Rows],
    *,
    columns: Collection[str] = ("seq",),
    resolver: str | None = None,
    options_at: Callable[[int], Mapping[str, str]] = lambda _: {},
    unknown: Collection[int] = (),
) -> list[Snapshot]:
    """Read the union at each snapshot in the table, oldest first, and return the snapshots.

    Args:
        lake: The table.
        expected: Its rows as tuples of `columns`, in any order; of a snapshot, if that matters.
        columns: What is compared.
        resolver: Who must have told the boundary.
        options_at: Further read options, by snapshot id.
        unknown: Snapshots whose boundary nothing tells: they must be the typed error.
    """
    snapshots = list(lake.load().snapshots())
    assert snapshots, "a table without snapshots shows nothing"
    for number, snapshot in enumerate(snapshots):
        at = f"snapshot {number + 1} of {len(snapshots)}"
        opened = lake.open(**{**options_at(snapshot.snapshot_id), "snapshot-id": str(snapshot.snapshot_id)})
        if snapshot.snapshot_id in unknown:
            try:
                opened.cut()
            except BoundaryUnknownError:
                continue
            raise AssertionError(f"{at} has a boundary that nothing tells")
        scan = opened.scan()
        rows = scan.to_arrow().select(list(columns)).to_pylist()

        wanted = expected(snapshot) if callable(expected) else expected
        assert sorted(tuple(row.values()) for row in rows) == sorted(wanted), at
        assert scan.receipt.boundary is not None
        assert resolver in (None, scan.receipt.boundary["resolver"]), at
    return snapshots


def seqs(*ranges: range) -> list[tuple[int]]:
    """Rows of one column `seq`."""
    return [(seq,) for found in ranges for seq in found]
