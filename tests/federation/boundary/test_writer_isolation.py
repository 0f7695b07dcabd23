"""With which isolation a table was written: stated, shown by its rows, or assumed by name.

Spark, Connect and Flink read uncommitted records unless told otherwise, and nothing in the table says
whether they were. What the topic holds may show it, or that it makes no difference.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from federation.errors import IsolationMismatchError
from tests.builders import HANG_S, unique
from tests.conftest import MakeLake
from tests.federation.query_story import ROWS, TIMES, Query, assumed, send, told, transact

pytestmark = pytest.mark.kafka


@pytest.fixture
def query(lake: MakeLake) -> Query:
    return Query(lake(partitions=1, schema=ROWS))


def test_markers_and_aborted_records_explain_it_and_show_how_the_writer_reads(query: Query) -> None:
    send(query.lake, 0)
    transact(query.lake, 1, 2, commits=True)
    transact(query.lake, 8, 9, commits=False)
    query.commit(7, 0, 1, 2)
    transact(query.lake, 10, commits=False)

    found = told(query.lake)

    assert (found["assumed"], found["isolation"]) == (TIMES, "read_committed")
    assert found["rows_hot"] == 0
    with pytest.raises(IsolationMismatchError):
        query.lake.open(**{"kafka.isolation.level": "read_uncommitted"}).cut()


def test_aborted_records_among_the_rows_are_named(query: Query) -> None:
    send(query.lake, 0)
    transact(query.lake, 8, 9, commits=False)
    query.commit(4, 0, 8, 9)
    transact(query.lake, 10, commits=False)

    found = told(query.lake)

    assert (found["assumed"], found["isolation"]) == ([*TIMES, "writer_isolation"], "read_uncommitted")
    assert found["rows_hot"] == 1
    stated = {"kafka.isolation.level": "read_uncommitted"}
    assert assumed(query.lake, **stated) == []
    with pytest.raises(IsolationMismatchError):
        query.lake.open(**{"kafka.isolation.level": "read_committed"}).cut()


def test_a_topic_without_transactions_needs_no_isolation(query: Query) -> None:
    send(query.lake, *range(6))
    query.commit(4, 0, 1, 2, 3)

    found = told(query.lake)

    assert (found["assumed"], found["isolation"], found["rows_hot"]) == (TIMES, "read_uncommitted", 2)


def test_a_transaction_in_the_hot_half_alone_is_named(query: Query) -> None:
    send(query.lake, *range(4))
    query.commit(4, 0, 1, 2, 3)
    transact(query.lake, 8, commits=False)

    assert assumed(query.lake) == ["writer_isolation"]
    assert assumed(query.lake, **{"kafka.isolation.level": "read_committed"}) == []


def test_an_open_transaction_in_the_hot_half_is_named(query: Query) -> None:
    send(query.lake, *range(4))
    query.commit(4, 0, 1, 2, 3)
    producer = Producer({"bootstrap.servers": query.lake.bootstrap, "transactional.id": unique("txn")})
    producer.init_transactions(HANG_S)
    producer.begin_transaction()
    producer.produce(query.lake.topic, b'{"seq": 8}', partition=0)
    assert producer.flush(HANG_S) == 0

    try:
        assert assumed(query.lake) == ["writer_isolation"]
    finally:
        producer.abort_transaction(HANG_S)


def test_what_is_cut_and_not_read_leaves_the_isolation_open(query: Query) -> None:
    send(query.lake, *range(6))
    query.commit(4, 0, 1, 2, 3)

    taken = query.lake.open().scan().taken

    assert [*taken.assumed()] == [*TIMES, "writer_isolation"]
    assert [*taken.assumed(records=2)] == TIMES
