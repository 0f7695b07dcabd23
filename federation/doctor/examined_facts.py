"""What is known of a table and its topic when it is examined, as frozen values.

Gathering them is `gather_table` and `gather_log`; judging them is the checks'.
A part that could not be had is `Missing`, with the reason, so that no check can
take "not looked" for "nothing there".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from coldset.table import FileReference
from federation.boundary import CommittedOffsets, Spans
from hotset.kafka import Isolation, LogBounds, OffsetRange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that could not be had; `is_failure` if it was tried, `code` that of the error, if any."""

    why: str
    is_failure: bool
    code: str | None = None


class MissingPartError(Exception):
    """A check asked for a part that could not be had; `examine` turns this into words."""

    def __init__(self, part: Missing) -> None:
        super().__init__(part.why)
        self.part = part


def have(part: T | Missing) -> T:
    """Return the part.

    Raises:
        MissingPartError: It could not be had.
    """
    if isinstance(part, Missing):
        raise MissingPartError(part)
    return part


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A snapshot that the examined one is built on, or that one itself.

    Attributes:
        snapshot_id: Its id.
        timestamp_ms: When it was committed (epoch milliseconds, UTC).
        operation: `append`, `replace`, `overwrite` or `delete`.
        summary: The properties its writer left.
        kept_until_ms: When expiry may remove it; None if never, as the table stands.
        is_pinned: Whether the tag of our boundary property names it.
    """

    snapshot_id: int
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str] = field(repr=False)
    kept_until_ms: int | None
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class History:
    """The ancestry, from the examined snapshot back; `is_complete` unless expiry cut it short.

    `has_tag` says whether the tag of our property is set.
    `mark` is how many steps back the nearest writer's mark is, None if there is none, and
    `is_head` says whether the examined snapshot is the newest of its branch.
    """

    ancestors: tuple[Ancestor, ...]
    is_complete: bool
    is_head: bool
    mark: int | None
    mark_name: str | None
    has_tag: bool

    @property
    def has_deletes(self) -> bool:
        """True if a snapshot removed rows, so that holes may be deliberate."""
        return any(
            ancestor.operation == "delete" or int(ancestor.summary.get("deleted-records", "0")) > 0
            for ancestor in self.ancestors
            if ancestor.operation != "replace"
        )


@dataclass(frozen=True, slots=True)
class Positions:
    """Which offsets the table holds, by its own Kafka columns.

    Attributes:
        held: Per partition, the offsets; no partition without rows.
        repeated: Per partition with such, the offsets that more than one row has.
        extra_rows: For these partitions, rows beyond the first of each offset.
        rows_without: Rows whose partition or offset is null.
    """

    held: Mapping[int, Spans]
    repeated: Mapping[int, Spans]
    extra_rows: Mapping[int, int]
    rows_without: int


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the topic's log held.

    Attributes:
        bounds: Ends with the table's isolation.
        stable: Per partition, the last stable offset.
        first_hot_ms: Per partition with hot records, the timestamp of the first one found.
        first_open_ms: Per partition that a transaction holds back, the timestamp of
            the first record it hides.
    """

    bounds: LogBounds
    stable: Mapping[int, int]
    first_hot_ms: Mapping[int, int]
    first_open_ms: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class RetentionFacts:
    """What decides when Kafka removes records.

    Attributes:
        retention_ms: None if time does not limit.
        retention_bytes: Per partition; None if size does not limit.
        offsets_per_minute: Per partition, how fast its log grew lately.
        record_bytes: Per partition, mean bytes of the records that were sampled.
    """

    retention_ms: int | None
    retention_bytes: int | None
    offsets_per_minute: Mapping[int, float]
    record_bytes: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """What Kafka shows below the boundary, as far as it was looked at.

    Attributes:
        looked: Per partition, the offsets that were read.
        visible: Committed records with a value, per partition.
        tombstones: Committed records without one.
        aborted: Records of aborted transactions, or of open ones.
        below: Per partition, how far the table reaches: its boundary, or if that is
            not known one past its largest offset.
        is_boundary: Whether `below` is the boundary.
        lost: Ranges that a committer declared lost.
    """

    looked: Mapping[int, Spans]
    visible: Mapping[int, Spans]
    tombstones: Mapping[int, Spans]
    aborted: Mapping[int, Spans]
    below: Mapping[int, int]
    is_boundary: bool
    lost: tuple[OffsetRange, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What the newest hot records have that the table has not.

    Attributes:
        rows: Records that are rows of the table.
        bad: Records that are none.
        unmapped: Paths of fields of the former that no column is for, in order.
    """

    rows: int
    bad: int
    unmapped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """All that an examination gathered, before it is judged.

    Attributes:
        unreadable: Why no query can read the snapshot, if that is so.
        upserts: What shows that rows are replaced by key, if anything does.
        is_said_to_append: Whether `merge=append` says that they are not.
        unknown: Why no resolver can tell the boundary, if that is so; `committed` is missing then.
        warn_within_ms: How near a loss must be to be a warning.
    """

    table: str
    snapshot_id: int | None
    topic: str | None
    isolation: Isolation
    now_ms: int
    warn_within_ms: int
    history: History
    files: tuple[FileReference, ...] | Missing
    unreadable: str | Missing | None
    upserts: str | None
    is_said_to_append: bool
    positions: Positions | Missing
    committed: CommittedOffsets | Missing
    unknown: str | None
    log: LogFacts | Missing
    retention: RetentionFacts | Missing
    records: RecordFacts | Missing
    fields: FieldFacts | Missing
