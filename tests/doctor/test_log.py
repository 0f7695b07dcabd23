"""How a table and its topic can drift apart, and what is found of it.

Retention is moved by deleting records, or left to Kafka's own settings; topics
are really deleted, made again and given partitions.
"""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from federation.doctor.findings import Severity
from tests.builders import (
    Lake,
    add_partitions,
    delete_records,
    delete_topic,
    make_topic,
    produce,
)
from tests.conftest import MakeLake
from tests.doctor.ward import ROWS, codes, found, look, mark, put, records, send, unchecked
from tests.transactions import begin, wait_until_ended

pytestmark = pytest.mark.kafka

DAY_MS = 86_400_000


def half_full(make: MakeLake, **config: str) -> Lake:
    """Ten records, of which the table has four."""
    made = make(schema=ROWS, topic=False)
    make_topic(made.bootstrap, made.topic, partitions=1, **config)
    send(made, 10)
    put(made, range(4), **mark(made, {0: 4}))
    return made


def test_retention_that_passed_the_boundary_is_an_error(lake: MakeLake) -> None:
    made = half_full(lake)
    delete_records(made.bootstrap, made.topic, {0: 7})

    finding = found(look(made), "RETENTION_PASSED")

    assert finding.severity is Severity.ERROR
    assert finding.facts == {"ranges": [[0, 4, 7]], "offsets": 3}


def test_retention_by_time_is_near_when_the_first_hot_record_is_old(lake: MakeLake) -> None:
    made = half_full(lake, retention_ms=str(30 * 60_000))

    finding = found(look(made), "RETENTION_NEAR")

    [near] = finding.facts["partitions"]
    assert (finding.severity, near["by"], near["boundary"]) == (Severity.WARNING, "retention.ms", 4)
    assert 0 < finding.facts["minutes"] <= 30


def test_retention_is_not_near_within_a_shorter_time(lake: MakeLake) -> None:
    made = half_full(lake, retention_ms=str(30 * 60_000))

    assert "RETENTION_NEAR" in look(made, warn_within_ms=60_000).silent


def test_retention_of_what_is_committed_is_nobodys_loss(lake: MakeLake) -> None:
    made = half_full(lake, retention_ms=str(30 * 60_000))
    put(made, range(4, 10), **mark(made, {0: 10}))

    assert "RETENTION_NEAR" in look(made).silent


def test_retention_by_size_is_near_when_the_log_fills_fast(lake: MakeLake) -> None:
    made = lake(schema=ROWS, topic=False)
    make_topic(made.bootstrap, made.topic, partitions=1, retention_ms="-1", retention_bytes="1100000")
    put(made, [], **mark(made, {0: 0}))
    produce(made.bootstrap, made.topic, [b"x" * 1000] * 1000)

    finding = found(look(made), "RETENTION_NEAR")

    # Room for 1,100 records of 1,000 bytes, 100 a minute over ten minutes: one minute is left.
    [near] = finding.facts["partitions"]
    assert near["by"] == "retention.bytes"
    assert near["minutes"] == pytest.approx(1.0)


def test_a_topic_without_limits_is_never_near(lake: MakeLake) -> None:
    made = half_full(lake, retention_ms="-1")

    assert "RETENTION_NEAR" in look(made, warn_within_ms=1000 * DAY_MS).silent


def test_a_compacted_topic_removes_nothing_by_age(lake: MakeLake) -> None:
    made = lake(schema=ROWS, topic=False)
    make_topic(made.bootstrap, made.topic, partitions=1, retention_ms="60000", cleanup_policy="compact")
    put(made, [], **mark(made, {0: 0}))
    producer = Producer({"bootstrap.servers": made.bootstrap, "log_level": 0})
    producer.produce(made.topic, b"{}", key=b"k")
    assert producer.flush(30) == 0

    assert "RETENTION_NEAR" in look(made).silent


def test_a_recreated_topic_is_an_error(lake: MakeLake) -> None:
    made = half_full(lake)
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic, partitions=1)
    send(made, 20)

    finding = found(look(made), "TOPIC_RECREATED")

    assert finding.severity is Severity.ERROR
    assert finding.facts["recorded"] != finding.facts["now"]


def test_a_recreated_topic_shows_by_its_length_where_no_identity_is_recorded(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, range(10))
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic, partitions=1)
    send(made, 2)

    report = look(made)

    assert found(report, "BOUNDARY_AHEAD").facts["partitions"] == [
        {"partition": 0, "boundary": 10, "end": 2, "high_watermark": 2}
    ]
    assert "TOPIC_RECREATED" in unchecked(report)


def test_a_recreated_topic_shows_by_the_age_of_its_records(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, range(10))
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic, partitions=1)
    producer = Producer({"bootstrap.servers": made.bootstrap, "log_level": 0})
    for _ in range(12):
        producer.produce(made.topic, b"{}", timestamp=time.time_ns() // 1_000_000 + 120_000)
    assert producer.flush(30) == 0

    finding = found(look(made), "TOPIC_RECREATED")

    assert finding.severity is Severity.ERROR
    assert "younger than snapshot" in finding.message


def test_partitions_that_the_writer_has_not_found_are_told(lake: MakeLake) -> None:
    made = half_full(lake)
    add_partitions(made.bootstrap, made.topic, 3)
    new = found(look(made), "PARTITIONS_ADDED")
    send(made, 2, partition=2)
    put(made, range(4, 6), **mark(made, {0: 6}))

    passed = found(look(made), "PARTITIONS_ADDED")

    assert (new.severity, new.facts["partitions"]) == (Severity.INFO, [1, 2])
    assert (passed.severity, passed.facts["with_earlier_records"]) == (Severity.WARNING, [2])


def test_partitions_that_the_topic_does_not_have_are_an_error(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, range(2), **mark(made, {0: 2, 4: 7}))

    finding = found(look(made), "PARTITIONS_FEWER")

    assert (finding.severity, finding.facts["partitions"]) == (Severity.ERROR, [4])


def test_an_open_transaction_is_told_with_its_age(lake: MakeLake) -> None:
    made = half_full(lake)
    producer = begin(made.bootstrap, made.topic, records(3))
    send(made, 2)

    finding = found(look(made), "HELD_BACK")
    producer.abort_transaction(30)
    wait_until_ended(made.bootstrap, made.topic)

    assert (finding.severity, finding.facts["offsets"]) == (Severity.INFO, 5)
    assert finding.facts["since_ms"] is not None
    assert "HELD_BACK" in look(made).silent


def test_a_transaction_that_is_open_for_long_is_a_warning(lake: MakeLake) -> None:
    made = half_full(lake)
    long_ago_ms = int(time.time() * 1000) - 16 * 60_000
    producer = begin(made.bootstrap, made.topic, records(1), timestamp_ms=long_ago_ms)

    finding = found(look(made), "HELD_BACK")
    producer.abort_transaction(30)

    assert finding.severity is Severity.WARNING
    assert finding.facts["partitions"][0]["last_stable"] == 10


def test_a_topic_that_is_gone_is_an_error(lake: MakeLake) -> None:
    made = half_full(lake)
    delete_topic(made.bootstrap, made.topic)

    report = look(made)

    assert found(report, "TOPIC_MISSING").severity is Severity.ERROR
    assert {"RETENTION_PASSED", "HOLES"} <= unchecked(report)


def test_what_is_hot_is_told_with_its_age(lake: MakeLake) -> None:
    finding = found(look(half_full(lake)), "COLD_BEHIND")

    assert finding.severity is Severity.INFO
    assert finding.facts["offsets"] == 6
    assert finding.facts["oldest_record_ms"] is not None


def test_without_kafka_the_table_is_examined_and_the_rest_said_to_have_failed(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    put(made, [0, 1, 1], **mark(made, {0: 2}))
    far = made.having(**{"kafka.bootstrap.servers": "127.0.0.1:9", "planTimeoutMs": "300"})

    report = look(far)

    assert codes(report) == {"WRITER", "DUPLICATE_RECORDS"}
    failed = {code for one in report.unchecked if one.is_failure for code in one.codes}
    assert {"RETENTION_NEAR", "RETENTION_PASSED", "HOLES", "TOPIC_RECREATED", "ISOLATION_DIFFERS"} <= failed
    assert not failed & set(report.silent)


def test_a_check_that_failed_is_a_warning_by_itself(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    put(made, [0], **mark(made, {0: 1}))
    far = made.having(**{"kafka.bootstrap.servers": "127.0.0.1:9", "planTimeoutMs": "300"})

    assert look(far).worst is Severity.WARNING
