"""Records that a writer has put, or will put, somewhere else than into the table that is read.

A writer's record may go on although a rollback took its rows away, although the table was made anew, or
although half of the topic goes into another table. No boundary is right then: a union would lack records,
or have some that are none of this table's.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from federation.boundary.redpanda.redpanda_resolver import REDPANDA_MARK
from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.errors import BoundaryUnknownError, NotOneToOneError, TopicReplacedError
from stack.redpanda import RedpandaProxy
from tests.builders import Lake, delete_records, delete_topic, make_table, make_topic, produce
from tests.conftest import MakeLake
from tests.federation.boundary.histories import head, rollback
from tests.federation.boundary.query_epochs import ROWS, append, stream

pytestmark = pytest.mark.kafka

COLUMNS = "partition=kafka_partition,offset=kafka_offset"


def send(lake: Lake, first: int, end: int) -> None:
    produce(lake.bootstrap, lake.topic, [{"seq": seq} for seq in range(first, end)])


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    fresh = lake(partitions=1, schema=ROWS)
    send(fresh, 0, 20)
    return fresh.having(checkpointLocation=str(fresh.directory / "checkpoint"))


def found(lake: Lake, **options: str) -> list[int]:
    return sorted(lake.open(**options).scan().to_arrow()["seq"].to_pylist())


def test_a_query_of_two_topics_is_an_error_although_the_rows_have_offsets(made: Lake) -> None:
    stream(made, 0, 0, 6, another=3)

    with pytest.raises(NotOneToOneError, match="another"):
        made.open(kafkaColumns=COLUMNS).cut()
    assert found(made, kafkaColumns=COLUMNS, boundary="columns") == list(range(20))


def test_epochs_that_were_rolled_back_are_an_error_once_the_query_goes_on(made: Lake) -> None:
    stream(made, 0, 0, 4)
    kept = head(made)
    stream(made, 1, 4, 8)
    rollback(made, kept)
    assert found(made) == list(range(20))

    stream(made, 2, 8, 12)
    with pytest.raises(BoundaryUnknownError, match=r"epochs? 1 "):
        found(made)


def test_a_query_that_goes_on_into_a_new_table_is_an_error(made: Lake) -> None:
    stream(made, 0, 0, 4)
    made.catalog.drop_table(made.table)
    make_table(made.catalog, made.table, ROWS)

    stream(made, 1, 4, 8)
    with pytest.raises(BoundaryUnknownError, match=r"epochs? 0 "):
        found(made)


def begin_at(lake: Lake, offset: int) -> None:
    """What the checkpoint says of a query with other startingOffsets."""
    begun = f"\0v1\n{json.dumps({lake.topic: {'0': offset}})}\n"
    (lake.directory / "checkpoint/sources/0/0").write_text(begun)


def test_a_query_that_started_late_is_an_error_unless_that_is_accepted(made: Lake) -> None:
    stream(made, 0, 5, 8)
    begin_at(made, 5)

    with pytest.raises(BoundaryUnknownError, match="started late"):
        found(made)

    scan = made.open(failOnDataLoss="false").scan()
    assert sorted(scan.to_arrow()["seq"].to_pylist()) == list(range(5, 20))
    assert list(scan.receipt.gaps) == [(0, 0, 5)]


def test_a_query_that_began_where_retention_had_come_to_is_exact(made: Lake) -> None:
    stream(made, 0, 5, 8)
    begin_at(made, 5)
    delete_records(made.bootstrap, made.topic, {0: 5})

    assert found(made) == list(range(5, 20))


def test_a_query_that_goes_on_where_a_load_of_older_records_ended_is_exact(made: Lake) -> None:
    append(made, 0, 5)
    stream(made, 0, 5, 8)
    begin_at(made, 5)

    assert found(made) == list(range(20))


def test_epochs_that_read_nothing_may_be_missing(made: Lake) -> None:
    stream(made, 0, 0, 0)
    made.catalog.drop_table(made.table)
    make_table(made.catalog, made.table, ROWS)
    stream(made, 1, 0, 4)
    kept = head(made)
    stream(made, 2, 4, 4)
    rollback(made, kept)
    stream(made, 3, 4, 8)

    assert found(made) == list(range(20))


def test_an_epoch_that_is_no_number_is_an_error(made: Lake) -> None:
    stream(made, 0, 0, 4)
    append(made, 4, 5, **{SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: "x"})

    with pytest.raises(BoundaryUnknownError, match="'x'"):
        made.open().cut()


def test_what_redpanda_told_of_a_topic_is_not_said_of_its_namesake(lake: MakeLake) -> None:
    with RedpandaProxy() as proxy:
        made = lake(partitions=1, schema=ROWS).having(redpandaUrl=proxy.url)
        send(made, 0, 10)
        append(made, 0, 6, **{REDPANDA_MARK: '{"offset":7}'})
        proxy.commit(made.topic, head(made), {0: 5})
        assert found(made) == list(range(10))
        delete_topic(made.bootstrap, made.topic)
        make_topic(made.bootstrap, made.topic, partitions=1)
        send(made, 100, 120)

        with pytest.raises(TopicReplacedError):
            found(made)


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_a_proxy_of_an_impossible_name_is_an_error(lake: MakeLake, host: str) -> None:
    made = lake(partitions=1, schema=ROWS).having(redpandaUrl=f"http://{host}:8082")
    append(made, 0, 6, **{REDPANDA_MARK: '{"offset":7}'})

    with pytest.raises(BoundaryUnknownError, match="name of the host"):
        made.open().cut()


def test_a_declaration_is_read_anew_for_each_cut(made: Lake, tmp_path: Path) -> None:
    append(made, 0, 6)
    file = tmp_path / "declared.json"
    declared = made.having(committedOffsets=f"${{file:{file}}}")
    starts = []
    for end in (0, 2, 4, 6):
        file.write_text(json.dumps({"snapshot_id": head(made), "partitions": {"0": end}}))
        starts.append(declared.open().cut().ranges[0].start)

    assert starts == [0, 2, 4, 6]
