"""When a newer checkpoint speaks for a snapshot whose own is gone: if nothing was written in between.

An idle job makes checkpoints and no snapshots, and Flink deletes the older ones. The state
of Iceberg's sink holds every data file that is not committed. If it holds none in the newer
checkpoint, and the table has no commit of the job in between, then no row lies between
the two, and the newer positions are those of the snapshot. It must not look for files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from coldset.table import PinnedTable, load_table, open_catalog, summary_value
from federation.boundary.flink.checkpoint_metadata import SINK_STATE, Metadata, read_elements
from federation.boundary.flink.state_bytes import MalformedStateError, StateBytes
from federation.boundary.flink.state_handles import StatePlace
from federation.options import TableDefinition, resolve

# What the sink keeps for a checkpoint without rows: nothing, or two empty lists of files and one of paths.
_NO_FILES: Final = (b"", bytes.fromhex("00000002 0000000c 00000000 00000000 00000000"))


def has_nothing_to_commit(
    metadata: Metadata, sinks: Collection[str], load: Callable[[StatePlace], bytes]
) -> bool:
    """Return True if no sink of the table holds files that it has not committed yet.

    Args:
        metadata: The checkpoint.
        sinks: Ids of the sinks' operators.
        load: Returns the bytes of a state.

    Raises:
        MalformedStateError: A state is not understood.
    """
    for operator in metadata.operators:
        if operator.operator_id not in sinks:
            continue
        states = [state for state in operator.lists if state.name == SINK_STATE]
        if not states:
            return False  # the newer sink keeps its files elsewhere
        for state in states:
            for element in read_elements(state, load(state.place)):
                if any(files not in _NO_FILES for files in _uncommitted(element)):
                    return False
    return True


def has_committed_since(
    pinned: PinnedTable, definition: TableDefinition, job_id: str, checkpoint_id: int, keys: tuple[str, str]
) -> bool:
    """Return True unless the table, loaded anew, shows that the job has made no commit since.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options, which name the catalog.
        job_id: The job.
        checkpoint_id: The checkpoint that the pinned snapshot holds.
        keys: Under which the summaries hold job and checkpoint.

    Raises:
        ColdsetError: The table could not be loaded.
    """
    catalog = open_catalog(definition.catalog_name, resolve(definition.catalog_properties))
    metadata = load_table(catalog, pinned.identifier).metadata
    at = [
        snapshot
        for snapshot in metadata.snapshots
        if summary_value(snapshot, keys[0]) == job_id
        and int(summary_value(snapshot, keys[1]) or -1) >= checkpoint_id
    ]
    if str(metadata.table_uuid) != pinned.uuid or not at:
        return True
    if any(int(summary_value(snapshot, keys[1]) or -1) > checkpoint_id for snapshot in at):
        return True
    # A commit that was rolled back and expired would be one that nobody can see any more.
    first = max(snapshot.sequence_number or 0 for snapshot in at)
    after = {s.sequence_number for s in metadata.snapshots if (s.sequence_number or 0) > first}
    return not first or len(after) != getattr(metadata, "last_sequence_number", 0) - first


def _uncommitted(element: StateBytes) -> list[bytes]:
    found = []
    for _ in range(element.count()):
        element.skip(8)  # the checkpoint's number
        if element.flag():
            raise MalformedStateError("a sink has an entry without files")
        found.append(element.block())
    return found
