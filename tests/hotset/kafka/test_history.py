"""A log that was cut back and written on is another history under the same offsets, and is never joined.

How a log is cut back is in `tests/hotset/cut_logs.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from federation.cut.take import take_cut
from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.errors import LogTruncatedError
from hotset.kafka.client import connect
from hotset.kafka.leader_history import require_history
from hotset.kafka.log_bounds import read_log_bounds
from hotset.kafka.offsets import Isolation, OffsetRange
from stack import KafkaBroker
from tests.builders import commit_until, new_lake
from tests.hotset.cut_logs import restart, send

pytestmark = pytest.mark.kafka

COMMITTED = Isolation.READ_COMMITTED


def test_a_log_cut_back_below_the_boundary_and_written_on_is_an_error(
    frail_broker: KafkaBroker, tmp_path: Path
) -> None:
    lake = new_lake(frail_broker.bootstrap, tmp_path, partitions=1)
    send(lake, 6)
    commit_until(lake)
    restart(frail_broker, lake)
    send(lake, 2, seq=6)
    assert lake.open().scan().to_arrow().num_rows == 8  # another leader of the same history
    restart(frail_broker, lake, keeping=4)
    send(lake, 5, seq=100)

    for read in (lambda: take_cut(lake.merged()), lambda: lake.open().scan().to_arrow()):
        with pytest.raises(LogTruncatedError, match=lake.topic):
            read()


def test_a_log_cut_back_above_the_boundary_is_read_on(frail_broker: KafkaBroker, tmp_path: Path) -> None:
    lake = new_lake(frail_broker.bootstrap, tmp_path, partitions=1)
    send(lake, 6)
    commit_until(lake, {0: 3})
    restart(frail_broker, lake, keeping=4)
    send(lake, 1, seq=100)

    rows = lake.open().scan().to_arrow()

    assert sorted(rows["seq"].to_pylist()) == [0, 1, 2, 3, 100]


@pytest.mark.usefixtures("way")
def test_a_range_planned_under_an_older_leader_is_not_read_from_another_history(
    frail_broker: KafkaBroker, tmp_path: Path
) -> None:
    lake = new_lake(frail_broker.bootstrap, tmp_path, partitions=1)
    send(lake, 6)
    bootstrap = {"bootstrap.servers": lake.bootstrap}
    planned = read_log_bounds(connect(bootstrap), lake.topic, COMMITTED, Deadline.after_ms(20_000))
    epochs = {found.partition: found.leader_epoch for found in planned.partitions}
    restart(frail_broker, lake, keeping=2)
    send(lake, 6, seq=100)
    client = connect(bootstrap)
    now = read_log_bounds(client, lake.topic, COMMITTED, Deadline.after_ms(20_000))

    ranges = (OffsetRange(0, 5, 6),)
    with pytest.raises(LogTruncatedError):
        list(drain(client, lake.topic, ranges, COMMITTED, Deadline.after_ms(20_000), leader_epoch=epochs))
    with pytest.raises(LogTruncatedError):
        require_history(client, now, {0: (6, epochs[0])}, Deadline.after_ms(20_000))
    require_history(client, now, {0: (2, epochs[0])}, Deadline.after_ms(20_000))
