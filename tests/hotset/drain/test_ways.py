"""Nobody can tell the two ways of taking records apart, whatever is in the log and however it is cut up.

Records are random to the byte; what the broker gives back is held against what was sent.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.kafka.client import KafkaClient, connect
from hotset.kafka.offsets import OffsetRange
from hotset.kafka.record_source import DrainLimits
from hotset.native.availability import PURE, native_available
from stack import KafkaBroker
from tests.builders import make_topic, unique
from tests.hotset.reading import everything, send

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(not native_available().is_available, reason="nothing is read natively here"),
]


@pytest.fixture(scope="module")
def client(broker: KafkaBroker) -> KafkaClient:
    return connect({"bootstrap.servers": broker.bootstrap})


RECORD = st.fixed_dictionaries(
    {
        "value": st.none() | st.binary(max_size=2000),
        "key": st.none() | st.binary(max_size=40),
        "headers": st.lists(
            st.tuples(
                st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5),
                st.none() | st.binary(max_size=20),
            ),
            max_size=4,
        ),
        "timestamp": st.integers(1, 1_700_000_000_000),
        "partition": st.integers(0, 1),
    }
)


@settings(max_examples=25, deadline=None)
@given(
    records=st.lists(RECORD, min_size=1, max_size=120),
    codec=st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
    chunk_rows=st.integers(1, 50),
    memory_bytes=st.integers(100, 40_000),
    has_headers=st.booleans(),
    data=st.data(),
)
def test_nobody_can_tell_the_ways_apart(
    client: KafkaClient,
    broker: KafkaBroker,
    records: list[dict[str, Any]],
    codec: str,
    chunk_rows: int,
    memory_bytes: int,
    has_headers: bool,
    data: st.DataObject,
) -> None:
    topic = make_topic(broker.bootstrap, unique("random"), partitions=2, retention_ms="-1")
    send(broker, topic, records, **{"compression.type": codec})
    counts = [sum(record["partition"] == partition for record in records) for partition in (0, 1)]
    starts = [data.draw(st.integers(0, count)) for count in counts]
    ranges = [OffsetRange(p, start, counts[p]) for p, start in enumerate(starts)]
    limits = DrainLimits(chunk_rows=chunk_rows, memory_bytes=memory_bytes)
    if starts == counts:
        return

    tables = []
    for pure in ("", "1"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(PURE, pure)
            tables.append(everything(client, topic, *ranges, limits=limits, has_headers=has_headers))

    expected = [r for p in (0, 1) for r in [r for r in records if r["partition"] == p][starts[p] :]]
    assert tables[0].equals(tables[1])
    assert tables[0]["value"].to_pylist() == [record["value"] for record in expected]
    assert tables[0]["key"].to_pylist() == [record["key"] for record in expected]
