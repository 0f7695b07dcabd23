"""What may happen to the world while a question is asked, one small step each.

An action is a function from a world to the next one, or None where it cannot happen. Those of the committer
are what a freeze does; the others are Kafka's, the table's maintenance, and other writers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pyiceberg.table.snapshots import Operation

from hotset.kafka.offsets import OffsetRange
from tests.oracle.model.state import (
    FOREIGN,
    DataFile,
    Ends,
    Entry,
    Log,
    Snap,
    Staged,
    World,
    mark_of,
)

Action = Callable[[World], World | None]


def _logs(world: World, logs: tuple[Log, ...]) -> World:
    return world._replace(topics=(*world.topics[:-1], logs))


def _append(world: World, partition: int, *entries: Entry) -> World:
    log = world.logs[partition]
    grown = log._replace(entries=(*log.entries, *entries))
    return _logs(world, (*world.logs[:partition], grown, *world.logs[partition + 1 :]))


def produce(world: World) -> World | None:
    """A record is produced to partition 0."""
    return _append(world, 0, Entry())


def produce_to_newest(world: World) -> World | None:
    """A record is produced to the newest partition."""
    return _append(world, len(world.logs) - 1, Entry()) if len(world.logs) > 1 else None


def begin(world: World) -> World | None:
    """A transaction sends its first record to partition 0."""
    if world.txn_open is not None:
        return None
    return _append(world._replace(txns=(*world.txns, "open")), 0, Entry(len(world.txns)))


def _end_txn(world: World, outcome: str) -> World | None:
    txn = world.txn_open
    if txn is None:
        return None
    ended = world._replace(txns=(*world.txns[:txn], outcome, *world.txns[txn + 1 :]))
    return _append(ended, 0, Entry(txn, is_control=True))


def commit(world: World) -> World | None:
    """The transaction commits."""
    return _end_txn(world, "committed")


def abort(world: World) -> World | None:
    """The transaction aborts."""
    return _end_txn(world, "aborted")


def add_partition(world: World) -> World | None:
    """The topic gets another partition."""
    return _logs(world, (*world.logs, Log())) if len(world.logs) < 3 else None


def _recreated(world: World, log: Log) -> World:
    fates = tuple("aborted" if fate == "open" else fate for fate in world.txns)
    logs = (log, *(Log() for _ in world.logs[1:]))
    return world._replace(topics=(*world.topics, logs), txns=fates, group=())


def recreate(world: World) -> World | None:
    """The topic is deleted and created again, empty."""
    return _recreated(world, Log()) if len(world.topics) < 3 else None


def recreate_longer(world: World) -> World | None:
    """The topic is deleted and created again, and gets more records than it had."""
    longer = Log(0, (Entry(),) * (world.logs[0].high_watermark + 1))
    return _recreated(world, longer) if len(world.topics) < 3 else None


def _retain(world: World, starts: Ends) -> World | None:
    logs = tuple(log._replace(start=max(log.start, s)) for log, s in zip(world.logs, starts, strict=True))
    return _logs(world, logs) if logs != world.logs else None


def retain_one(world: World) -> World | None:
    """Retention removes one more offset of partition 0."""
    log, *others = world.logs
    return _retain(world, (min(log.start + 1, log.high_watermark), *(other.start for other in others)))


def retain_committed(world: World) -> World | None:
    """Retention removes all that the table holds."""
    head = world.snap(world.head)
    if head is None or head.topic != world.topic:
        return None
    return _retain(world, tuple(head.covered(p) for p in range(len(world.logs))))


def retain_nothing(world: World) -> World | None:
    """Retention removes everything."""
    return _retain(world, tuple(log.high_watermark for log in world.logs))


def _stage(world: World) -> Staged | None:
    base, head = world.marked(), world.snap(world.head)
    if head is not None and (base is None or base.topic != world.topic):
        return None
    parts = range(len(world.logs))
    starts = tuple(base.covered(p) if base else 0 for p in parts)
    ends = tuple(world.end(p) for p in parts)
    gaps = tuple(
        OffsetRange(p, starts[p], min(world.logs[p].start, ends[p]))
        for p in parts
        if starts[p] < min(world.logs[p].start, ends[p])
    )
    if starts == ends or (gaps and not world.accepts_gaps):
        return None
    rows = tuple(
        row
        for p in parts
        for row in world.visible(world.topic, p, max(starts[p], world.logs[p].start), ends[p])
    )
    return Staged(world.topic, starts, ends, rows, (*(base.lost if base else ()), *gaps))


def stage(world: World) -> World | None:
    """A freeze takes its cut and reads it."""
    staged = _stage(world) if world.staged is None else None
    return world._replace(staged=staged, group=staged.ends) if staged is not None else None


def _commit_onto(world: World, base: Snap | None, staged: Staged) -> tuple[World, Snap]:
    number = world.made + 1
    files = (*(base.files if base else ()), DataFile(number, staged.rows, number))
    mark = mark_of(staged.topic, world.level, staged.ends, staged.lost)
    parent = base.number if base else None
    snap = Snap(number, parent, Operation.APPEND, mark, files, staged.topic, staged.ends, staged.lost)
    return world._replace(snaps=(*world.snaps, snap), made=number), snap


def land(world: World) -> World | None:
    """The freeze commits, or is fenced off because the boundary has moved."""
    staged = world.staged
    if staged is None:
        return None
    cleared = world._replace(staged=None)
    base, head = world.marked(), world.snap(world.head)
    held = tuple(base.covered(p) if base else 0 for p in range(len(staged.starts)))
    is_known = head is None or (base is not None and base.topic == staged.topic)
    if not is_known or held != staged.starts or (base and len(base.covers) > len(held)):
        return cleared
    grown, snap = _commit_onto(cleared, head, staged)
    return grown._replace(head=snap.number, tag=snap.number)


def freeze(world: World) -> World | None:
    """A freeze takes its cut, reads it and commits."""
    staged = stage(world)
    return land(staged) if staged is not None else None


def freeze_branch(world: World) -> World | None:
    """A freeze is committed to a branch, which leaves the main one where it was."""
    staged = _stage(world) if world.branch is None else None
    if staged is None:
        return None
    grown, snap = _commit_onto(world, world.snap(world.head), staged)
    return grown._replace(branch=snap.number)


def _maintained(world: World, operation: Operation, files: tuple[DataFile, ...]) -> World:
    head, number = world.snap(world.head), world.made + 1
    known = (head.topic, head.covers, head.lost) if head else (None, (), ())
    removed = tuple(file for file in (head.files if head else ()) if file not in files)
    snap = Snap(number, head.number if head else None, operation, None, files, *known, removed)
    return world._replace(snaps=(*world.snaps, snap), made=number, head=number)


def compact(world: World) -> World | None:
    """Compaction rewrites the table's files."""
    head = world.snap(world.head)
    if head is None:
        return None
    return _maintained(
        world, Operation.REPLACE, (DataFile(world.made + 1, tuple(sorted(head.rows)), head.number),)
    )


def append_foreign(world: World) -> World | None:
    """Another writer appends a row of its own, without a mark."""
    head, number = world.snap(world.head), world.made + 1
    added = DataFile(number, (FOREIGN + number,), number)
    return _maintained(world, Operation.APPEND, (*(head.files if head else ()), added))


def delete_newest(world: World) -> World | None:
    """Another writer deletes the newest record from the table."""
    head = world.snap(world.head)
    rows = [row for row in head.rows if row < FOREIGN] if head else []
    if head is None or not rows:
        return None
    kept = tuple(row for row in head.rows if row != max(rows))
    return _maintained(world, Operation.OVERWRITE, (DataFile(world.made + 1, kept, world.made + 1),))


def rollback(world: World) -> World | None:
    """The table is rolled back to the parent of its head."""
    head = world.snap(world.head)
    parent = world.snap(head.parent) if head else None
    return world._replace(head=parent.number) if parent is not None else None


def expire(world: World) -> World | None:
    """All snapshots expire that are neither a head nor tagged."""
    kept = tuple(s for s in world.snaps if s.number in (world.head, world.branch, world.tag))
    return world._replace(snaps=kept) if kept != world.snaps else None


def expire_tagged(world: World) -> World | None:
    """The tag is dropped, and all snapshots expire that are not a head."""
    return expire(world._replace(tag=None)) if world.tag is not None else None


ACTIONS: Final[tuple[Action, ...]] = (
    produce,
    produce_to_newest,
    begin,
    commit,
    abort,
    add_partition,
    recreate,
    recreate_longer,
    retain_one,
    retain_committed,
    retain_nothing,
    stage,
    land,
    freeze,
    freeze_branch,
    compact,
    append_foreign,
    delete_newest,
    rollback,
    expire,
    expire_tagged,
)


@lru_cache(maxsize=200_000)
def successors(world: World) -> tuple[tuple[Action, World], ...]:
    """All that can happen next."""
    after = ((action, action(world)) for action in ACTIONS)
    return tuple((action, changed) for action, changed in after if changed is not None)


def told(action: Action) -> str:
    return (action.__doc__ or action.__name__).rstrip(".")
