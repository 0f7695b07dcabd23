"""Judge the ancestry of a snapshot: marks that go backwards, and marks that expiry takes away. Pure.

Marks are read as their writers wrote them; what they mean for the boundary is
the resolvers' business and not looked at here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from federation.boundary import (
    CONNECT_OFFSETS_PREFIX,
    FLINK_CHECKPOINT_ID,
    FLINK_JOB_ID,
    FLINK_OPERATOR_ID,
    OFFSETS_PROPERTY,
    SPARK_EPOCH_ID,
    SPARK_QUERY_ID,
    Confidence,
    parse_offsets,
)
from federation.boundary import REDPANDA_MARK as REDPANDA
from federation.doctor.examined_facts import Ancestor, Facts, Missing, have
from federation.doctor.findings import Finding, Severity
from federation.errors import BoundaryUnknownError

_VERSIONS: Final = ("engine-name", "engine-version", "iceberg-version")
_SHOWN: Final = 10


def check_regression(facts: Facts) -> Iterator[Finding]:
    """Find marks that are lower than those of an earlier snapshot."""
    highest: dict[tuple[str, ...], tuple[int, int]] = {}
    found: list[dict[str, Any]] = []
    for ancestor in reversed(facts.history.ancestors):
        for name, value in _marks(ancestor).items():
            before, by = highest.get(name, (value, 0))
            if value < before:
                found.append(
                    {
                        "mark": " ".join(name),
                        "from": before,
                        "to": value,
                        "snapshot_id": ancestor.snapshot_id,
                        "earlier_snapshot_id": by,
                    }
                )
            # The step back is the finding; what follows is compared with where it went back to.
            highest[name] = (value, ancestor.snapshot_id)
    if found:
        is_ours = any(one["mark"].startswith(OFFSETS_PROPERTY) for one in found)
        first = found[0]
        yield Finding(
            "BOUNDARY_REGRESSION",
            Severity.ERROR if is_ours else Severity.WARNING,
            f"marks go back {len(found)} times in the history of snapshot {facts.snapshot_id}: "
            f"{first['mark']} is {first['from']} in snapshot {first['earlier_snapshot_id']} and "
            f"{first['to']} in the later snapshot {first['snapshot_id']}",
            {"count": len(found), "steps": found[:_SHOWN]},
        )


def check_expiry(facts: Facts) -> Iterator[Finding]:
    """Find out whether expiry has lost, or may lose, the mark that tells the boundary."""
    history = facts.history
    if isinstance(facts.committed, Missing) and not history.is_complete and history.mark is None:
        yield Finding(
            "BOUNDARY_AT_RISK",
            Severity.ERROR,
            f"none of the {len(history.ancestors)} snapshots that expiry left in the history of snapshot "
            f"{facts.snapshot_id} carries a writer's mark",
            {"state": "lost", "ancestors": len(history.ancestors)},
        )
    elif _hangs_by_a_file(facts):
        yield Finding(
            "BOUNDARY_AT_RISK",
            Severity.WARNING,
            f"no snapshot in the history of snapshot {facts.snapshot_id} carries a writer's mark any more; "
            "only an older metadata file of the table still tells it",
            {"state": "expired", "ancestors": len(history.ancestors)},
        )
    # A snapshot that is not the newest is expired whatever the newest carries.
    if history.mark is None or history.mark == 0 or not history.is_head:
        return
    marked = history.ancestors[history.mark]
    if history.mark_name == OFFSETS_PROPERTY and marked.is_pinned:
        kept = [marked.kept_until_ms]
    else:
        # The mark is found by parents, so losing any snapshot on the way to it loses the mark.
        kept = [ancestor.kept_until_ms for ancestor in history.ancestors[1 : history.mark + 1]]
    until_ms = min((until for until in kept if until is not None), default=None)
    if until_ms is None:
        return
    minutes = (until_ms - facts.now_ms) // 60_000
    is_now = minutes <= 0
    when = "may be expired now" if is_now else f"may be expired in {minutes} minutes"
    yield Finding(
        "BOUNDARY_AT_RISK",
        Severity.WARNING if is_now else Severity.INFO,
        f"snapshot {marked.snapshot_id}, {history.mark} steps behind the head, is the nearest that carries "
        f"a mark ({history.mark_name}), no tag keeps it for good, and by the table's settings the way to it "
        f"{when}",
        {
            "state": "now" if is_now else "later",
            "snapshot_id": marked.snapshot_id,
            "mark": history.mark_name,
            "steps": history.mark,
            "minutes": max(0, minutes),
        },
    )


def _hangs_by_a_file(facts: Facts) -> bool:
    history, committed = facts.history, facts.committed
    is_marked = not isinstance(committed, Missing) and committed.resolver not in ("columns", "declared")
    return (
        is_marked
        and bool(history.ancestors)
        and history.mark is None
        and not history.is_complete
        and not history.has_tag
    )


def check_writer(facts: Facts) -> Iterator[Finding]:
    """Say who tells the boundary, and how sure that is; or that nobody does.

    Raises:
        MissingPartError: The boundary could not be asked for.
    """
    committed = have(facts.committed)
    versions = _versions(facts.history.ancestors)
    named = "; summaries name " + "; ".join(versions) if versions else ""
    is_sure = committed.confidence is not Confidence.ESTIMATED
    assumed = f", assuming {', '.join(committed.assumed)}" if committed.assumed else ""
    yield Finding(
        "WRITER",
        Severity.INFO if is_sure else Severity.WARNING,
        f"resolver {committed.resolver} answers from {committed.provenance} "
        f"({committed.confidence.value}){assumed}{named}",
        {
            "resolver": committed.resolver,
            "provenance": committed.provenance,
            "confidence": committed.confidence.value,
            "assumed": list(committed.assumed),
            "looked": list(committed.looked),
            "versions": versions,
            "partitions": {str(p): offset for p, offset in sorted(committed.next_offset.items())},
        },
    )


def check_boundary(facts: Facts) -> Iterator[Finding]:
    """Say that the boundary is not known, in the resolvers' words.

    Raises:
        MissingPartError: The boundary could not be asked for.
    """
    if facts.unknown is None:
        have(facts.committed)
        return
    yield Finding("BOUNDARY_UNKNOWN", Severity.ERROR, facts.unknown, {"snapshot_id": facts.snapshot_id})


def _marks(ancestor: Ancestor) -> dict[tuple[str, ...], int]:
    """Return every number in a summary that must not fall along the history."""
    summary = ancestor.summary
    found: dict[tuple[str, ...], int] = {}
    if OFFSETS_PROPERTY in summary:
        try:
            ours = parse_offsets(summary[OFFSETS_PROPERTY], snapshot_id=ancestor.snapshot_id, provenance="")
        except BoundaryUnknownError:
            pass  # It is the resolver that says so.
        else:
            for partition, offset in ours.next_offset.items():
                # Another topic counts anew.
                found[OFFSETS_PROPERTY, f"topic {ours.topic_id}", f"partition {partition}"] = offset
    for name, text in summary.items():
        if name.startswith(CONNECT_OFFSETS_PREFIX):
            found.update({(name, f"control partition {p}"): offset for p, offset in _numbers(text).items()})
    if REDPANDA in summary:
        found.update(
            {(REDPANDA, name): n for name, n in _numbers(summary[REDPANDA]).items() if name == "offset"}
        )
    if SPARK_QUERY_ID in summary:
        _note(found, (SPARK_EPOCH_ID, f"query {summary[SPARK_QUERY_ID]}"), summary.get(SPARK_EPOCH_ID))
    if FLINK_JOB_ID in summary:
        of = (f"job {summary[FLINK_JOB_ID]}", f"operator {summary.get(FLINK_OPERATOR_ID)}")
        _note(found, (FLINK_CHECKPOINT_ID, *of), summary.get(FLINK_CHECKPOINT_ID))
    return found


def _note(found: dict[tuple[str, ...], int], name: tuple[str, ...], text: str | None) -> None:
    if text is not None and text.lstrip("-").isdecimal():
        found[name] = int(text)


def _numbers(text: str) -> dict[str, int]:
    try:
        document: Any = json.loads(text)
        return {str(name): value for name, value in document.items() if isinstance(value, int)}
    except (ValueError, TypeError, AttributeError):
        return {}


def _versions(ancestors: tuple[Ancestor, ...]) -> list[str]:
    return list(dict.fromkeys(name for ancestor in ancestors if (name := _engine(ancestor.summary))))


def _engine(summary: Mapping[str, str]) -> str:
    parts = [summary.get(name) for name in _VERSIONS]
    engine = " ".join(part for part in parts[:2] if part)
    # The version of the library is followed by the commit it was built from.
    library = (parts[2] or "").partition(" (")[0]
    return ", ".join(part for part in (engine, library) if part)
