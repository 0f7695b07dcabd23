"""Data files that a Connect sink announced and that no snapshot has, once older commits are expired.

While all commits are there, each is held against what the sink announced before it.
Expiry takes that away; what is left are sums. Rows that people deleted make the
table smaller, too, so fewer rows alone prove nothing. Files that are still in
storage, of a table that nobody has rewritten, do: expiry removes files that a
snapshot had. The check costs manifests and is made for tables with fewer rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from coldset.errors import ColdReadError
from coldset.read import may_take_out_rows, removed_files
from coldset.table import PinnedTable, list_files, walk_parents
from federation.boundary.connect.control_topic import read_control, read_files
from federation.boundary.connect.sink_history import SinkHistory, UnknownHistoryError, announced
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.kafka import KafkaClient

# Files that are looked for in storage, at most.
_LOOKED_FOR: Final = 8

# Snapshots of which nothing was found to be lost.
_seen: Final = LruCache[tuple[str, int | None], str](256)


def require_none_lost(
    pinned: PinnedTable,
    histories: Sequence[SinkHistory],
    rows: int | None,
    client: KafkaClient,
    deadline: Deadline,
) -> None:
    """Raise if files that sinks announced are in storage and were never in the table.

    Args:
        pinned: The loaded table and snapshot, of which older commits have been expired.
        histories: All sinks' events and commits.
        rows: Rows that the sinks' commits and all before them brought; None if nothing counts them.
        client: The cluster that has the control topics.
        deadline: When to give up.

    Raises:
        UnknownHistoryError: There are such files; the text says why, without naming the snapshot.
        HotsetError, ColdsetError: A control topic, the manifests or the storage could not be asked.
    """
    said = [announced(history) for history in histories]
    total = sum(event.rows for events in said for event in events)
    is_cut = any(start > 0 for history in histories for start in history.log_start.values())
    key = (pinned.uuid, pinned.snapshot_id)
    if is_cut or rows is None or rows >= total or _seen.get(key) is not None:
        return
    files: set[str] = set()
    for history, events in zip(histories, said, strict=True):
        places = {(event.partition, event.offset) for event in events}
        control = read_control(client, history.control, deadline)
        files |= read_files(client, control, places, deadline)
    live = {file.path for file in list_files(pinned) if file.is_data}
    if live <= files and (left := _in_storage(pinned, sorted(files - live - _taken_out(pinned)))):
        raise UnknownHistoryError(
            f"sink {histories[0].group} had announced {total} rows, the table has {rows} of them, and file "
            f"{left}, which it announced, is in storage and in no snapshot: rows were lost; if it is of rows "
            "that were deleted, remove what no snapshot has (remove_orphan_files)"
        )
    _seen.put(key, "nothing is lost that shows")


def _taken_out(pinned: PinnedTable) -> set[str]:
    taking = (each for each in walk_parents(pinned.table, pinned.snapshot) if may_take_out_rows(each))
    return {file.path for snapshot in taking for file in removed_files(pinned, snapshot, ())}


def _in_storage(pinned: PinnedTable, paths: Sequence[str]) -> str | None:
    for path in paths[:_LOOKED_FOR]:
        try:
            if pinned.table.io.new_input(path).exists():
                return path
        except OSError as exc:
            raise ColdReadError(
                f"nobody can tell whether data file {path} is there: {exc}; ask again", path=path
            ) from exc
    return None
