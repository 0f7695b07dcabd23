"""What is found of tables that real writers fill, in order and out of order.

The sink's default isolation is the trap: its tables hold what was aborted, and no query shows it.
"""

from __future__ import annotations

import pytest

from federation.doctor.examination import examine
from federation.doctor.findings import Report, Severity
from tests.builders import Lake
from tests.conftest import MakeLake
from tests.doctor.ward import COLUMNS, ROWS, codes, found
from tests.fixtures.staged_writers import StagedSpark, StagedWorker
from tests.writers.happenings import abort, send
from tests.writers.sink import METADATA, POSITION, WITH_POSITION, Sink

pytestmark = pytest.mark.kafka


def filled(lake: Lake, worker: StagedWorker, isolation: str, rows: int) -> Report:
    """Ten records, five aborted ones, five records and two tombstones, as the sink takes them."""
    send(lake, range(10), partition=0)
    abort(lake, range(900, 905), partition=0)
    send(lake, [*range(10, 13), None, *range(13, 15), None], partition=0)
    with Sink(worker, lake, isolation=isolation, more=METADATA) as sink:
        sink.wait_for_rows(rows)
        send(lake, range(15, 18), partition=0)
        sink.wait_for_rows(rows + 3)
    return examine(lake.merged())


def test_a_table_of_a_committed_sink_is_in_order(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(partitions=1, schema=WITH_POSITION).having(kafkaColumns=POSITION)

    report = filled(made, worker, "read_committed", 15)

    assert codes(report) == {"WRITER", "HOLES"}
    writer = found(report, "WRITER").facts
    assert (writer["resolver"], writer["confidence"]) == ("connect", "exact")
    assert any(version.startswith("kafka-connect ") for version in writer["versions"])
    [holes] = found(report, "HOLES").facts["partitions"]
    assert holes["aborted"]["ranges"] == [[10, 15]]
    assert holes["tombstones"]["offsets"] == 2
    assert report.worst is Severity.INFO


def test_a_sink_that_reads_uncommitted_is_found_out(lake: MakeLake, worker: StagedWorker) -> None:
    made = lake(partitions=1, schema=WITH_POSITION).having(kafkaColumns=POSITION)

    report = filled(made, worker, "read_uncommitted", 20)

    # The hot half follows the table, and what nobody has stated is named.
    assert found(report, "WRITER").severity is Severity.WARNING
    assert found(report, "WRITER").facts["assumed"] == ["writer_isolation"]
    stated = examine(made.merged(**{"kafka.isolation.level": "read_committed"}))
    finding = found(stated, "ISOLATION_DIFFERS")
    assert finding.severity is Severity.ERROR
    assert finding.facts == {"recorded": "read_uncommitted", "read": "read_committed"}


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_spark_query_is_found_out_by_what_it_read(
    lake: MakeLake, spark_writer: StagedSpark, isolation: str
) -> None:
    made = lake(partitions=1, schema=ROWS).having(kafkaColumns=COLUMNS)
    send(made, range(10), partition=0)
    abort(made, range(900, 905), partition=0)
    send(made, range(10, 15), partition=0)
    spark_writer.stream(
        made.directory / "catalog.db",
        table=made.table,
        checkpoint=str(made.directory / "query"),
        schema="seq long",
        select="v.*, partition AS kafka_partition, offset AS kafka_offset",
        source={
            "kafka.bootstrap.servers": made.bootstrap,
            "subscribe": made.topic,
            "kafka.isolation.level": isolation,
        },
    )

    stated = {"kafka.isolation.level": "read_committed"}
    report = examine(made.merged(checkpointLocation=str(made.directory / "query"), **stated))

    assert found(report, "WRITER").facts["resolver"] == "spark"
    if isolation == "read_committed":
        # Of the writer it may be told that markers in the log are younger than a table that was recorded.
        others = [finding.severity for finding in report.findings if finding.code != "WRITER"]
        assert max(others) is Severity.INFO
        assert "ISOLATION_DIFFERS" in report.silent
    else:
        facts = found(report, "ISOLATION_DIFFERS").facts
        assert facts == {"recorded": "read_uncommitted", "read": "read_committed"}
