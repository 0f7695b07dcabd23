"""Tables to examine: rows that say which record they are, written by whoever a test wants.

A table here is filled row by row, so that it can be filled wrongly; the marks of
writers are set as those writers set them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa

from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, PIN_TAG, render_offsets
from federation.doctor.examination import LOOK_BACK, examine
from federation.doctor.findings import Finding, Report
from foundation.deadline import Deadline
from hotset.kafka.client import connect
from hotset.kafka.offsets import Isolation
from tests.builders import Lake, produce
from tests.transactions import transaction

ROWS = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
COLUMNS = "partition=kafka_partition,offset=kafka_offset"


def send(lake: Lake, count: int, *, partition: int = 0) -> None:
    """Produce so many records to one partition."""
    produce(lake.bootstrap, lake.topic, [{"seq": n} for n in range(count)], partition=partition)


def send_in_transaction(lake: Lake, count: int, *, commits: bool) -> None:
    """Produce records in a transaction and end it; its marker takes one offset more."""
    with transaction(lake.bootstrap, lake.topic, records(count), commits=commits):
        pass


def records(count: int) -> list[bytes]:
    return [json.dumps({"seq": n}).encode() for n in range(count)]


def put(lake: Lake, offsets: Iterable[int], *, partition: int = 0, **summary: str) -> int:
    """Commit the rows of these records and return the snapshot's id."""
    rows = [{"seq": n, "kafka_partition": partition, "kafka_offset": n} for n in offsets]
    table = lake.load()
    table.append(pa.Table.from_pylist(rows, schema=ROWS), snapshot_properties=summary)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def mark(
    lake: Lake,
    next_offset: Mapping[int, int],
    *,
    topic_id: str | None = None,
    isolation: Isolation = Isolation.READ_COMMITTED,
) -> dict[str, str]:
    """The boundary property of a writer that has come so far."""
    client = connect({"bootstrap.servers": lake.bootstrap})
    known = topic_id or client.describe(lake.topic, Deadline.after_ms(10_000)).topic_id
    text = render_offsets(
        topic=lake.topic, topic_id=known, isolation=isolation, next_offset=next_offset, leader_epoch={}
    )
    return {OFFSETS_PROPERTY: text}


def tag(lake: Lake, snapshot_id: int) -> None:
    """Set the tag that a freeze sets."""
    with lake.load().manage_snapshots() as refs:
        refs.create_tag(snapshot_id, PIN_TAG)


def look(
    lake: Lake, *, look_back: int = LOOK_BACK, warn_within_ms: int = 3_600_000, **options: str
) -> Report:
    """Examine the table with its Kafka columns named."""
    merged = lake.merged(**{"kafkaColumns": COLUMNS, **options})
    return examine(merged, look_back=look_back, warn_within_ms=warn_within_ms)


def found(report: Report, code: str) -> Finding:
    """The one finding of this code."""
    [finding] = [finding for finding in report.findings if finding.code == code]
    return finding


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


def unchecked(report: Report) -> set[str]:
    return {code for one in report.unchecked for code in one.codes}
