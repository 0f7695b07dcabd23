"""Marks that go back, marks that expiry takes away, and who is taken for the writer.

The marks are set here as their writers set them; the tables are real ones.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pyarrow as pa
import pytest

from federation.boundary.connect.connect_resolver import CONNECT_OFFSETS_PREFIX
from federation.boundary.property.snapshot_property import PIN_TAG
from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.cut.pinning import pin_table
from federation.doctor.examination import _gather, examine, judge
from federation.doctor.examined_facts import Missing
from federation.doctor.findings import Severity
from tests.builders import Lake, commit_until
from tests.conftest import MakeLake
from tests.doctor.ward import COLUMNS, ROWS, codes, found, look, mark, put, send, tag, unchecked

pytestmark = pytest.mark.kafka

AGE = "history.expire.max-snapshot-age-ms"
KEPT = "history.expire.min-snapshots-to-keep"


def compact(lake: Lake) -> None:
    """Commit without a mark, as a compaction does."""
    lake.load().append(pa.Table.from_pylist([], schema=ROWS))


def filled(lake: Lake) -> int:
    send(lake, 4)
    return put(lake, range(4), **mark(lake, {0: 4}))


def expire(lake: Lake, snapshot_id: int) -> None:
    lake.load().maintenance.expire_snapshots().by_id(snapshot_id).commit()


def test_a_boundary_of_ours_that_goes_back_is_an_error(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 6)
    high = put(made, range(6), **mark(made, {0: 6}))
    low = put(made, [], **mark(made, {0: 4}))
    put(made, [], **mark(made, {0: 5}))

    finding = found(look(made), "BOUNDARY_REGRESSION")

    assert finding.severity is Severity.ERROR
    [step] = finding.facts["steps"]
    assert (step["from"], step["to"], step["earlier_snapshot_id"], step["snapshot_id"]) == (6, 4, high, low)


def test_a_boundary_of_another_topic_counts_anew(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, [], **mark(made, {0: 900}, topic_id="4Yl2gqSFRCybNaF2uGgQ3w"))
    put(made, range(2), **mark(made, {0: 2}))

    assert "BOUNDARY_REGRESSION" in look(made).silent


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            {f"{CONNECT_OFFSETS_PREFIX}control.group": '{"0":9,"1":4}'},
            {f"{CONNECT_OFFSETS_PREFIX}control.group": '{"0":7,"1":5}'},
            "9",
        ),
        (
            {SPARK_QUERY_ID: "q", SPARK_EPOCH_ID: "8"},
            {SPARK_QUERY_ID: "q", SPARK_EPOCH_ID: "3"},
            "query q is 8",
        ),
        (
            {"flink.job-id": "j", "flink.operator-id": "o", "flink.max-committed-checkpoint-id": "5"},
            {"flink.job-id": "j", "flink.operator-id": "o", "flink.max-committed-checkpoint-id": "2"},
            "job j operator o is 5",
        ),
        (
            {"redpanda.commit-metadata": '{"offset":12,"cluster":"c"}'},
            {"redpanda.commit-metadata": '{"offset":9,"cluster":"c"}'},
            "redpanda.commit-metadata offset is 12",
        ),
    ],
    ids=["connect", "spark", "flink", "redpanda"],
)
def test_a_mark_of_another_writer_that_goes_back_is_a_warning(
    lake: MakeLake, first: dict[str, str], second: dict[str, str], says: str
) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, [], **first)
    put(made, [], **second)
    put(made, range(2), **mark(made, {0: 2}))

    finding = found(look(made), "BOUNDARY_REGRESSION")

    assert finding.severity is Severity.WARNING
    assert finding.facts["count"] == 1
    assert says in finding.message


def test_two_queries_and_two_jobs_each_have_their_own_count(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    put(made, [], **{SPARK_QUERY_ID: "q", SPARK_EPOCH_ID: "8"})
    put(made, [], **{SPARK_QUERY_ID: "r", SPARK_EPOCH_ID: "0"})
    put(made, [], **{"flink.job-id": "j", "flink.max-committed-checkpoint-id": "5"})
    put(made, [], **{"flink.job-id": "k", "flink.max-committed-checkpoint-id": "1"})
    put(made, range(2), **mark(made, {0: 2}))

    assert "BOUNDARY_REGRESSION" in look(made).silent


def test_a_mark_that_expiry_may_remove_now_is_a_warning(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    marked = filled(made)
    compact(made)

    finding = found(look(made), "BOUNDARY_AT_RISK")

    assert finding.severity is Severity.WARNING
    assert (finding.facts["state"], finding.facts["snapshot_id"]) == ("now", marked)


def test_a_mark_that_expiry_may_remove_later_is_told_with_the_time(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: str(30 * 60_000)})
    filled(made)
    compact(made)

    finding = found(look(made), "BOUNDARY_AT_RISK")

    assert finding.severity is Severity.INFO
    assert 0 < finding.facts["minutes"] <= 30


def test_the_tag_of_a_freeze_keeps_the_mark(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    tag(made, filled(made))
    compact(made)

    assert "BOUNDARY_AT_RISK" in look(made).silent


def test_a_freeze_keeps_its_mark_for_good(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1", "history.expire.max-ref-age-ms": "1"})
    send(made, 3)
    commit_until(made)
    compact(made)

    assert "BOUNDARY_AT_RISK" in look(made).silent


def test_a_number_of_snapshots_to_keep_keeps_the_mark(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1", KEPT: "2"})
    filled(made)
    compact(made)
    kept = look(made)
    compact(made)

    assert "BOUNDARY_AT_RISK" in kept.silent
    assert found(look(made), "BOUNDARY_AT_RISK").facts["steps"] == 2


def test_a_tag_on_another_writers_mark_does_not_keep_the_way_to_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    send(made, 2)
    marked = put(made, range(2), **{SPARK_QUERY_ID: "q", SPARK_EPOCH_ID: "8"})
    compact(made)
    with made.load().manage_snapshots() as refs:
        refs.create_tag(marked, "mine")
    compact(made)

    assert found(look(made), "BOUNDARY_AT_RISK").facts["state"] == "now"


def test_a_mark_that_expiry_has_removed_is_an_error(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    marked = filled(made)
    compact(made)
    expire(made, marked)
    pinned, definition = pin_table(made.merged())
    untold = Missing("unknown", is_failure=False)
    facts = _gather(pinned, definition, untold, 10, 10)

    report = judge(replace(facts, committed=untold, unknown="nobody tells"))

    assert found(report, "BOUNDARY_AT_RISK").facts["state"] == "lost"
    assert found(report, "BOUNDARY_UNKNOWN").severity is Severity.ERROR


def test_an_expired_mark_that_only_a_metadata_file_tells_is_a_warning(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    marked = filled(made)
    compact(made)
    expire(made, marked)

    finding = found(look(made), "BOUNDARY_AT_RISK")

    assert (finding.severity, finding.facts["state"]) == (Severity.WARNING, "expired")


def test_a_tag_with_an_age_keeps_the_mark_only_so_long(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    marked = filled(made)
    with made.load().manage_snapshots() as refs:
        refs.create_tag(marked, PIN_TAG, max_ref_age_ms=10 * 60_000)
    compact(made)

    finding = found(look(made), "BOUNDARY_AT_RISK")

    assert (finding.severity, finding.facts["state"]) == (Severity.INFO, "later")


def test_the_writer_is_named_with_its_versions_and_what_was_looked_at(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 2)
    versions = {"engine-name": "spark", "engine-version": "4.1.3"}
    put(made, range(2), **versions, **{"iceberg-version": "Apache Iceberg 1.12.0 (commit abc)"})

    finding = found(look(made), "WRITER")

    assert (finding.facts["resolver"], finding.facts["confidence"]) == ("columns", "proven")
    assert finding.facts["assumed"] == ["record_times"]
    assert finding.facts["versions"] == ["spark 4.1.3, Apache Iceberg 1.12.0"]
    assert finding.facts["looked"]


def test_an_estimated_boundary_is_a_warning(lake: MakeLake) -> None:
    from tests.builders import delete_records

    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, [0, 1, *range(4, 10)])
    delete_records(made.bootstrap, made.topic, {0: 6})

    finding = found(look(made), "WRITER")

    assert (finding.severity, finding.facts["confidence"]) == (Severity.WARNING, "estimated")


def test_an_unknown_boundary_is_told_in_the_resolvers_words(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    send(made, 10)
    put(made, [*range(4), *range(6, 10)])

    report = look(made)

    assert "offset 4" in found(report, "BOUNDARY_UNKNOWN").message
    assert {"WRITER", "RETENTION_PASSED", "COLD_BEHIND"} <= unchecked(report)
    assert found(report, "HOLES").facts["partitions"][0]["visible"]["ranges"] == [[4, 6]]


def test_reading_an_earlier_snapshot_does_not_ask_what_expiry_does_to_it(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    filled(made)
    compact(made)
    middle = made.load().current_snapshot()
    assert middle is not None
    put(made, [], **mark(made, {0: 4}))

    assert codes(look(made, **{"snapshot-id": str(middle.snapshot_id)})) == {"WRITER"}


def test_a_report_is_json_all_through(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1, properties={AGE: "1"})
    filled(made)
    put(made, [3, 9])

    document = json.loads(json.dumps(look(made).to_dict()))

    assert document["worst"] == "error"
    assert document["examined_at_ms"] <= time.time() * 1000
    for finding in document["findings"]:
        assert set(finding) == {"code", "severity", "message", "meaning", "page", "facts"}
        assert finding["page"] == f"DOCTOR.md#{finding['code'].lower()}"


def test_columns_are_those_that_are_named(lake: MakeLake) -> None:
    made = lake(schema=ROWS, partitions=1)
    filled(made)

    assert codes(examine(made.merged(kafkaColumns=COLUMNS))) == {"WRITER"}
