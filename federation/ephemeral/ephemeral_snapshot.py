"""An ephemeral snapshot as a value, and what of a cut decides whether it still holds.

Nothing is written here. Whoever hands a snapshot out again compares it with a fresh cut by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldset.ephemeral import pinned_form
from federation.cut import TakenCut
from federation.options import storage_for
from federation.receipt import TableReceipt


@dataclass(frozen=True, slots=True)
class EphemeralSnapshot:
    """A cut that any engine reads as an Iceberg table.

    Attributes:
        table: The table's name.
        cut: The cut's token.
        snapshot_id: Id of the snapshot, which no catalog knows.
        location: The folder that stands for the table, for engines that read tables by their path.
        metadata_location: The table's metadata file.
        metadata: Its content.
        base: Which state of the table it is built on.
        epochs: The leader of each partition whose records are hot.
        files: The files on this machine without which it cannot be read.
        expires_ms: Until when its files stay (epoch milliseconds, UTC).
        receipt: What the cut is, and how many rows are hot.
    """

    table: str
    cut: str
    snapshot_id: int
    location: str
    metadata_location: str
    metadata: Mapping[str, Any] = field(repr=False)
    base: str
    epochs: Mapping[int, int]
    files: tuple[Path, ...] = field(repr=False)
    expires_ms: int
    receipt: TableReceipt = field(repr=False)


def storage_of_cut(taken: TakenCut) -> dict[str, str]:
    """Return the properties by which the files of a cut's table are reached; none if it has no table yet.

    Raises:
        ColdsetError: The catalog could not be asked.
    """
    definition = taken.definition
    if definition.hot_schema is not None:
        return {}
    return storage_for(definition.catalog_name, definition.catalog_properties, taken.cut.table)


def cold_metadata(taken: TakenCut) -> dict[str, Any]:
    """Return the metadata of a cut's table as it is, with the main branch at the cut's snapshot."""
    return pinned_form(taken.pinned)


def epochs_of(taken: TakenCut) -> dict[int, int]:
    """Return the leader's epoch of each partition, as a cut found it."""
    log = () if taken.bounds is None else taken.bounds.partitions
    return {found.partition: found.leader_epoch for found in log}


def local_files(*locations: str) -> tuple[Path, ...]:
    """Return the files on this machine among some locations."""
    paths = (location.removeprefix("file://") for location in locations)
    return tuple(Path(path) for path in paths if "://" not in path)
