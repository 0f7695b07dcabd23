"""Cuts of an earlier time: the table as it was then, and what had arrived in Kafka beyond it by then.

The snapshot is the head of that time, and a partition ends at its first record of a later time. That is exact
where brokers set the times; producers' clocks, and transactions that were open then, are named as
assumed. What neither half keeps any more is an error. This file must not know how a boundary is found.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from coldset.errors import SnapshotNotFoundError
from coldset.table import Catalog, PinnedTable, pin
from federation.boundary import Assumption, CommittedOffsets
from federation.cut.cut import SnapshotFacts
from federation.errors import NotKeptError, OffsetGapError, OptionError
from foundation.deadline import Deadline
from hotset.drain import drain
from hotset.errors import HotsetError
from hotset.kafka import Isolation, KafkaClient, LogBounds, OffsetRange, PartitionBounds, read_offsets_at

OPTION: Final = "as-of"

# Later times than these milliseconds are no times: whole numbers above are snapshots only.
_LATEST_MS: Final = 10**14
# Of 1973; Kafka is younger.
_EARLIEST_MS: Final = 10**11
_LOG_APPEND_TIME: Final = 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = re.compile(r"[0-9]{1,19}")

# What is read to know that a topic has no transactions, and which part of the time that may take.
_MOST_OFFSETS: Final = 100_000
_SHARE: Final = 3


@dataclass(frozen=True, slots=True)
class AsOf:
    """A time that a user names: milliseconds since 1970, or the commit of a snapshot.

    Attributes:
        text: What was written.
        number: A snapshot, or milliseconds; None if a time is written as a date.
        time_ms: Epoch milliseconds, UTC; None if a number is written.
    """

    text: str
    number: int | None
    time_ms: int | None


def parse_as_of(text: str) -> AsOf:
    """Return the time that option `as-of` names.

    Raises:
        OptionError: It names none, or one without a zone.
    """
    if _NUMBER.fullmatch(text):
        return AsOf(text, int(text), None)
    try:
        when = datetime.fromisoformat(text)
    except ValueError as exc:
        raise OptionError(
            f"option {OPTION!r} is a snapshot, milliseconds since 1970, or a time such as "
            f"2026-11-22T10:00:00Z, not {text!r}",
            option=OPTION,
        ) from exc
    if when.tzinfo is None:
        raise OptionError(
            f"option {OPTION!r} says {text!r} without a zone; write {text}Z for UTC", option=OPTION
        )
    return AsOf(text, None, (when - _EPOCH) // timedelta(milliseconds=1))


def pin_as_of(catalog: Catalog, identifier: str, as_of: AsOf, branch: str | None) -> tuple[PinnedTable, int]:
    """Pin the snapshot of a time, and return it with the time (epoch ms, UTC).

    Raises:
        OptionError: The time has not come yet, or is before Kafka's.
        SnapshotNotFoundError: There is no such snapshot, or none is kept of that time.
        ColdsetError: The table could not be loaded.
    """
    if as_of.number is not None:
        try:
            pinned = pin(catalog, identifier, snapshot_id=as_of.number)
        except SnapshotNotFoundError:
            if as_of.number >= _LATEST_MS:
                raise
        else:
            assert pinned.snapshot is not None
            return pinned, pinned.snapshot.timestamp_ms
    time_ms = time_of(as_of)
    if as_of.number is not None and time_ms < _EARLIEST_MS:
        raise OptionError(
            f"option {OPTION!r} is {as_of.text}, which is {time_ms / 1000 / 86400:.0f} days after 1970 in "
            "milliseconds, and no snapshot of the table; give milliseconds, or a time such as "
            "2026-11-22T10:00:00Z",
            option=OPTION,
        )
    return pin(catalog, identifier, ref=branch, as_of_ms=time_ms), time_ms


def time_of(as_of: AsOf) -> int:
    """Return the time (epoch ms, UTC) that is named, if it is no snapshot.

    Raises:
        OptionError: It has not come yet.
    """
    time_ms = as_of.number if as_of.time_ms is None else as_of.time_ms
    assert time_ms is not None
    if time_ms > time.time_ns() // 1_000_000:
        raise OptionError(f"option {OPTION!r} says {as_of.text}, which has not come yet", option=OPTION)
    return time_ms


def not_kept(gap: OffsetGapError, facts: SnapshotFacts, time_ms: int) -> NotKeptError:
    """Return the error for records of an earlier time that Kafka has removed."""
    return NotKeptError(
        f"table {facts.table!r} as of {time_ms} ms is not kept any more: records that had arrived by then "
        "were in no snapshot yet, and retention has removed them from the topic since "
        f"({gap.details['gaps']}, each partition, start and end); ask for a later time, read the snapshot "
        "alone with read=cold, or accept the gap with failOnDataLoss=false",
        table=facts.table,
        gaps=gap.details["gaps"],
    )


def bounds_then(
    client: KafkaClient,
    bounds: LogBounds,
    committed: CommittedOffsets,
    time_ms: int,
    deadline: Deadline,
) -> tuple[LogBounds, tuple[Assumption, ...]]:
    """Return where the log ended at a time, and what is taken for granted of that.

    Args:
        client: The cluster.
        bounds: What the log holds now.
        committed: What the snapshot of that time holds.
        time_ms: The time (epoch ms, UTC).
        deadline: When to give up.

    Raises:
        HotsetError: Kafka could not be asked.
    """
    partitions = [found.partition for found in bounds.partitions]
    later = read_offsets_at(client, bounds.topic, partitions, time_ms + 1, deadline)
    ends = {
        found.partition: max(
            committed.of(found.partition), min(later.get(found.partition, found.end), found.end)
        )
        for found in bounds.partitions
    }
    then = tuple(_ending(found, ends[found.partition]) for found in bounds.partitions)
    assumed = []
    if not _are_times_of_brokers(client, bounds, committed, ends, deadline):
        assumed.append(Assumption.CREATE_TIMES)
    is_committed = bounds.isolation is Isolation.READ_COMMITTED
    if is_committed and not _has_no_markers(client, bounds, committed, ends, deadline):
        assumed.append(Assumption.TRANSACTIONS_THEN)
    return replace(bounds, partitions=then), tuple(assumed)


def _ending(found: PartitionBounds, end: int) -> PartitionBounds:
    # Beyond the end of the log is an error of its own, which is found where all cuts are computed.
    return found if end > found.end else replace(found, end=end, high_watermark=end)


def _are_times_of_brokers(
    client: KafkaClient,
    bounds: LogBounds,
    committed: CommittedOffsets,
    ends: Mapping[int, int],
    deadline: Deadline,
) -> bool:
    """Whether brokers set the times of the records on both sides of each end that decides anything."""
    around = tuple(
        OffsetRange(found.partition, first, last)
        for found in bounds.partitions
        if found.end > committed.of(found.partition)
        and (first := max(found.log_start, ends[found.partition] - 1))
        < (last := min(found.end, ends[found.partition] + 1))
    )
    kinds: set[int | None] = set()
    level = Isolation.READ_UNCOMMITTED
    for batch in drain(client, bounds.topic, around, level, deadline, has_headers=True):
        kinds.update(batch.column("timestamp_type").to_pylist())
    return kinds == {_LOG_APPEND_TIME} or not around


def _has_no_markers(
    client: KafkaClient,
    bounds: LogBounds,
    committed: CommittedOffsets,
    ends: Mapping[int, int],
    deadline: Deadline,
) -> bool:
    """Whether each offset from the first hot one to today's end is a record: none ends a transaction."""
    ranges = tuple(
        OffsetRange(found.partition, max(found.log_start, start), found.end)
        for found in bounds.partitions
        if (start := committed.of(found.partition)) < ends[found.partition] and found.log_start < found.end
    )
    span = sum(each.span for each in ranges)
    if span > _MOST_OFFSETS:
        return False
    within = Deadline.after_ms(max(1, int(deadline.remaining_s * 1000) // _SHARE))
    records = 0
    try:
        for batch in drain(client, bounds.topic, ranges, Isolation.READ_UNCOMMITTED, within):
            records += batch.num_rows
    except HotsetError:
        return False  # it is assumed then, which the answer says
    return records == span
