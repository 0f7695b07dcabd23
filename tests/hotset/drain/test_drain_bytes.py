"""What a drain takes off the wire: little more than its ranges, however long the log goes on behind them.

Bytes are counted by a proxy between the client and a real broker, over both ways of taking records.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.offsets import OffsetRange
from hotset.kafka.record_source import DrainLimits
from stack import KafkaBroker, TcpProxy
from stack.kafka import Listener
from stack.ports import free_port
from tests.builders import make_topic, produce
from tests.hotset.reading import chunks_of, everything

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("way")]

TOPIC = "counted"
RECORDS = 20_000
VALUE_BYTES = 1000
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TcpProxy]:
    """A way to a broker that counts, and two partitions of twenty megabytes behind it."""
    behind = free_port()
    values = [random.Random(number).randbytes(VALUE_BYTES) for number in range(100)] * (RECORDS // 100)
    with TcpProxy.start("127.0.0.1", behind) as counting:
        listeners = [Listener("PROXIED", behind, advertised_port=counting.port)]
        with KafkaBroker.start(tmp_path_factory.mktemp("broker"), listeners=listeners) as broker:
            make_topic(broker.bootstrap, TOPIC, partitions=2)
            for partition in (0, 1):
                produce(broker.bootstrap, TOPIC, values, partition=partition)
            yield counting


@pytest.fixture
def client(proxy: TcpProxy) -> KafkaClient:
    return connect({"bootstrap.servers": proxy.address})


def test_a_short_range_far_behind_the_end_is_few_answers(proxy: TcpProxy, client: KafkaClient) -> None:
    before = proxy.forwarded_bytes

    for chunk in chunks_of(client, TOPIC, OffsetRange(0, 50, 150), limits=DrainLimits(chunk_rows=100)):
        time.sleep(1)  # in which more could come
        assert chunk.num_rows == 100

    assert proxy.forwarded_bytes - before < 3 * MEGABYTE


def test_a_partition_that_is_done_is_fetched_no_further(proxy: TcpProxy, client: KafkaClient) -> None:
    before = proxy.forwarded_bytes

    assert everything(client, TOPIC, OffsetRange(0, 0, 10), OffsetRange(1, 0, RECORDS)).num_rows > RECORDS

    assert proxy.forwarded_bytes - before < 1.5 * RECORDS * VALUE_BYTES
