"""What was kept of a log that was cut back counts only as far as the log still has it.

A later leader asks nothing of records that are its own; of an older leader's records it is asked how far
they reach. The log is cut back in its file here, and by a real unclean election in the long test.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from federation.cut.take import take_cut
from stack import KafkaBroker
from stack.cluster import KafkaCluster
from stack.unclean import UNCLEAN, lose_tail
from tests.builders import Lake, new_lake, produce, wait_until
from tests.hotset.cut_logs import restart, send

pytestmark = pytest.mark.kafka


def kept_lake(bootstrap: str, folder: Path, **options: str) -> Lake:
    made = new_lake(bootstrap, folder, partitions=1, **options)
    return made.having(hotStore="on_demand", hotStorePath=str(folder / "store"))


def read(lake: Lake) -> tuple[list[int], int]:
    """All sequence numbers in order, and how many records came from Kafka."""
    scan = lake.open().scan(["seq"])
    return sorted(scan.to_arrow()["seq"].to_pylist()), scan.receipt.records_fetched


@pytest.mark.parametrize("tail_rows", [1, 1000])
def test_another_leader_of_the_same_history_finds_what_was_kept(
    frail_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail_rows: int
) -> None:
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", tail_rows)
    lake = kept_lake(frail_broker.bootstrap, tmp_path)
    send(lake, 6)
    assert read(lake) == ([0, 1, 2, 3, 4, 5], 6)

    restart(frail_broker, lake)
    send(lake, 2, seq=6)

    assert read(lake) == ([0, 1, 2, 3, 4, 5, 6, 7], 2)


@pytest.mark.parametrize("tail_rows", [1, 1000])
def test_what_was_cut_off_is_not_answered_from_the_store(
    frail_broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail_rows: int
) -> None:
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", tail_rows)
    lake = kept_lake(frail_broker.bootstrap, tmp_path)
    send(lake, 3)
    read(lake)
    restart(frail_broker, lake)
    send(lake, 3, seq=3)
    assert read(lake) == ([0, 1, 2, 3, 4, 5], 3)

    restart(frail_broker, lake, keeping=4)
    send(lake, 4, seq=100)

    # Of two older leaders, one had the first three records, which the log still has; in chunks
    # these are kept apart, and a tail is given up.
    assert read(lake) == ([0, 1, 2, 3, 100, 101, 102, 103], 5 if tail_rows == 1 else 8)
    assert read(lake) == ([0, 1, 2, 3, 100, 101, 102, 103], 0)


def test_an_older_cut_does_not_see_what_a_later_leader_wrote(
    frail_broker: KafkaBroker, tmp_path: Path
) -> None:
    lake = kept_lake(frail_broker.bootstrap, tmp_path)
    send(lake, 6)
    older = lake.open().scan(["seq"])
    restart(frail_broker, lake)
    send(lake, 1, seq=6)
    read(lake)

    rows = older.to_arrow()

    assert sorted(rows["seq"].to_pylist()) == [0, 1, 2, 3, 4, 5]


@pytest.mark.long
def test_records_lost_by_an_unclean_election_are_not_answered_from_the_store(tmp_path: Path) -> None:
    with KafkaCluster.start(tmp_path / "cluster") as cluster:
        lake = kept_lake(cluster.bootstrap, tmp_path)
        topic = f"{lake.topic}_replicated"
        cluster.create_topic(topic, config=UNCLEAN)
        lake = lake.having(subscribe=topic)
        produce(lake.bootstrap, topic, [{"producer": "p", "seq": i} for i in range(5)])
        seen: list[tuple[list[int], int]] = []
        tail = [b'{"producer": "p", "seq": %d}' % i for i in (5, 6, 7)]

        lose_tail(cluster, topic, tail, seen=lambda: seen.append(read(lake)))
        produce(lake.bootstrap, topic, [{"producer": "p", "seq": i} for i in range(100, 106)])
        wait_until(lambda: take_cut(lake.merged()).cut.ranges[0].end == 11, "the end of the log")

        assert seen == [([0, 1, 2, 3, 4, 5, 6, 7], 8)]
        assert read(lake)[0] == [0, 1, 2, 3, 4, *range(100, 106)]
