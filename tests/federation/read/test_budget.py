"""What a hot read may cost is a number the user gives, and the error names it.

Records are counted as offsets before reading, bytes as values while reading; memory bounds the sizes of
chunks and never the answer.
"""

from __future__ import annotations

import pytest

from federation.errors import HotBudgetError
from tests.builders import Lake, produce
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

VALUE_BYTES = len(b'{"producer": "p", "seq": 1000}')


@pytest.fixture(scope="module")
def hot(lake: MakeLake) -> Lake:
    made = lake(partitions=1)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(1000, 1100)])
    return made


@pytest.mark.usefixtures("way")
def test_a_read_ends_above_its_bytes(hot: Lake) -> None:
    limit = 100 * VALUE_BYTES

    assert hot.open(maxHotBytes=str(limit)).scan().to_arrow().num_rows == 100
    with pytest.raises(HotBudgetError, match=f"maxHotBytes={limit - 1} .*: {limit} were read") as caught:
        hot.open(maxHotBytes=str(limit - 1)).scan().to_arrow()
    assert caught.value.details["value_bytes"] == limit


def test_a_read_through_the_store_ends_above_its_bytes(hot: Lake) -> None:
    with pytest.raises(HotBudgetError, match="maxHotBytes=99 "):
        hot.open(maxHotBytes="99", hotStore="on_demand").scan().to_arrow()


def test_too_many_offsets_are_refused_before_reading(hot: Lake) -> None:
    with pytest.raises(HotBudgetError, match="span 100 offsets, more than maxHotRecords=99;"):
        hot.open(maxHotRecords="99").scan().to_arrow()


@pytest.mark.usefixtures("way")
def test_little_memory_is_the_same_answer(hot: Lake) -> None:
    batches = list(hot.open(maxDrainBytes=str(40 * VALUE_BYTES)).scan().batches())

    assert [batch.num_rows for batch in batches] == [5] * 20
    assert [row["seq"] for batch in batches for row in batch.to_pylist()] == list(range(1000, 1100))
