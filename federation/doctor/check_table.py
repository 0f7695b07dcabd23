"""Judge what the table holds by itself: files and rows that are there twice. Pure.

It must not know Kafka; what Kafka says of the same offsets is `check_records`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from federation.doctor.examined_facts import Facts, Missing, have
from federation.doctor.findings import Finding, Severity, Unchecked
from federation.doctor.overlap import head

_SHOWN: Final = 10


def check_files(facts: Facts) -> Iterator[Finding]:
    """Find data files that the snapshot refers to more than once.

    Raises:
        MissingPartError: The manifests could not be read.
    """
    added = defaultdict(list)
    rows = {}
    for file in have(facts.files):
        if file.is_data:
            added[file.path].append(file.added_by)
            rows[file.path] = file.rows
    twice = {path: by for path, by in added.items() if len(by) > 1}
    if twice:
        extra = sum(rows[path] * (len(by) - 1) for path, by in twice.items())
        listed = ", ".join(list(twice)[:3])
        yield Finding(
            "DUPLICATE_FILES",
            Severity.ERROR,
            f"{len(twice)} of {len(added)} data files are referred to more than once in snapshot "
            f"{facts.snapshot_id}, which makes {extra} rows too many: {listed}",
            {
                "snapshot_id": facts.snapshot_id,
                "files": len(twice),
                "extra_rows": extra,
                "examples": [
                    {"path": path, "rows": rows[path], "added_by": by}
                    for path, by in list(twice.items())[:_SHOWN]
                ],
            },
        )


def check_rows(facts: Facts) -> Iterator[Finding]:
    """Find records that the table holds more than once.

    Raises:
        MissingPartError: The rows' positions are not known.
    """
    positions = have(facts.positions)
    count = sum(positions.extra_rows.values())
    if not count:
        return
    examples = {partition: head(spans, _SHOWN) for partition, spans in positions.repeated.items()}
    first = ", ".join(f"{p}[{start},{end})" for p, found in examples.items() for start, end in found[:3])
    yield Finding(
        "DUPLICATE_RECORDS",
        Severity.ERROR,
        f"{count} rows repeat a record that snapshot {facts.snapshot_id} already holds, in partitions "
        f"{sorted(examples)}: {first} (partition[start,end))",
        {
            "snapshot_id": facts.snapshot_id,
            "rows": count,
            "rows_by_partition": {str(p): rows for p, rows in positions.extra_rows.items()},
            "examples": [[p, start, end] for p, found in examples.items() for start, end in found],
        },
    )


def check_count(facts: Facts) -> Iterator[Finding | Unchecked]:
    """Find out whether the table has more rows than records it may hold.

    Raises:
        MissingPartError: The boundary is not known.
    """
    if not isinstance(facts.positions, Missing) or not facts.history.ancestors:
        return  # Each row says itself which record it is.
    offsets = sum(have(facts.committed).next_offset.values())
    summary = facts.history.ancestors[0].summary
    rows, deletes = (summary.get(key, "") for key in ("total-records", "total-delete-files"))
    if not rows.isdecimal() or deletes not in ("", "0"):
        yield Unchecked(
            ("MORE_ROWS_THAN_OFFSETS",),
            f"the summary of snapshot {facts.snapshot_id} does not count the rows",
        )
    elif int(rows) > offsets:
        yield Finding(
            "MORE_ROWS_THAN_OFFSETS",
            Severity.WARNING,
            f"snapshot {facts.snapshot_id} has {rows} rows, and below its boundary there are {offsets} "
            "offsets",
            {"snapshot_id": facts.snapshot_id, "rows": int(rows), "offsets": offsets},
        )


def check_positions(facts: Facts) -> Iterator[Finding]:
    """Find rows that do not say which record they are.

    Raises:
        MissingPartError: The rows' positions are not known.
    """
    rows = have(facts.positions).rows_without
    if rows:
        yield Finding(
            "ROWS_WITHOUT_POSITION",
            Severity.WARNING,
            f"{rows} rows of snapshot {facts.snapshot_id} have no Kafka partition or no offset",
            {"snapshot_id": facts.snapshot_id, "rows": rows},
        )


def check_merge(facts: Facts) -> Iterator[Finding]:
    """Find out whether the table's writer replaces rows by key."""
    if facts.upserts is None or facts.topic is None:
        return
    said = "; merge=append says that rows are only added" if facts.is_said_to_append else ""
    yield Finding(
        "MERGE_NEEDED",
        Severity.WARNING if facts.is_said_to_append else Severity.ERROR,
        f"table {facts.table} looks as if it had the latest row of each key: {facts.upserts}{said}",
        {"snapshot_id": facts.snapshot_id, "is_said_to_append": facts.is_said_to_append},
    )


def check_fields(facts: Facts) -> Iterator[Finding]:
    """Find fields of hot records that the table has no column for.

    Raises:
        MissingPartError: The hot records are not known.
    """
    found = have(facts.fields)
    if found.unmapped:
        names = ", ".join(found.unmapped[:_SHOWN])
        yield Finding(
            "FIELDS_UNMAPPED",
            Severity.WARNING,
            f"table {facts.table} has no column for {len(found.unmapped)} fields of its hot records, whose "
            f"values no answer has and no commit keeps: {names}",
            {"fields": list(found.unmapped), "records": found.rows, "bad": found.bad},
        )


def check_readable(facts: Facts) -> Iterator[Finding]:
    """Find out whether a query could read the snapshot at all.

    Raises:
        MissingPartError: The manifests could not be read.
    """
    unreadable = have(facts.unreadable)
    if unreadable is not None:
        yield Finding("TABLE_NOT_SUPPORTED", Severity.ERROR, unreadable, {"snapshot_id": facts.snapshot_id})
