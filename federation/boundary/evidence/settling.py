"""Hold what a resolver has found against rows and log, and name what is still taken for granted.

A writer's record says how far it has read. It does not say which topic that was,
whether each record became a row, nor with which isolation it read. Where the
table's rows and Kafka's records show it, nothing is assumed; what they contradict
is an error. Each snapshot is looked at once, since what it holds does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from coldset.table import (
    SOURCE_ID,
    PinnedTable,
    Snapshot,
    adds_rows,
    find_source,
    is_complete,
    summary_value,
    walk_parents,
)
from federation.boundary.assumptions import Assumption
from federation.boundary.committed import CommittedOffsets
from federation.boundary.evidence.records_seen import MOST_OFFSETS, count_records
from federation.boundary.evidence.rows_brought import RowsBrought, count_rows
from federation.boundary.evidence.topic_by_time import look_at_times
from federation.errors import BoundaryUnknownError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.errors import HotsetError
from hotset.kafka import Isolation, KafkaClient, LogBounds, OffsetRange, read_log_bounds

# Writers whose record tells offsets, and neither the rows nor the isolation they were read with.
_READS_UNCOMMITTED: Final = ("spark", "connect", "flink")
_COUNTED: Final = (*_READS_UNCOMMITTED, "redpanda")

# Our property speaks for all commits before it, whoever made them.
_SPEAKS_FOR_ALL: Final = "summary"

# Counting is worth so much of the time that planning has left.
_COUNTING_MS: Final = 3000


@dataclass(frozen=True, slots=True)
class _Counted:
    """A snapshot up to which each record is known to be one row.

    Attributes:
        snapshot_id: The snapshot.
        next_offset: Its boundary.
        rows: How many rows had been brought.
        isolation: With which they were read, if anything tells.
    """

    snapshot_id: int | None
    next_offset: Mapping[int, int]
    rows: int
    isolation: Isolation | None


_settled: Final = LruCache[tuple[object, ...], CommittedOffsets](1024)
# Of each table and topic the last snapshot that was counted, from which the next one goes on.
_counted: Final = LruCache[tuple[str, str, str], _Counted](256)


def isolation_of(found: CommittedOffsets | None, definition: TableDefinition) -> tuple[Isolation, bool]:
    """Return the isolation to read the hot half with, and whether only the writer's default says so.

    Args:
        found: The boundary; None if there is none to find.
        definition: The table's settled options; what they state goes before all else.
    """
    if found is None or definition.states_isolation:
        return definition.isolation, False
    if found.isolation is None and found.resolver in _READS_UNCOMMITTED:
        return Isolation.READ_UNCOMMITTED, True
    return found.isolation or definition.isolation, False


def settle(
    found: CommittedOffsets,
    mark: str | None,
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
) -> CommittedOffsets:
    """Return a boundary with what must be assumed of it beside what its resolver says.

    Args:
        found: What the resolver found.
        mark: How the summary properties begin that its writer leaves; None if it leaves none.
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster.
        deadline: When to give up.

    Raises:
        TopicReplacedError: Kafka has other records than those that the table was filled with.
        BoundaryUnknownError: The table has more rows than there are offsets below the boundary.
        OptionError: The table has the Kafka columns of two layouts.
        HotsetError, ColdsetError: Kafka or the table's files could not be read.
    """
    if found.resolver == _SPEAKS_FOR_ALL:
        return _after_mark(found, mark, pinned)
    has_counts = found.resolver in _COUNTED
    if not any(found.next_offset.values()) or not (has_counts or found.topic_id is None):
        return found
    assert definition.topic is not None
    offsets = tuple(sorted(found.next_offset.items()))
    stated = definition.isolation if definition.states_isolation else None
    said = (found.resolver, found.topic_id, found.lost, offsets)
    key = (pinned.uuid, pinned.snapshot_id, definition.topic, stated, said)
    known = _settled.get(key)
    if known is None:
        bounds = read_log_bounds(client, definition.topic, Isolation.READ_UNCOMMITTED, deadline)
        known = _Look(mark, pinned, definition, client, bounds, deadline).settle(found, counts=has_counts)
        _settled.put(key, known)
    return replace(
        found,
        topic_id=known.topic_id,
        isolation=known.isolation,
        assumed=known.assumed,
        looked=known.looked,
    )


def _after_mark(found: CommittedOffsets, mark: str | None, pinned: PinnedTable) -> CommittedOffsets:
    newer = takewhile(
        lambda each: not _is_marked(each, mark, pinned), walk_parents(pinned.table, pinned.snapshot)
    )
    strangers = list(newer)
    has_rows = strangers and count_rows(strangers, lambda _: False, is_whole=False).unmarked > 0
    return found.assuming(Assumption.UNMARKED_ROWS) if has_rows else found


def _is_marked(snapshot: Snapshot, mark: str | None, pinned: PinnedTable) -> bool:
    # A cherry-picked copy has no properties of its source.
    is_copy = summary_value(snapshot, SOURCE_ID) is not None
    marked = (find_source(pinned.table, snapshot) or snapshot) if is_copy else snapshot
    properties = {} if marked.summary is None else marked.summary.additional_properties
    return mark is not None and any(name.startswith(mark) for name in properties)


class _Look:
    """One look at one snapshot."""

    def __init__(
        self,
        mark: str | None,
        pinned: PinnedTable,
        definition: TableDefinition,
        client: KafkaClient,
        bounds: LogBounds,
        deadline: Deadline,
    ) -> None:
        self._mark, self._pinned, self._definition = mark, pinned, definition
        self._client, self._bounds, self._deadline = client, bounds, deadline
        self._ancestors = list(walk_parents(pinned.table, pinned.snapshot))

    def settle(self, found: CommittedOffsets, *, counts: bool) -> CommittedOffsets:
        if found.topic_id is None:
            found = self._with_topic(found)
        if counts:
            found = self._with_rows(found)
        return found

    def _with_topic(self, found: CommittedOffsets) -> CommittedOffsets:
        seen = look_at_times(
            self._pinned,
            self._commit(),
            found.next_offset,
            self._definition,
            self._client,
            self._bounds,
            self._deadline,
        )
        told = replace(found, topic_id=self._bounds.topic_id, looked=(*found.looked, seen.looked))
        return told.assuming(*seen.assumed)

    def _commit(self) -> Snapshot:
        """Return the commit that brought the newest records, or the oldest one that may have."""
        brings = self._is_marked if self._mark is not None else adds_rows
        return next((each for each in self._ancestors if brings(each)), self._ancestors[-1])

    def _is_marked(self, snapshot: Snapshot) -> bool:
        return _is_marked(snapshot, self._mark, self._pinned)

    def _with_rows(self, found: CommittedOffsets) -> CommittedOffsets:
        is_whole = is_complete(self._pinned.table, self._pinned.snapshot)
        brought = count_rows(self._ancestors, self._is_marked, is_whole=is_whole)
        if brought.unmarked:
            found = found.assuming(Assumption.UNMARKED_ROWS)
        offsets = sum(found.next_offset.values()) - sum(gone.span for gone in found.lost)
        key = (self._pinned.uuid, self._bounds.topic_id, found.resolver)
        counted: _Counted | None = None
        if brought.rows is None:
            looked = "the summaries do not count rows"
        elif brought.rows > offsets:
            counted, looked = self._surplus(found, brought, offsets), "more rows than offsets were brought"
        elif brought.rows == offsets:
            counted = _Counted(self._pinned.snapshot_id, found.next_offset, offsets, None)
            looked = f"{offsets} rows for {offsets} offsets below the boundary"
        else:
            counted, looked = self._look_into_log(found, brought.rows, _counted.get(key))
            looked = f"{brought.rows} rows for {offsets} offsets below the boundary: {looked}"
        found = replace(found, looked=(*found.looked, looked))
        if counted is None:
            found = found.assuming(Assumption.OFFSETS_WITHOUT_ROWS)
        else:
            _counted.put(key, counted)
        return self._with_isolation(found, counted, has_gaps=brought.rows != offsets)

    def _surplus(self, found: CommittedOffsets, brought: RowsBrought, offsets: int) -> _Counted | None:
        if brought.left == offsets:  # what was too much has been taken out
            return _Counted(self._pinned.snapshot_id, found.next_offset, offsets, None)
        if brought.left < offsets or not brought.is_whole:
            return None  # rows that others brought and took away, in commits that are gone
        raise BoundaryUnknownError(
            f"snapshot {self._pinned.snapshot_id} of table {self._pinned.identifier!r} has {brought.left} "
            f"rows of its writer, and only {offsets} offsets lie below its boundary: records are in it "
            "twice, or one record makes several rows; keep one row of each record, or name the table's Kafka "
            "columns and set boundary=columns, which answers with all rows that are there",
            table=self._pinned.identifier,
            snapshot_id=self._pinned.snapshot_id,
        )

    def _look_into_log(
        self, found: CommittedOffsets, rows: int, before: _Counted | None
    ) -> tuple[_Counted | None, str]:
        ancestors = {each.snapshot_id for each in self._ancestors}
        if before is None or before.snapshot_id not in ancestors or before.rows > rows:
            before = _Counted(None, {}, 0, None)
        starts = {p: before.next_offset.get(p, 0) for p in found.next_offset}
        starts |= {gone.partition: max(starts.get(gone.partition, 0), gone.end) for gone in found.lost}
        ranges = tuple(
            OffsetRange(p, starts[p], end) for p, end in sorted(found.next_offset.items()) if end > starts[p]
        )
        log = {each.partition: each for each in self._bounds.partitions}
        if any(each.start < log[each.partition].log_start for each in ranges if each.partition in log):
            return None, "Kafka no longer has all records of the others"
        if any(each.partition not in log or each.end > log[each.partition].end for each in ranges):
            return None, "the log ends before the boundary"
        if (span := sum(each.span for each in ranges)) > MOST_OFFSETS:
            return None, f"{span} offsets are more than the {MOST_OFFSETS} that are read to count records"
        left_ms = int(self._deadline.remaining_s * 1000)
        deadline = Deadline.after_ms(max(1, min(_COUNTING_MS, left_ms // 2)))
        try:
            seen = count_records(self._client, self._bounds.topic, ranges, deadline)
        except HotsetError as exc:
            return None, f"their records could not be counted: {exc}"
        fits = [level for level, each in seen.items() if each.may_make(rows - before.rows)]
        told = ", ".join(f"{each.records} records {level.value}" for level, each in seen.items())
        if not fits or (len(fits) > 1 and len(set(seen.values())) > 1):
            return None, f"Kafka has {told}, and the writer made {rows - before.rows} rows of them"
        isolation = fits[0] if len(fits) == 1 else before.isolation
        counted = _Counted(self._pinned.snapshot_id, found.next_offset, rows, isolation)
        return counted, f"Kafka has {told}, which explains them"

    def _with_isolation(
        self, found: CommittedOffsets, counted: _Counted | None, *, has_gaps: bool
    ) -> CommittedOffsets:
        if found.isolation is not None or found.resolver not in _READS_UNCOMMITTED:
            return found
        isolation = None if counted is None else counted.isolation
        stated = self._definition.isolation if self._definition.states_isolation else None
        found = replace(found, isolation=isolation)
        # Without a gap there is no transaction below the boundary, and it does not matter.
        is_open = isolation is Isolation.READ_UNCOMMITTED or (counted is None and has_gaps)
        return found.assuming(Assumption.WRITER_ISOLATION) if stated is None and is_open else found
