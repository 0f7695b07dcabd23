"""The whole world in one value: a topic's logs, an Iceberg table's history, a committer between two steps.

Everything is a tuple, so that a world can be compared, kept and returned to; nothing ever changes in place.
What is true of it (`covers`, `lost`, records that retention has removed) is kept beside what can be seen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from pyiceberg.table.snapshots import Operation

from federation.boundary.property.snapshot_property import render_offsets
from hotset.kafka.offsets import Isolation, OffsetRange

TOPIC: Final = "orders"
TABLE: Final = "lake.orders"
FOREIGN: Final = 900_000
Ends = tuple[int, ...]


class Entry(NamedTuple):
    """One offset of a log: a record, or a control marker that ends a transaction."""

    txn: int | None = None
    is_control: bool = False


class Log(NamedTuple):
    """One partition; entries below `start` have been removed, and are kept here as the truth."""

    start: int = 0
    entries: tuple[Entry, ...] = ()

    @property
    def high_watermark(self) -> int:
        return len(self.entries)


class DataFile(NamedTuple):
    """A file, the number of the snapshot that added it, and of that whose rows it has."""

    number: int
    rows: tuple[int, ...]
    as_of: int


class Snap(NamedTuple):
    """A snapshot. `mark` is all a reader can know of `topic`, `covers` and `lost`."""

    number: int
    parent: int | None
    operation: Operation
    mark: str | None
    files: tuple[DataFile, ...]
    topic: int | None
    covers: Ends
    lost: tuple[OffsetRange, ...]
    removed: tuple[DataFile, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(row for file in self.files for row in file.rows)

    def covered(self, partition: int) -> int:
        return self.covers[partition] if partition < len(self.covers) else 0


class Staged(NamedTuple):
    """A freeze that has taken its cut and read its records, and has not committed yet."""

    topic: int
    starts: Ends
    ends: Ends
    rows: tuple[int, ...]
    lost: tuple[OffsetRange, ...]


class World(NamedTuple):
    """One moment. The last of `topics` is the one that has the name now."""

    level: Isolation = Isolation.READ_COMMITTED
    accepts_gaps: bool = False
    topics: tuple[tuple[Log, ...], ...] = ((Log(),),)
    txns: tuple[str, ...] = ()
    snaps: tuple[Snap, ...] = ()
    head: int | None = None
    branch: int | None = None
    tag: int | None = None
    made: int = 0
    staged: Staged | None = None
    group: Ends = ()

    @property
    def topic(self) -> int:
        return len(self.topics) - 1

    @property
    def logs(self) -> tuple[Log, ...]:
        return self.topics[-1]

    @property
    def txn_open(self) -> int | None:
        return self.txns.index("open") if "open" in self.txns else None

    def snap(self, number: int | None) -> Snap | None:
        return next((s for s in self.snaps if s.number == number), None)

    def last_stable(self, partition: int) -> int:
        log = self.logs[partition]
        opened = self.txn_open
        if opened is None:
            return log.high_watermark
        mine = (o for o, entry in enumerate(log.entries) if entry.txn == opened and not entry.is_control)
        return max(log.start, next(mine, log.high_watermark))

    def end(self, partition: int) -> int:
        """The readable end at the world's own isolation."""
        is_committed = self.level is Isolation.READ_COMMITTED
        return self.last_stable(partition) if is_committed else self.logs[partition].high_watermark

    def is_visible(self, topic: int, partition: int, offset: int, level: Isolation | None = None) -> bool:
        entry = self.topics[topic][partition].entries[offset]
        if entry.is_control:
            return False
        is_committed = (level or self.level) is Isolation.READ_COMMITTED
        return entry.txn is None or not is_committed or self.txns[entry.txn] == "committed"

    def visible(self, topic: int, partition: int, start: int, end: int) -> tuple[int, ...]:
        """The records of a range, whether retention has removed them or not."""
        logs = self.topics[topic]
        last = min(end, logs[partition].high_watermark) if partition < len(logs) else 0
        offsets = (o for o in range(start, last) if self.is_visible(topic, partition, o))
        return tuple(row_of(topic, partition, o) for o in offsets)

    def marked(self) -> Snap | None:
        """The nearest ancestor of the head with a mark; None if it cannot be found any more."""
        at = self.snap(self.head)
        while at is not None and at.mark is None:
            at = self.snap(at.parent)
        return at


def row_of(topic: int, partition: int, offset: int) -> int:
    """Every record is a row with its own number, so that no two can be confused."""
    return topic * 10_000 + partition * 1_000 + offset


def name_of(row: int) -> str:
    if row >= FOREIGN:
        return f"the row of another writer ({row - FOREIGN})"
    topic, place = divmod(row, 10_000)
    return f"record {place // 1000}@{place % 1000}" + (f" of topic {topic + 1}" if topic else "")


def topic_id(topic: int) -> str:
    return f"topic-{topic + 1}"


@lru_cache(maxsize=100_000)
def mark_of(topic: int, level: Isolation, ends: Ends, lost: tuple[OffsetRange, ...]) -> str:
    """What the real writer puts into the summary."""
    return render_offsets(
        topic=TOPIC,
        topic_id=topic_id(topic),
        isolation=level,
        next_offset=dict(enumerate(ends)),
        leader_epoch={},
        lost=lost,
    )
