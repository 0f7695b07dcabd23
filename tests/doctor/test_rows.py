"""Damage that was done to a table's rows and files, and what is found of it.

Each test plants one thing that writers are known to do wrong.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from federation.doctor.examination import examine
from federation.doctor.findings import Severity
from hotset.kafka.offsets import Isolation
from tests.builders import delete_records
from tests.conftest import MakeLake
from tests.doctor.ward import (
    ROWS,
    codes,
    found,
    look,
    mark,
    put,
    send,
    send_in_transaction,
    unchecked,
)

pytestmark = pytest.mark.kafka


def test_planted_duplicates_and_holes_are_each_found(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, 30)
    send(made, 12, partition=1)
    put(made, [*range(10), *range(14, 25)])
    put(made, [3, 4, 4, 20, 25, 26, 27, 28, 29])
    put(made, [*range(7), *range(9, 12)], partition=1, **mark(made, {0: 30, 1: 12}))

    report = look(made)

    duplicates = found(report, "DUPLICATE_RECORDS")
    assert duplicates.facts["rows"] == 4
    assert sorted(duplicates.facts["examples"]) == [[0, 3, 5], [0, 20, 21]]
    holes = found(report, "HOLES")
    assert holes.severity is Severity.ERROR
    assert [(p["partition"], p["visible"]["ranges"]) for p in holes.facts["partitions"]] == [
        (0, [[10, 14]]),
        (1, [[7, 9]]),
    ]
    assert "6 records that Kafka shows: 0[10,14), 1[7,9)" in holes.message
    assert codes(report) == {"WRITER", "DUPLICATE_RECORDS", "HOLES"}


def test_trailing_records_below_the_boundary_are_a_hole(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, range(8), **mark(made, {0: 10}))

    assert found(look(made), "HOLES").facts["partitions"][0]["visible"]["ranges"] == [[8, 10]]


def test_holes_that_the_log_no_longer_covers_are_a_warning(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, [0, 1, 2, 5, 6, 7, 8, 9], **mark(made, {0: 10}))
    delete_records(made.bootstrap, made.topic, {0: 7})

    finding = found(look(made), "HOLES")

    assert finding.severity is Severity.WARNING
    assert finding.facts["partitions"][0]["gone"]["ranges"] == [[3, 5]]


def test_holes_no_longer_than_transactions_leave_are_only_told(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    for _ in range(3):
        send_in_transaction(made, 2, commits=True)
    put(made, [0, 1, 3, 4, 6, 7], **mark(made, {0: 9}))
    delete_records(made.bootstrap, made.topic, {0: 6})

    finding = found(look(made), "HOLES")

    assert finding.severity is Severity.INFO
    assert finding.facts["partitions"][0]["gone"]["ranges"] == [[2, 3], [5, 6]]


def test_deleted_rows_make_missing_records_a_warning(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, range(10), **mark(made, {0: 10}))
    made.load().delete("kafka_offset = 4")

    finding = found(look(made), "HOLES")

    assert finding.severity is Severity.WARNING
    assert finding.facts["history_has_deletes"] is True


def test_holes_beyond_the_limit_are_said_to_be_not_looked_up(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 60)
    put(made, [*range(2), *range(30, 60)], **mark(made, {0: 60}))

    report = look(made, look_back=20)

    [partition] = found(report, "HOLES").facts["partitions"]
    assert partition["visible"]["ranges"] == [[2, 12]]
    assert partition["not_looked"]["ranges"] == [[12, 30]]
    assert {"HOLES", "ISOLATION_DIFFERS"} <= unchecked(report)


def test_declared_losses_are_no_holes(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    text = mark(made, {0: 10})["kafkaiceberg.offsets"].replace(
        '"next_offset":10', '"next_offset":10,"lost":[[2,4]]'
    )
    put(made, [0, 1, *range(4, 10)], **{"kafkaiceberg.offsets": text})

    assert codes(look(made)) == {"WRITER"}


def test_a_writer_that_began_at_latest_is_found_while_kafka_has_the_beginning(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, range(6, 10), **mark(made, {0: 10}))

    report = look(made)

    finding = found(report, "WRITER_STARTED_LATE")
    assert finding.severity is Severity.ERROR
    assert finding.facts["partitions"][0]["visible"]["ranges"] == [[0, 6]]
    assert "HOLES" in report.silent


def test_a_late_beginning_that_the_log_no_longer_covers_is_only_told(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    delete_records(made.bootstrap, made.topic, {0: 6})
    put(made, range(6, 10), **mark(made, {0: 10}))

    finding = found(look(made), "WRITER_STARTED_LATE")

    assert finding.severity is Severity.INFO
    assert finding.facts["partitions"][0]["gone"]["ranges"] == [[0, 6]]


def test_a_beginning_without_visible_records_is_no_late_start(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send_in_transaction(made, 3, commits=False)
    send(made, 2)
    put(made, [4, 5], **mark(made, {0: 6}))

    assert "WRITER_STARTED_LATE" in look(made).silent


def test_records_missing_here_and_there_look_like_a_filter(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 40)
    put(made, range(0, 40, 2), **mark(made, {0: 40}))

    finding = found(look(made), "WRITER_FILTERS")

    assert finding.severity is Severity.WARNING
    assert (finding.facts["partitions"][0]["records"], finding.facts["partitions"][0]["places"]) == (20, 20)


def test_a_partition_that_was_read_and_has_no_row_looks_like_a_filter(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, 3)
    send(made, 7, partition=1)
    put(made, range(3), **mark(made, {0: 3, 1: 7}))

    finding = found(look(made), "WRITER_FILTERS")

    assert [(p["partition"], p["records"]) for p in finding.facts["partitions"]] == [(1, 7)]


def test_aborted_records_in_the_table_show_that_the_writer_read_uncommitted(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    send_in_transaction(made, 3, commits=False)
    put(made, range(5), **mark(made, {0: 6}))

    finding = found(look(made), "ISOLATION_DIFFERS")

    assert finding.severity is Severity.ERROR
    assert finding.facts["partitions"] == [{"partition": 0, "ranges": [[2, 5]]}]


def test_aborted_records_that_are_read_and_not_in_the_table_are_found(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    send_in_transaction(made, 3, commits=False)
    put(made, range(2), **mark(made, {0: 6}, isolation=Isolation.READ_UNCOMMITTED))

    finding = found(look(made, **{"kafka.isolation.level": "read_uncommitted"}), "ISOLATION_DIFFERS")

    assert "lacks 3 records of aborted transactions" in finding.message


def test_a_recorded_isolation_is_compared_with_the_one_that_is_used(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, range(2), **mark(made, {0: 2}, isolation=Isolation.READ_UNCOMMITTED))

    finding = found(look(made, **{"kafka.isolation.level": "read_committed"}), "ISOLATION_DIFFERS")

    assert finding.facts == {"recorded": "read_uncommitted", "read": "read_committed"}


def test_rows_without_a_position_are_counted(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, range(2))
    stranger = pa.Table.from_pylist([{"seq": 1, "kafka_partition": None, "kafka_offset": None}], schema=ROWS)
    made.load().append(stranger, snapshot_properties=mark(made, {0: 2}))

    finding = found(look(made), "ROWS_WITHOUT_POSITION")

    assert finding.facts["rows"] == 1


def test_columns_of_a_known_writer_need_no_option(lake: MakeLake) -> None:
    place = pa.struct([("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.int64())])
    schema = pa.schema([("seq", pa.int64()), ("redpanda", place)])
    made = lake(schema=schema, partitions=1)
    send(made, 4)
    rows = [{"seq": n, "redpanda": {"partition": 0, "offset": n, "timestamp": 0}} for n in (0, 1, 1, 3)]
    made.load().append(pa.Table.from_pylist(rows, schema=schema), snapshot_properties=mark(made, {0: 4}))

    report = examine(made.merged())

    assert found(report, "DUPLICATE_RECORDS").facts["examples"] == [[0, 1, 2]]
    assert found(report, "HOLES").facts["partitions"][0]["visible"]["ranges"] == [[2, 3]]


def test_rows_of_other_topics_do_not_count(lake: MakeLake) -> None:
    schema = ROWS.append(pa.field("kafka_topic", pa.string()))
    made = lake(schema=schema, partitions=1)
    send(made, 3)
    rows = [
        {"seq": n, "kafka_partition": 0, "kafka_offset": n, "kafka_topic": topic}
        for n in range(3)
        for topic in (made.topic, "another")
    ]
    made.load().append(pa.Table.from_pylist(rows, schema=schema), snapshot_properties=mark(made, {0: 3}))

    named = "partition=kafka_partition,offset=kafka_offset,topic=kafka_topic"

    assert codes(look(made, kafkaColumns=named)) == {"WRITER"}
    assert found(look(made), "DUPLICATE_RECORDS").facts["rows"] == 3
