"""What one sink's control topic says about one table, and whether it may be believed.

The events below a snapshot's control offsets tell how far the source had been
read, if all of them are there and if everything that was read went into this
table. This file holds those conditions; it reads no topic and no table, so it
can be tried on any history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from federation.boundary.connect.control_events import DATA_COMPLETE, DATA_WRITTEN, ControlEvent

Reached = Mapping[int, int]
_EMPTY: Final[Reached] = {}


class UnknownHistoryError(ValueError):
    """The history tells no boundary; the text says why, without naming the snapshot.

    `may_pass` says whether the sink's next commit may tell it.
    """

    may_pass = False


class UnfinishedHistoryError(UnknownHistoryError):
    """The history does not tell the boundary of this commit, and may tell that of the next."""

    may_pass = True


class SharedSinkError(UnknownHistoryError):
    """The sink reads other topics, too, or fills other tables."""


@dataclass(frozen=True, slots=True)
class SinkCommit:
    """One commit of a sink to the table, in the ancestry of the pinned snapshot.

    Attributes:
        snapshot_id: The snapshot.
        commit_id: The round of commits it ended.
        reached: Per control partition, the first event it takes no account of.
        rows: How many rows it added.
    """

    snapshot_id: int
    commit_id: bytes
    reached: Reached
    rows: int


@dataclass(frozen=True, slots=True)
class SinkHistory:
    """One sink's events, and its commits to the table.

    Attributes:
        control: Name of the control topic.
        group: The sink's consumer group.
        table, table_uuid: The table.
        log_start: First offset that each control partition still has.
        ends: Committed end of each control partition.
        events: The sink's events, in the order of each control partition.
        commits: Its commits in the snapshot's ancestry, oldest first; never empty.
        is_complete: Whether no commit before the first of them has been expired.
    """

    control: str
    group: str
    table: str
    table_uuid: str
    log_start: Reached
    ends: Reached
    events: Sequence[ControlEvent]
    commits: Sequence[SinkCommit]
    is_complete: bool

    @property
    def reached(self) -> dict[int, int]:
        """Per control partition, the first event that the snapshot takes no account of.

        The maximum over the commits: a sink that reads its control topic again has been seen to
        write lower numbers than before.
        """
        partitions = {partition for commit in self.commits for partition in commit.reached}
        return {p: max(commit.reached.get(p, 0) for commit in self.commits) for p in sorted(partitions)}


def compute_vector(history: SinkHistory, topic: str, partitions: Iterable[int]) -> dict[int, int]:
    """Return, per partition of the source, the first offset that is not in the snapshot.

    Args:
        history: What the sink has said.
        topic: The source.
        partitions: All its partitions.

    Raises:
        UnknownHistoryError: The history is cut short, or contradicts the table.
        SharedSinkError: It is one of several topics or tables.
    """
    _require_one_source_and_table(history, topic)
    _require_same_control_topic(history)
    tops = _tops(history, topic)
    _require_nothing_passed_over(history, topic, tops)
    _require_beginning(history, tops, partitions)
    _require_every_row(history)
    return {partition: event.positions[topic, partition] for partition, event in sorted(tops.items())}


def newest_ms(history: SinkHistory, topic: str, vector: Mapping[int, int]) -> dict[int, int]:
    """Return the timestamp (epoch ms) of the record before each partition's boundary, where it is known."""
    return {
        partition: event.newest_ms[topic, partition]
        for event in history.events
        for partition, next_offset in vector.items()
        if event.positions.get((topic, partition)) == next_offset and (topic, partition) in event.newest_ms
    }


def announced(history: SinkHistory) -> list[ControlEvent]:
    """Return the events of files for the table that the snapshot takes account of."""
    reached = history.reached
    files = (event for event in history.events if event.kind == DATA_WRITTEN and _is_of(event, history))
    return [event for event in files if event.offset < reached.get(event.partition, 0)]


def _require_one_source_and_table(history: SinkHistory, topic: str) -> None:
    """A record of another topic, or one meant for another table, would be in one half only."""
    others = {name for event in history.events for name in event.topics} - {topic}
    if others:
        raise SharedSinkError(
            f"sink {history.group} also reads topics {sorted(others)} into it, so the hot half of {topic!r} "
            "alone would lack their records; give each topic a sink and a table of its own"
        )
    strangers = {
        str(event.table)
        for event in history.events
        if event.kind == DATA_WRITTEN and not _is_of(event, history)
    }
    if strangers == {history.table}:
        raise UnknownHistoryError(
            f"sink {history.group} put earlier records into another table of the same name, which was dropped"
        )
    if strangers:
        raise SharedSinkError(
            f"sink {history.group} also writes to tables {sorted(strangers)}, so nothing tells which of the "
            "records that are not committed yet belong to this one; give each table a topic and a sink of "
            "its own"
        )


def _require_same_control_topic(history: SinkHistory) -> None:
    for partition, reached in history.reached.items():
        if reached > history.ends.get(partition, 0):
            raise UnknownHistoryError(
                f"the snapshot names offset {reached} of control topic {history.control!r} partition "
                f"{partition}, which ends at {history.ends.get(partition, 0)}; it was recreated"
            )


def _tops(history: SinkHistory, topic: str) -> dict[int, ControlEvent]:
    """Return, per source partition, the counted event that has read the furthest."""
    tops: dict[int, ControlEvent] = {}
    for event in history.events:
        if event.kind != DATA_COMPLETE or not _is_counted(event, history):
            continue
        for source, partition in event.positions:
            top = tops.get(partition)
            here = event.positions[source, partition]
            if top is None or here > top.positions[topic, partition]:
                tops[partition] = event
    return tops


def _is_counted(complete: ControlEvent, history: SinkHistory) -> bool:
    """Return True if what a task had read is in the snapshot.

    The coordinator may commit between a slow task's files and its word that it
    is done; then its files decide.
    """
    below = history.reached.get(complete.partition, 0)
    if complete.offset < below:
        return True
    written = [event.offset < below for event in _files_of(complete, history)]
    if any(written) and not all(written):
        raise UnfinishedHistoryError(
            "the snapshot holds some of the files that a task wrote in one round, and not the others"
        )
    return bool(written) and all(written)


def _files_of(complete: ControlEvent, history: SinkHistory) -> list[ControlEvent]:
    return [
        event
        for event in history.events
        if event.kind == DATA_WRITTEN
        and (event.sender, event.commit_id, event.partition)
        == (complete.sender, complete.commit_id, complete.partition)
    ]


def _require_nothing_passed_over(history: SinkHistory, topic: str, tops: Mapping[int, ControlEvent]) -> None:
    """After a rebalance, a task's records may be committed before those of the task it took over from.

    Their events are in different control partitions then. In one control partition they are in order,
    and a lower position later on is a sink that was set back, whose records are all here already.
    """
    for event in history.events:
        if event.kind != DATA_COMPLETE or _is_counted(event, history) or not _files_of(event, history):
            continue
        for (_, partition), offset in event.positions.items():
            top = tops.get(partition)
            if top and offset < top.positions[topic, partition] and event.partition != top.partition:
                raise UnfinishedHistoryError(
                    f"it holds records of partition {partition} up to {top.positions[topic, partition]}, but "
                    f"not all of those below {offset}, which another task has not committed yet"
                )


def _require_beginning(
    history: SinkHistory, tops: Mapping[int, ControlEvent], partitions: Iterable[int]
) -> None:
    """What is gone from the control topic must be older than what is left of each source partition.

    In one control partition it is. Otherwise the event that is left must answer a round that was started
    after a commit which had already taken account of everything that is gone.
    """
    cut = {partition: start for partition, start in history.log_start.items() if start > 0}
    before = {
        later.commit_id: earlier.reached
        for earlier, later in zip(history.commits, history.commits[1:], strict=False)
    }
    unknown = []
    for partition in partitions:
        top = tops.get(partition)
        if top is None:
            unknown += [partition] if cut else []
            continue
        accounted = before.get(top.commit_id, _EMPTY)
        if any(p != top.partition and start > accounted.get(p, 0) for p, start in cut.items()):
            unknown.append(partition)
    if unknown:
        raise UnfinishedHistoryError(
            f"the beginning of control topic {history.control!r} is gone, and what is left does not tell "
            f"partitions {unknown} (keep its records for longer)"
        )


def _require_every_row(history: SinkHistory) -> None:
    """Each commit must have added as many rows as its events announce.

    A sink that was killed at the wrong moment has been seen to lose files or to commit them twice, and
    a rollback takes rows away that the sink believes committed.
    """
    earlier = _EMPTY
    rounds = {event.commit_id for event in history.events}
    for number, commit in enumerate(history.commits):
        is_known = (number > 0 or history.is_complete) and all(
            start <= earlier.get(partition, 0) for partition, start in history.log_start.items()
        )
        rows = sum(
            event.rows
            for event in history.events
            if event.kind == DATA_WRITTEN
            and earlier.get(event.partition, 0) <= event.offset < commit.reached.get(event.partition, 0)
        )
        if is_known and commit.rows and commit.commit_id not in rounds:
            raise UnknownHistoryError(
                f"control topic {history.control!r} does not know of the round that made snapshot "
                f"{commit.snapshot_id}; it was recreated"
            )
        if is_known and rows != commit.rows:
            raise UnknownHistoryError(
                f"snapshot {commit.snapshot_id} added {commit.rows} rows, and the sink had announced {rows} "
                "since its commit before: rows were lost, rolled back or committed twice"
            )
        earlier = commit.reached


def _is_of(event: ControlEvent, history: SinkHistory) -> bool:
    if event.table_uuid is None:
        return event.table == history.table
    return event.table_uuid == history.table_uuid.replace("-", "")
