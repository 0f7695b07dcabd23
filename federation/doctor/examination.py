"""Examine a table: gather the facts, let every check judge them, and report.

The examination never repairs anything and reads only. A check whose facts could
not be had is reported as not made. The order of gathering is that of a cut: the
snapshot is pinned first and Kafka is asked afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from coldset.table import PinnedTable
from federation.boundary import CommittedOffsets, isolation_of, resolve_boundary
from federation.cut import pin_table
from federation.doctor import check_history, check_log, check_records, check_table
from federation.doctor.examined_facts import Facts, FieldFacts, Missing, MissingPartError
from federation.doctor.findings import Finding, Report, Unchecked
from federation.doctor.gather_fields import gather_fields
from federation.doctor.gather_log import gather_log, gather_records, gather_retention
from federation.doctor.gather_table import find_unreadable, gather_files, gather_history, gather_positions
from federation.errors import BoundaryUnknownError, OptionError
from federation.merge import APPEND, find_upserts
from federation.options import OPTIONS, TableDefinition, resolve
from foundation.deadline import Deadline
from foundation.errors import KafkaIcebergError
from hotset.kafka import KafkaClient, connect

LOOK_BACK: Final = 100_000
WARN_WITHIN_MS: Final = 3_600_000

# What a commit that lands meanwhile looks like, and how often it is looked at again.
_RACES: Final = {"BOUNDARY_UNKNOWN", "RETENTION_PASSED"}
_AGAIN: Final = 2
_PLAIN: Final = Missing("a plain table (read=cold) has no topic", is_failure=False)


@dataclass(frozen=True, slots=True)
class Check:
    """One judgement, and the codes of all findings that can come of it."""

    codes: tuple[str, ...]
    judge: Callable[[Facts], Iterable[Finding | Unchecked]]


CHECKS: Final = (
    Check(("DUPLICATE_FILES",), check_table.check_files),
    Check(("DUPLICATE_RECORDS",), check_table.check_rows),
    Check(("MORE_ROWS_THAN_OFFSETS",), check_table.check_count),
    Check(("ROWS_WITHOUT_POSITION",), check_table.check_positions),
    Check(("TABLE_NOT_SUPPORTED",), check_table.check_readable),
    Check(("MERGE_NEEDED",), check_table.check_merge),
    Check(("FIELDS_UNMAPPED",), check_table.check_fields),
    Check(("BOUNDARY_REGRESSION",), check_history.check_regression),
    Check(("BOUNDARY_AT_RISK",), check_history.check_expiry),
    Check(("BOUNDARY_UNKNOWN",), check_history.check_boundary),
    Check(("WRITER",), check_history.check_writer),
    Check(("TOPIC_MISSING",), check_log.check_missing),
    Check(("TOPIC_RECREATED",), check_log.check_topic),
    Check(("PARTITIONS_ADDED", "PARTITIONS_FEWER"), check_log.check_partitions),
    Check(("BOUNDARY_AHEAD",), check_log.check_ahead),
    Check(("RETENTION_PASSED",), check_log.check_passed),
    Check(("RETENTION_NEAR",), check_log.check_near),
    Check(("HELD_BACK",), check_log.check_held),
    Check(("COLD_BEHIND",), check_log.check_behind),
    Check(("HOLES",), check_records.check_holes),
    Check(("WRITER_STARTED_LATE",), check_records.check_start),
    Check(("WRITER_FILTERS",), check_records.check_filter),
    Check(("ISOLATION_DIFFERS",), check_records.check_isolation),
)


def examine(
    options: Mapping[str, str], *, look_back: int = LOOK_BACK, warn_within_ms: int = WARN_WITHIN_MS
) -> Report:
    """Examine a table and its topic.

    Args:
        options: From `merge_options`.
        look_back: Offsets per partition to read from Kafka below the boundary, at most.
        warn_within_ms: How near a loss by retention must be to be a warning.

    Raises:
        OptionError: Options are missing or contradict.
        ColdsetError: There is no such table or snapshot, or the catalog could not be asked.
        HotsetError: A Kafka property is not allowed.
    """
    for name in ("cut", "as-of"):
        if name in options:
            raise OptionError(f"an examination is of a table as it is now, and takes no {name}", option=name)
    if OPTIONS.value_of(options, "read") == "hot":
        raise OptionError("read=hot reads no table, so there is nothing to examine", option="read")
    pinned, definition = pin_table(options)
    fields = _PLAIN if definition.topic is None else gather_fields(options)
    report = judge(_gather(pinned, definition, fields, look_back, warn_within_ms))
    for _ in range(_AGAIN):
        if not any(finding.code in _RACES for finding in report.findings):
            break
        # A commit may have landed while Kafka, or the writer, was asked; a newer snapshot tells.
        seen = pinned.snapshot_id
        pinned, definition = pin_table(options)
        if pinned.snapshot_id == seen:
            break
        report = judge(_gather(pinned, definition, fields, look_back, warn_within_ms))
    return report


def judge(facts: Facts) -> Report:
    """Let every check judge the facts. Pure."""
    findings: list[Finding] = []
    unchecked: list[Unchecked] = []
    silent: list[str] = []
    for check in CHECKS:
        said: list[Finding | Unchecked] = []
        try:
            said.extend(check.judge(facts))
        except MissingPartError as exc:
            said.append(Unchecked(check.codes, exc.part.why, exc.part.is_failure))
        findings.extend(one for one in said if isinstance(one, Finding))
        unchecked.extend(one for one in said if isinstance(one, Unchecked))
        spoken = {one.code for one in said if isinstance(one, Finding)}
        spoken.update(code for one in said if isinstance(one, Unchecked) for code in one.codes)
        silent.extend(code for code in check.codes if code not in spoken)
    findings.sort(key=lambda finding: -finding.severity)
    return Report(
        facts.table,
        facts.snapshot_id,
        facts.topic,
        facts.now_ms,
        tuple(findings),
        _grouped(unchecked),
        tuple(silent),
    )


def _grouped(unchecked: list[Unchecked]) -> tuple[Unchecked, ...]:
    codes: dict[tuple[str, bool], list[str]] = {}
    for one in unchecked:
        codes.setdefault((one.why, one.is_failure), []).extend(one.codes)
    return tuple(Unchecked(tuple(found), why, failed) for (why, failed), found in codes.items())


def _gather(
    pinned: PinnedTable,
    definition: TableDefinition,
    fields: FieldFacts | Missing,
    look_back: int,
    warn_within_ms: int,
) -> Facts:
    unreadable = find_unreadable(pinned, definition)
    facts = Facts(
        table=definition.name,
        snapshot_id=pinned.snapshot_id,
        topic=definition.topic,
        isolation=definition.isolation,
        now_ms=time.time_ns() // 1_000_000,
        warn_within_ms=warn_within_ms,
        history=gather_history(pinned, definition),
        # A manifest that is cut short reads as a shorter one, which planning notices.
        files=unreadable if isinstance(unreadable, Missing) else gather_files(pinned),
        unreadable=unreadable,
        upserts=find_upserts(pinned),
        is_said_to_append=definition.merge == APPEND,
        positions=gather_positions(pinned, definition)
        if unreadable is None
        else Missing("the snapshot cannot be read", is_failure=True),
        committed=_PLAIN,
        unknown=None,
        log=_PLAIN,
        retention=_PLAIN,
        records=_PLAIN,
        fields=fields,
    )
    if definition.topic is None:
        return facts
    client = connect(resolve(definition.kafka_properties))
    committed, unknown = _resolve(pinned, definition, client)
    told = None if isinstance(committed, Missing) else committed
    definition = replace(definition, isolation=isolation_of(told, definition)[0])
    log = gather_log(client, definition, committed)
    now_ms = time.time_ns() // 1_000_000
    facts = replace(facts, isolation=definition.isolation, now_ms=now_ms)
    facts = replace(facts, committed=committed, unknown=unknown, log=log)
    if isinstance(log, Missing):
        return replace(facts, retention=log, records=log)
    records = (
        facts.positions
        if isinstance(facts.positions, Missing)
        else gather_records(client, definition, log, facts.positions, committed, look_back=look_back)
    )
    return replace(facts, retention=gather_retention(client, definition, log), records=records)


def _resolve(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> tuple[CommittedOffsets | Missing, str | None]:
    try:
        deadline = Deadline.after_ms(definition.plan_timeout_ms)
        return resolve_boundary(pinned, definition, client, deadline), None
    except BoundaryUnknownError as exc:
        return Missing("the boundary is not known", is_failure=False), str(exc)
    except KafkaIcebergError as exc:
        return Missing(f"the boundary could not be found: {exc}", is_failure=True, code=exc.code), None
