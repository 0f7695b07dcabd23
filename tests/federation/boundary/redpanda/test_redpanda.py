"""Tables that Redpanda fills: the boundary is what its HTTP proxy tells, and nothing less.

The proxy is a server of the stack that speaks the published shape; the tables and topics are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pyarrow as pa
import pytest

from federation.boundary.redpanda.redpanda_resolver import REDPANDA_MARK
from federation.errors import BoundaryUnknownError, IsolationMismatchError, WriterUnavailableError
from stack.redpanda import RedpandaProxy, reply
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.boundary.redpanda.redpanda_commits import ROW, commit, seqs

pytestmark = pytest.mark.kafka


@pytest.fixture
def proxy() -> Iterator[RedpandaProxy]:
    with RedpandaProxy() as running:
        yield running


@pytest.fixture
def filled(lake: MakeLake, proxy: RedpandaProxy) -> Lake:
    """Ten records, of which Redpanda has committed six and said so."""
    made = lake(schema=ROW, partitions=1).having(redpandaUrl=proxy.url)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(10)])
    proxy.commit(made.topic, commit(made, 0, 6), {0: 5})
    return made


def test_the_boundary_is_one_past_the_last_committed_offset(filled: Lake) -> None:
    scan = filled.open().scan()

    assert sorted(scan.to_arrow()["seq"].to_pylist()) == list(range(10))
    assert [(r.start, r.end) for r in scan.cut.ranges] == [(6, 10)]
    assert scan.receipt.boundary is not None
    assert (scan.receipt.boundary["resolver"], scan.receipt.boundary["confidence"]) == ("redpanda", "exact")


def test_a_table_of_redpanda_holds_committed_records_only(filled: Lake) -> None:
    with pytest.raises(IsolationMismatchError, match="read_committed"):
        filled.open(**{"kafka.isolation.level": "read_uncommitted"}).cut()


def test_a_partition_without_an_offset_has_nothing_committed(lake: MakeLake, proxy: RedpandaProxy) -> None:
    made = lake(schema=ROW, partitions=3).having(redpandaUrl=proxy.url)
    for partition in range(3):
        produce(made.bootstrap, made.topic, [{"seq": 10 * partition}], partition=partition)
    proxy.commit(made.topic, commit(made, 0, 1), {0: 0, 1: None})

    assert [(r.start, r.end) for r in made.open().cut().ranges] == [(1, 1), (0, 1), (0, 1)]
    assert seqs(made.open()) == [0, 10, 20]


def test_records_that_went_to_the_dead_letter_table_are_not_read_again(
    filled: Lake, proxy: RedpandaProxy
) -> None:
    snapshot = filled.load().current_snapshot()
    assert snapshot is not None
    proxy.commit(filled.topic, snapshot.snapshot_id, {0: 7})

    assert seqs(filled.open()) == [0, 1, 2, 3, 4, 5, 8, 9]


@pytest.mark.parametrize(("where", "left"), [("seq = 5", [0, 1, 2, 3, 4]), ("seq < 6", [])])
def test_rows_deleted_from_the_table_stay_deleted(filled: Lake, where: str, left: list[int]) -> None:
    filled.load().delete(where)

    assert seqs(filled.open()) == [*left, 6, 7, 8, 9]


def test_an_answer_that_is_behind_the_table_is_asked_for_again(filled: Lake, proxy: RedpandaProxy) -> None:
    newer = commit(filled, 6, 8)
    asked = proxy.asked

    def catch_up(handler: BaseHTTPRequestHandler) -> None:
        if proxy.asked == asked + 3:
            proxy.commit(filled.topic, newer, {0: 7})
        proxy.answer_instead = None if proxy.asked >= asked + 3 else catch_up
        states = {filled.topic: proxy._states[filled.topic]}
        reply(handler, 200, json.dumps({"topicStates": states}).encode())

    proxy.answer_instead = catch_up

    assert seqs(filled.open()) == list(range(10))
    assert proxy.asked >= asked + 4


def test_a_commit_while_the_cut_is_taken_is_planned_anew(filled: Lake, proxy: RedpandaProxy) -> None:
    def commit_first(handler: BaseHTTPRequestHandler) -> None:
        proxy.answer_instead = None
        proxy.commit(filled.topic, commit(filled, 6, 8), {0: 7})
        states = {filled.topic: proxy._states[filled.topic]}
        reply(handler, 200, json.dumps({"topicStates": states}).encode())

    proxy.answer_instead = commit_first

    assert seqs(filled.open()) == list(range(10))


def test_an_answer_that_was_given_while_it_changed_is_not_believed(
    filled: Lake, proxy: RedpandaProxy
) -> None:
    """A commit reaches the answer partition by partition, and its first part has the new snapshot."""
    newer = commit(filled, 6, 8)

    def torn(handler: BaseHTTPRequestHandler) -> None:
        proxy.commit(filled.topic, newer, {0: 5})
        torn_states = {filled.topic: proxy._states[filled.topic]}
        proxy.commit(filled.topic, newer, {0: 7})
        proxy.answer_instead = None
        reply(handler, 200, json.dumps({"topicStates": torn_states}).encode())

    proxy.answer_instead = torn

    assert seqs(filled.open()) == list(range(10))


def test_an_answer_that_stays_behind_is_an_error_to_be_tried_again(filled: Lake) -> None:
    commit(filled, 6, 8)

    with pytest.raises(WriterUnavailableError, match="ask again") as raised:
        filled.open().cut()

    assert raised.value.retriable


def test_rows_of_an_unknown_writer_on_top_make_the_boundary_unknown(filled: Lake) -> None:
    filled.load().append(pa.table({"seq": [99]}, schema=ROW))

    with pytest.raises(BoundaryUnknownError) as raised:
        filled.open().cut()

    assert not raised.value.retriable


def test_an_earlier_snapshot_that_nobody_asked_for_is_an_error(lake: MakeLake, proxy: RedpandaProxy) -> None:
    made = lake(schema=ROW, partitions=1).having(redpandaUrl=proxy.url)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(10)])
    older = commit(made, 0, 4)
    proxy.commit(made.topic, commit(made, 4, 6), {0: 5})

    with pytest.raises(BoundaryUnknownError, match="read the newest snapshot"):
        made.open(**{"snapshot-id": str(older)}).cut()


def test_a_cut_token_is_good_after_the_next_commit(filled: Lake, proxy: RedpandaProxy) -> None:
    token = filled.open().cut().token()
    proxy.commit(filled.topic, commit(filled, 6, 8), {0: 7})
    produce(filled.bootstrap, filled.topic, [{"seq": 10}])

    assert seqs(filled.open(cut=token)) == list(range(10))
    assert seqs(filled.open()) == list(range(11))


def test_a_topic_that_redpanda_does_not_tell_of_is_an_error(lake: MakeLake, proxy: RedpandaProxy) -> None:
    made = lake(schema=ROW).having(redpandaUrl=proxy.url)
    proxy.commit("another", commit(made, 0, 1), {0: 0})

    with pytest.raises(BoundaryUnknownError, match="does not tell of topic"):
        made.open().cut()


def test_a_server_that_is_gone_is_an_error_to_be_tried_again(filled: Lake, proxy: RedpandaProxy) -> None:
    newer = filled.having()
    commit(newer, 6, 8)
    proxy.stop()

    with pytest.raises(WriterUnavailableError, match="did not answer") as raised:
        newer.open().cut()

    assert raised.value.kind == "external"


def test_a_table_of_redpanda_without_the_address_names_the_option(filled: Lake) -> None:
    options = {key: value for key, value in filled.options.items() if key != "redpandaUrl"}
    bare = Lake(filled.bootstrap, filled.directory, filled.table, filled.topic)

    with pytest.raises(BoundaryUnknownError, match="redpandaUrl"):
        bare.open(**options).cut()


PLACE = pa.struct([("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us"))])
PLACED = pa.schema([("seq", pa.int64()), ("redpanda", PLACE)])
PLACED_DDL = "seq bigint, redpanda struct<partition:int, offset:bigint, timestamp:timestamp_ntz>"


def test_what_the_proxy_does_not_tell_is_proven_by_the_column_of_redpanda(
    lake: MakeLake, proxy: RedpandaProxy
) -> None:
    """Every table of Redpanda has it, so earlier snapshots, and all while the proxy is gone, are known."""
    made = lake(schema=PLACED, partitions=1).having(redpandaUrl=proxy.url)
    produce(made.bootstrap, made.topic, [{"seq": i} for i in range(10)])
    records = made.open(read="hot", schema=PLACED_DDL).scan().to_arrow().cast(PLACED)
    for first, end in ((0, 4), (4, 6)):
        made.load().append(records.slice(first, end - first), snapshot_properties={REDPANDA_MARK: "{}"})
    older, newest = (snapshot.snapshot_id for snapshot in made.load().snapshots())
    proxy.commit(made.topic, newest, {0: 5})

    assert told_by(made) == ("redpanda", "exact", 6)
    assert told_by(made, **{"snapshot-id": str(older)}) == ("columns", "proven", 4)
    proxy.stop()
    assert told_by(made.having(boundary="columns")) == ("columns", "proven", 6)
    assert told_by(made, **{"snapshot-id": str(older)}) == ("columns", "proven", 4)


def told_by(lake: Lake, **options: str) -> tuple[str, str, int]:
    scan = lake.open(**options).scan()
    rows = scan.to_arrow().to_pylist()

    assert sorted((row["seq"], row["redpanda"]["offset"]) for row in rows) == [(i, i) for i in range(10)]
    boundary = scan.receipt.boundary
    assert boundary is not None
    return boundary["resolver"], boundary["confidence"], scan.cut.ranges[0].start


def test_commits_that_were_rolled_back_are_an_error_once_redpanda_goes_on(
    filled: Lake, proxy: RedpandaProxy
) -> None:
    first = commit_of(filled)
    commit(filled, 6, 8)
    filled.load().manage_snapshots().rollback_to_snapshot(first).commit()
    assert seqs(filled.open()) == list(range(10))

    proxy.commit(filled.topic, commit(filled, 8, 9), {0: 8})
    with pytest.raises(BoundaryUnknownError, match="rolled back"):
        filled.open().cut()


def commit_of(lake: Lake) -> int:
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id
