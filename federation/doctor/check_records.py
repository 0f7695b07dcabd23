"""Judge the table's offsets against what Kafka shows below the boundary. Pure.

A hole in the offsets is nothing bad by itself: transactions, tombstones and
compaction leave some. What Kafka shows there decides, and where Kafka was not
looked at that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from federation.boundary import EMPTY, Spans, union
from federation.doctor.examined_facts import Facts, LogFacts, RecordFacts, have
from federation.doctor.findings import Finding, Severity, Unchecked
from federation.doctor.overlap import between, head, lacking, longest
from hotset.kafka import Isolation

_SHOWN: Final = 20
_SCATTERED: Final = 10


@dataclass(frozen=True, slots=True)
class _Holes:
    """What a partition's table half lacks in some range, by what Kafka says of it."""

    visible: Spans
    tombstones: Spans
    aborted: Spans
    no_record: Spans
    gone: Spans
    not_looked: Spans

    @property
    def harmless(self) -> int:
        """Number of offsets of the longest hole that Kafka explains."""
        return longest(union([self.tombstones, self.aborted, self.no_record]))

    @property
    def is_any(self) -> bool:
        found = (self.visible, self.tombstones, self.aborted, self.no_record, self.gone, self.not_looked)
        return not all(spans.is_empty for spans in found)

    def to_dict(self) -> dict[str, Any]:
        return {
            name: {"offsets": spans.size, "ranges": [list(r) for r in head(spans, _SHOWN)]}
            for name in ("visible", "tombstones", "aborted", "no_record", "gone", "not_looked")
            if not (spans := getattr(self, name)).is_empty
        }


def check_holes(facts: Facts) -> Iterator[Finding | Unchecked]:
    """Find offsets below the boundary that the table does not hold.

    Raises:
        MissingPartError: The table's or Kafka's records are not known.
    """
    held, records, log = have(facts.positions).held, have(facts.records), have(facts.log)
    holes = {
        p: _holes(held[p].first, below, p, held[p], records, log)
        for p, below in records.below.items()
        if p in held
    }
    holes = {p: found for p, found in holes.items() if found.is_any}
    not_looked = {p: found.not_looked for p, found in holes.items() if not found.not_looked.is_empty}
    if not_looked:
        yield Unchecked(("HOLES",), f"holes further back were not looked up in Kafka: {_shown(not_looked)}")
    if not holes:
        return
    visible = {p: found.visible for p, found in holes.items() if not found.visible.is_empty}
    gone = {p: found.gone for p, found in holes.items() if not found.gone.is_empty}
    if visible:
        severity = Severity.WARNING if facts.history.has_deletes else Severity.ERROR
        message = f"the table lacks {_count(visible)} records that Kafka shows: {_shown(visible)}"
    elif gone:
        # Transactions leave holes in any healthy table; a longer one than they leave now is another matter.
        is_usual = max(map(longest, gone.values())) <= max(found.harmless for found in holes.values())
        severity = Severity.INFO if is_usual else Severity.WARNING
        message = f"the table lacks {_count(gone)} offsets that Kafka has already removed: {_shown(gone)}"
    else:
        severity = Severity.INFO
        total = sum(spans.size for found in holes.values() for spans in (found.tombstones, found.aborted))
        empty = sum(found.no_record.size for found in holes.values())
        message = (
            f"the table's offsets have holes without a record to show: {total} tombstones or aborted "
            f"records, {empty} offsets without a record"
        )
    yield Finding(
        "HOLES",
        severity,
        message,
        {
            "partitions": [{"partition": p, **found.to_dict()} for p, found in holes.items()],
            "history_has_deletes": facts.history.has_deletes,
        },
    )


def check_start(facts: Facts) -> Iterator[Finding | Unchecked]:
    """Find partitions whose beginning is not in the table.

    Raises:
        MissingPartError: The table's or Kafka's records are not known.
    """
    held, records, log = have(facts.positions).held, have(facts.records), have(facts.log)
    late = {
        p: _holes(0, spans.first, p, spans, records, log) for p, spans in held.items() if p in records.below
    }
    late = {p: found for p, found in late.items() if not (found.visible.is_empty and found.gone.is_empty)}
    not_looked = {
        p: spans
        for p, held_spans in held.items()
        if p in records.below
        and not (spans := _holes(0, held_spans.first, p, held_spans, records, log).not_looked).is_empty
    }
    if not_looked:
        yield Unchecked(
            ("WRITER_STARTED_LATE",),
            f"what comes before the first offset was not read to its end: {_shown(not_looked)}",
        )
    if not late:
        return
    visible = {p: found.visible for p, found in late.items() if not found.visible.is_empty}
    severity = Severity.INFO
    if visible:
        severity = Severity.WARNING if facts.history.has_deletes else Severity.ERROR
    firsts = ", ".join(f"partition {p} at {held[p].first}" for p in late)
    shown = f"Kafka still shows {_count(visible)} records before" if visible else "what was before is gone"
    yield Finding(
        "WRITER_STARTED_LATE",
        severity,
        f"the table begins in {firsts}, and {shown}",
        {
            "partitions": [
                {"partition": p, "first": held[p].first, **found.to_dict()} for p, found in late.items()
            ],
            "history_has_deletes": facts.history.has_deletes,
        },
    )


def check_filter(facts: Facts) -> Iterator[Finding]:
    """Find signs that the writer leaves records out on purpose.

    Raises:
        MissingPartError: The table's or Kafka's records are not known.
    """
    held, records, log = have(facts.positions).held, have(facts.records), have(facts.log)
    scattered, empty = {}, {}
    for p, below in records.below.items():
        spans = held.get(p, EMPTY)
        missing = _holes(0 if spans.is_empty else spans.first, below, p, spans, records, log).visible
        if spans.is_empty and not missing.is_empty:
            empty[p] = missing
        elif len(missing) >= _SCATTERED:
            scattered[p] = missing
    if not scattered and not empty:
        return
    parts = []
    if scattered:
        places = sum(len(spans) for spans in scattered.values())
        parts.append(
            f"{_count(scattered)} visible records are missing in {places} separate places of partitions "
            f"{sorted(scattered)}"
        )
    if empty:
        parts.append(
            f"the boundary has passed {_count(empty)} visible records of partitions {sorted(empty)}, of "
            "which the table has no row"
        )
    yield Finding(
        "WRITER_FILTERS",
        Severity.WARNING,
        "; ".join(parts),
        {
            "partitions": [
                {
                    "partition": p,
                    "records": spans.size,
                    "places": len(spans),
                    "ranges": [list(r) for r in head(spans, _SHOWN)],
                }
                for p, spans in {**scattered, **empty}.items()
            ]
        },
    )


def check_isolation(facts: Facts) -> Iterator[Finding | Unchecked]:
    """Find out whether the table was written with the isolation that the topic is read with.

    Raises:
        MissingPartError: The table's or Kafka's records are not known, and no isolation is recorded.
    """
    committed = facts.committed
    recorded = getattr(committed, "isolation", None)
    if recorded is not None and recorded is not facts.isolation:
        yield Finding(
            "ISOLATION_DIFFERS",
            Severity.ERROR,
            f"the table was written {recorded.value}, and the topic is read {facts.isolation.value}",
            {"recorded": recorded.value, "read": facts.isolation.value},
        )
        return
    held, records, log = have(facts.positions).held, have(facts.records), have(facts.log)
    is_shown = facts.isolation is Isolation.READ_UNCOMMITTED
    aborted = {p: spans.within(0, records.below.get(p, 0)) for p, spans in records.aborted.items()}
    wrong = {
        p: spans.subtract(held.get(p, EMPTY)) if is_shown else spans.intersect(held.get(p, EMPTY))
        for p, spans in aborted.items()
    }
    wrong = {p: spans for p, spans in wrong.items() if not spans.is_empty}
    if wrong:
        where = "lacks" if is_shown else "holds"
        yield Finding(
            "ISOLATION_DIFFERS",
            Severity.ERROR,
            f"the table {where} {_count(wrong)} records of aborted transactions, and the topic is read "
            f"{facts.isolation.value}: {_shown(wrong)}",
            {
                "read": facts.isolation.value,
                "records": _count(wrong),
                "partitions": [
                    {"partition": p, "ranges": [list(r) for r in head(spans, _SHOWN)]}
                    for p, spans in wrong.items()
                ],
            },
        )
    not_looked = {
        p: spans
        for p, below in records.below.items()
        if not (spans := lacking(records.looked.get(p, EMPTY), _log_start(log, p), below)).is_empty
    }
    if not_looked and not wrong:
        yield Unchecked(
            ("ISOLATION_DIFFERS",),
            "the log was searched for aborted records up to the limit --look-back, and not in "
            f"{_shown(not_looked)}",
        )


def _holes(start: int, end: int, p: int, held: Spans, records: RecordFacts, log: LogFacts) -> _Holes:
    declared = between((r.start, r.end) for r in records.lost if r.partition == p)
    absent = lacking(held, start, end).subtract(declared)
    log_start = _log_start(log, p)
    present = absent.within(log_start, end)
    seen = present.intersect(records.looked.get(p, EMPTY))
    visible, tombstones, aborted = (
        seen.intersect(kind.get(p, EMPTY)) for kind in (records.visible, records.tombstones, records.aborted)
    )
    return _Holes(
        visible=visible,
        tombstones=tombstones,
        aborted=aborted,
        no_record=seen.subtract(visible).subtract(tombstones).subtract(aborted),
        gone=absent.within(start, min(end, log_start)),
        not_looked=present.subtract(seen),
    )


def _log_start(log: LogFacts, partition: int) -> int:
    return next((f.log_start for f in log.bounds.partitions if f.partition == partition), 0)


def _count(spans: Mapping[int, Spans]) -> int:
    return sum(found.size for found in spans.values())


def _shown(spans: Mapping[int, Spans]) -> str:
    ranges = [f"{p}[{start},{end})" for p, found in sorted(spans.items()) for start, end in head(found, 3)]
    more = sum(len(found) for found in spans.values()) - len(ranges)
    return ", ".join(ranges) + (f" and {more} more" if more > 0 else "") + " (partition[start,end))"
