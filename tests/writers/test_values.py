"""Values of JSON that real writers read in their own way: each is the same before a commit and after it.

JSON leaves open which of two equal names counts, and what a number is in a column of times. Each record is
asked for while it is hot, and again when its writer has committed it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from tests.builders import Lake
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark, StagedWorker
from tests.writers.happenings import send
from tests.writers.sink import Sink, forget

pytestmark = pytest.mark.kafka

TIMED = pa.schema([("seq", pa.int64()), ("text", pa.string()), ("at", pa.timestamp("us", "UTC"))])
TIME_S = 1_700_000_000


def rows(lake: Lake) -> list[dict[str, Any]]:
    forget()
    return lake.open().scan().to_arrow().sort_by("seq").to_pylist()


def row(seq: int, text: str | None = None, at: datetime | None = None) -> dict[str, Any]:
    return {"seq": seq, "text": text, "at": at}


FIRST = [b'{"seq": 0}']


def test_connect_takes_the_last_of_equal_names_and_numbers_for_milliseconds(
    lake: MakeLake, worker: StagedWorker
) -> None:
    made = lake(partitions=1, schema=TIMED)
    send(made, FIRST, partition=0)
    sink = Sink(worker, made)
    with sink:
        sink.wait_for_rows(1)
    hot = [
        b'{"seq": 1, "text": "a", "text": "b"}',
        b'{"seq": 2, "text": "a", "text": null}',
        b'{"seq": 3, "at": %d}' % (TIME_S * 1000),
    ]
    expected = [row(0), row(1, "b"), row(2), row(3, at=datetime.fromtimestamp(TIME_S, UTC))]
    send(made, hot, partition=0)
    assert rows(made) == expected

    with sink:
        sink.wait_for_rows(4)

    assert made.load().scan().to_arrow().sort_by("seq").to_pylist() == expected
    assert rows(made) == expected


def test_spark_takes_the_last_of_equal_names_and_numbers_for_seconds(
    lake: MakeLake, spark_writer: StagedSpark
) -> None:
    made = lake(partitions=1, schema=TIMED)
    made = made.having(checkpointLocation=str(made.directory / "query"))
    send(made, FIRST, partition=0)
    stream(spark_writer, made)
    hot = [
        b'{"seq": 1, "text": "a", "text": "b"}',
        b'{"seq": 2, "text": "a", "text": null}',
        b'{"seq": 3, "at": %d}' % TIME_S,
    ]
    expected = [row(0), row(1, "b"), row(2), row(3, at=datetime.fromtimestamp(TIME_S, UTC))]
    send(made, hot, partition=0)
    assert rows(made) == expected

    stream(spark_writer, made)

    assert made.load().scan().to_arrow().sort_by("seq").to_pylist() == expected
    assert rows(made) == expected


def stream(writer: StagedSpark, lake: Lake) -> None:
    writer.stream(
        lake.directory / "catalog.db",
        table=lake.table,
        checkpoint=str(lake.directory / "query"),
        schema="seq long, text string, at timestamp",
        source={"kafka.bootstrap.servers": lake.bootstrap, "subscribe": lake.topic},
    )
