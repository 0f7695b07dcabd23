"""Judge how boundary and log lie to each other: identity, partitions, retention, open transactions. Pure.

Records are not looked at here; only where the log begins and ends, and when it
will begin elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from federation.boundary import Assumption
from federation.doctor.examined_facts import Facts, LogFacts, Missing, RetentionFacts, have
from federation.doctor.findings import Finding, Severity, Unchecked
from federation.errors import TopicReplacedError
from hotset.errors import TopicNotFoundError
from hotset.kafka import PartitionBounds

# Kafka's default for the longest transaction a producer may ask for.
_TRANSACTION_MS: Final = 900_000


def check_missing(facts: Facts) -> Iterator[Finding]:
    """Find out whether there is a topic at all.

    Raises:
        MissingPartError: Kafka could not be asked.
    """
    if isinstance(facts.log, Missing) and facts.log.code == TopicNotFoundError.code:
        yield Finding("TOPIC_MISSING", Severity.ERROR, facts.log.why, {"topic": facts.topic})
    else:
        have(facts.log)


def check_topic(facts: Facts) -> Iterator[Finding | Unchecked]:
    """Find out whether the topic is the one that the table was filled from.

    Raises:
        MissingPartError: The boundary or the log is not known.
    """
    if isinstance(facts.committed, Missing) and facts.committed.code == TopicReplacedError.code:
        yield Finding("TOPIC_RECREATED", Severity.ERROR, facts.committed.why, {"topic": facts.topic})
        return
    committed, bounds = have(facts.committed), have(facts.log).bounds
    if Assumption.SAME_TOPIC in committed.assumed:
        yield Unchecked(
            ("TOPIC_RECREATED",),
            f"resolver {committed.resolver} knows no identity of the topic, and Kafka's records do not show "
            "it, so a recreated topic shows only where it is shorter than the table",
        )
    elif committed.topic_id not in (None, bounds.topic_id):
        yield Finding(
            "TOPIC_RECREATED",
            Severity.ERROR,
            f"the table was filled from topic {bounds.topic!r} with id {committed.topic_id}, and the topic "
            f"of that name has id {bounds.topic_id} now",
            {"topic": bounds.topic, "recorded": committed.topic_id, "now": bounds.topic_id},
        )


def check_partitions(facts: Facts) -> Iterator[Finding]:
    """Find partitions that only one of table and topic has.

    Raises:
        MissingPartError: The boundary or the log is not known.
    """
    committed, log = have(facts.committed), have(facts.log)
    known = {found.partition for found in log.bounds.partitions}
    held = set() if isinstance(facts.positions, Missing) else set(facts.positions.held)
    fewer = sorted({*committed.next_offset, *held} - known)
    if fewer:
        yield Finding(
            "PARTITIONS_FEWER",
            Severity.ERROR,
            f"the table has partitions {fewer}, and topic {log.bounds.topic!r} has {len(known)} partitions "
            "only",
            {"partitions": fewer, "topic_partitions": len(known)},
        )
    if facts.snapshot_id is None:
        return  # A table that holds nothing yet lacks all of them.
    added = sorted(known - set(committed.next_offset))
    committed_ms = facts.history.ancestors[0].timestamp_ms
    passed = [p for p in added if log.first_hot_ms.get(p, committed_ms) < committed_ms]
    if added:
        late = f"; partitions {passed} have records from before the snapshot" if passed else ""
        yield Finding(
            "PARTITIONS_ADDED",
            Severity.WARNING if passed else Severity.INFO,
            f"the table has never had anything of partitions {added} of topic {log.bounds.topic!r}{late}",
            {"partitions": added, "with_earlier_records": passed},
        )


def check_ahead(facts: Facts) -> Iterator[Finding]:
    """Find partitions whose boundary lies past the readable end of the log.

    Raises:
        MissingPartError: The boundary or the log is not known.
    """
    committed, bounds = have(facts.committed), have(facts.log).bounds
    ahead = [found for found in bounds.partitions if committed.of(found.partition) > found.end]
    if ahead:
        listed = ", ".join(
            f"partition {f.partition}: boundary {committed.of(f.partition)}, end {f.end}" for f in ahead
        )
        yield Finding(
            "BOUNDARY_AHEAD",
            Severity.ERROR,
            f"the boundary lies past the end of topic {bounds.topic!r} as {bounds.isolation.value} sees it: "
            f"{listed}",
            {
                "partitions": [
                    {
                        "partition": f.partition,
                        "boundary": committed.of(f.partition),
                        "end": f.end,
                        "high_watermark": f.high_watermark,
                    }
                    for f in ahead
                ]
            },
        )


def check_passed(facts: Facts) -> Iterator[Finding]:
    """Find records that retention removed before the table had them.

    Raises:
        MissingPartError: The boundary or the log is not known.
    """
    committed, bounds = have(facts.committed), have(facts.log).bounds
    gaps = [
        (found.partition, committed.of(found.partition), min(found.log_start, found.end))
        for found in bounds.partitions
        if committed.of(found.partition) < min(found.log_start, found.end)
    ]
    if gaps:
        listed = ", ".join(f"{p}[{start},{end})" for p, start, end in gaps)
        yield Finding(
            "RETENTION_PASSED",
            Severity.ERROR,
            f"retention of topic {bounds.topic!r} has removed what snapshot {facts.snapshot_id} does not "
            f"hold: {listed} (partition[start,end))",
            {"ranges": [list(gap) for gap in gaps], "offsets": sum(end - start for _, start, end in gaps)},
        )


def check_near(facts: Facts) -> Iterator[Finding]:
    """Find hot records that retention will remove soon.

    Raises:
        MissingPartError: The boundary, the log or its retention is not known.
    """
    committed, log, retention = have(facts.committed), have(facts.log), have(facts.retention)
    near: list[dict[str, Any]] = []
    for found in log.bounds.partitions:
        start = max(committed.of(found.partition), found.log_start)
        if start >= found.end:
            continue  # Nothing hot, so nothing to lose.
        minutes, by = _minutes_left(found, start, log, retention)
        if minutes is not None and minutes * 60_000 < facts.warn_within_ms:
            near.append({"partition": found.partition, "boundary": start, "minutes": minutes, "by": by})
    if near:
        soonest = min(near, key=lambda one: one["minutes"])
        yield Finding(
            "RETENTION_NEAR",
            Severity.WARNING,
            f"retention of topic {log.bounds.topic!r} may pass the boundary in "
            f"{soonest['minutes']:.0f} minutes, first in partition {soonest['partition']} at offset "
            f"{soonest['boundary']} by {soonest['by']}; {len(near)} partitions are near",
            {
                "minutes": soonest["minutes"],
                "partitions": near,
                "retention_ms": retention.retention_ms,
                "retention_bytes": retention.retention_bytes,
            },
        )


def _minutes_left(
    found: PartitionBounds, start: int, log: LogFacts, retention: RetentionFacts
) -> tuple[float | None, str]:
    """Estimate when the record at the boundary may be removed; the earlier of time and size counts."""
    estimates: list[tuple[float, str]] = []
    first_ms = log.first_hot_ms.get(found.partition)
    if retention.retention_ms is not None and first_ms is not None:
        left_ms = first_ms + retention.retention_ms - log.bounds.read_at_ms
        estimates.append((max(0.0, left_ms / 60_000), "retention.ms"))
    rate = retention.offsets_per_minute.get(found.partition, 0.0)
    record_bytes = retention.record_bytes.get(found.partition, 0.0)
    if retention.retention_bytes is not None and rate > 0 and record_bytes > 0:
        # Compression may make room for more than the mean size says; what is there now has found room.
        room = max(found.high_watermark - found.log_start, retention.retention_bytes / record_bytes)
        left = room - (found.high_watermark - start)
        estimates.append((max(0.0, left / rate), "retention.bytes"))
    return min(estimates, default=(None, ""))


def check_held(facts: Facts) -> Iterator[Finding]:
    """Find records that an open transaction hides.

    Raises:
        MissingPartError: The log is not known.
    """
    log = have(facts.log)
    hidden = {
        found.partition: found.high_watermark - log.stable[found.partition]
        for found in log.bounds.partitions
        if found.high_watermark > log.stable[found.partition]
    }
    if not hidden:
        return
    since_ms = min(log.first_open_ms.values(), default=None)
    age_ms = None if since_ms is None else max(0, facts.now_ms - since_ms)
    old = "" if age_ms is None else f", the oldest for {age_ms // 1000} seconds"
    yield Finding(
        "HELD_BACK",
        Severity.WARNING if age_ms is not None and age_ms > _TRANSACTION_MS else Severity.INFO,
        f"open transactions hold back {sum(hidden.values())} offsets of topic {log.bounds.topic!r} in "
        f"partitions {sorted(hidden)}{old}",
        {
            "offsets": sum(hidden.values()),
            "since_ms": since_ms,
            "partitions": [
                {
                    "partition": p,
                    "offsets": count,
                    "last_stable": log.stable[p],
                    "since_ms": log.first_open_ms.get(p),
                }
                for p, count in sorted(hidden.items())
            ],
        },
    )


def check_behind(facts: Facts) -> Iterator[Finding]:
    """Say how much an answer takes from Kafka.

    Raises:
        MissingPartError: The boundary or the log is not known.
    """
    committed, log = have(facts.committed), have(facts.log)
    spans = {
        found.partition: found.end - max(committed.of(found.partition), found.log_start)
        for found in log.bounds.partitions
    }
    offsets = sum(span for span in spans.values() if span > 0)
    if not offsets:
        return
    oldest_ms = min(log.first_hot_ms.values(), default=None)
    age_s = None if oldest_ms is None else max(0, facts.now_ms - oldest_ms) // 1000
    old = "" if age_s is None else f"; the oldest record is {age_s} seconds old"
    yield Finding(
        "COLD_BEHIND",
        Severity.INFO,
        f"{offsets} offsets of topic {log.bounds.topic!r} are hot{old}",
        {"offsets": offsets, "oldest_record_ms": oldest_ms, "age_seconds": age_s},
    )
