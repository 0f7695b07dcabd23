"""A table in order has nothing found against it, and every check was really made.

That no check is silent by accident is shown next door: there each one speaks.
"""

from __future__ import annotations

import pytest

from federation.doctor.catalogue import KINDS
from federation.doctor.findings import Severity
from tests.builders import commit_until, produce
from tests.conftest import MakeLake
from tests.doctor.ward import COLUMNS, ROWS, codes, found, look, mark, put, send, send_in_transaction, tag

pytestmark = pytest.mark.kafka

ALL = {kind.code for kind in KINDS}


def test_a_table_in_order_has_nothing_against_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, 10)
    send(made, 4, partition=1)
    put(made, range(10))
    put(made, range(4), partition=1, **mark(made, {0: 10, 1: 4}))

    report = look(made)

    assert codes(report) == {"WRITER"}
    assert report.unchecked == ()
    assert set(report.silent) == ALL - {"WRITER"}
    assert report.worst is Severity.INFO


def test_a_frozen_table_with_hot_records_has_nothing_against_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS).having(kafkaColumns=COLUMNS)
    produce(made.bootstrap, made.topic, [{"seq": n} for n in range(8)])
    produce(made.bootstrap, made.topic, [{"seq": n} for n in range(2)], partition=1)
    commit_until(made, {0: 3})
    commit_until(made, {0: 5})

    report = look(made)

    assert codes(report) == {"WRITER", "COLD_BEHIND"}
    assert report.unchecked == ()
    assert found(report, "COLD_BEHIND").facts["offsets"] == 3
    assert report.worst is Severity.INFO


def test_transactions_tombstones_and_commits_of_others_are_no_harm(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 3)
    send_in_transaction(made, 4, commits=False)
    produce(made.bootstrap, made.topic, [None, {"seq": 9}])
    send_in_transaction(made, 2, commits=True)
    tag(made, put(made, [0, 1, 2, 9, 10, 11], **mark(made, {0: 13})))
    put(made, [])

    report = look(made)

    assert codes(report) == {"WRITER", "HOLES"}
    holes = found(report, "HOLES")
    assert holes.severity is Severity.INFO
    [partition] = holes.facts["partitions"]
    assert partition["aborted"]["ranges"] == [[3, 7]]
    assert partition["tombstones"]["ranges"] == [[8, 9]]
    assert partition["no_record"]["ranges"] == [[7, 8], [12, 13]]
    assert report.worst is Severity.INFO


def test_a_table_without_a_snapshot_is_only_behind(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, 3)

    report = look(made)

    assert codes(report) == {"WRITER", "COLD_BEHIND"}
    assert report.worst is Severity.INFO


def test_a_plain_table_is_examined_without_kafka(lake: MakeLake) -> None:
    made = lake(schema=ROWS, topic=False)
    put(made, range(3))

    report = look(made, read="cold")

    assert report.findings == ()
    assert {"DUPLICATE_FILES", "DUPLICATE_RECORDS", "BOUNDARY_REGRESSION"} <= set(report.silent)
    assert [(one.why, one.is_failure) for one in report.unchecked] == [
        ("a plain table (read=cold) has no topic", False)
    ]
    assert report.worst is Severity.INFO
