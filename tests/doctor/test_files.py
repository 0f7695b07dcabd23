"""Files and counts that tell of damage without a look at any row.

Each test plants one thing that writers are known to do wrong.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from federation.doctor.examination import examine
from federation.doctor.findings import Severity
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.deletes import delete_by_unknown_key
from tests.doctor.ward import (
    ROWS,
    codes,
    found,
    look,
    mark,
    put,
    send,
    unchecked,
)

pytestmark = pytest.mark.kafka


def add_files_again(lake: Lake) -> None:
    """Commit the data files of the head a second time, as a sink that lost its place does."""
    table = lake.load()
    files = [task.file for task in table.scan().plan_files()]
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)


def test_files_committed_twice_are_found_with_the_snapshots_that_did_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, 5)
    first = put(made, range(5), **mark(made, {0: 5, 1: 0}))
    add_files_again(made)
    again = made.load().current_snapshot()
    assert again is not None

    report = look(made)

    finding = found(report, "DUPLICATE_FILES")
    assert finding.severity is Severity.ERROR
    assert (finding.facts["files"], finding.facts["extra_rows"]) == (1, 5)
    assert sorted(finding.facts["examples"][0]["added_by"]) == sorted([first, again.snapshot_id])
    assert found(report, "DUPLICATE_RECORDS").facts["rows"] == 5


def test_more_rows_than_offsets_are_found_without_kafka_columns(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 4)
    put(made, range(4), **mark(made, {0: 4}))
    in_order = examine(made.merged())
    put(made, range(2), **mark(made, {0: 4}))

    finding = found(examine(made.merged()), "MORE_ROWS_THAN_OFFSETS")

    assert "MORE_ROWS_THAN_OFFSETS" in in_order.silent
    assert finding.severity is Severity.WARNING
    assert (finding.facts["rows"], finding.facts["offsets"]) == (6, 4)


def test_a_snapshot_that_no_query_can_read_is_an_error(
    lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, range(2), **mark(made, {0: 2}))
    delete_by_unknown_key(made, monkeypatch)

    report = look(made)

    assert "deleted by" in found(report, "TABLE_NOT_SUPPORTED").message
    assert {"DUPLICATE_RECORDS", "HOLES"} <= unchecked(report)


def test_a_manifest_that_cannot_be_read_is_said(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, range(2), **mark(made, {0: 2}))
    [manifest] = made.load().current_snapshot().manifests(made.load().io)
    Path(urlsplit(manifest.manifest_path).path).write_bytes(b"Obj")

    report = look(made)

    failed = {code for one in report.unchecked if one.is_failure for code in one.codes}
    assert {"DUPLICATE_FILES", "DUPLICATE_RECORDS", "TABLE_NOT_SUPPORTED"} <= failed
    assert report.worst is Severity.WARNING


def test_without_kafka_columns_rows_are_said_to_be_not_checked(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    produce(made.bootstrap, made.topic, [{"seq": 1}, {"seq": 2}])
    put(made, [0, 0], **mark(made, {0: 2}))

    report = examine(made.merged())

    assert codes(report) == {"WRITER"}
    assert {"DUPLICATE_RECORDS", "HOLES", "WRITER_STARTED_LATE", "WRITER_FILTERS"} <= unchecked(report)
    assert report.worst is Severity.INFO
