"""Batches of kept rows: many small ones become one, and none becomes more than an array can hold.

Nothing is read here; batches are made of one text each.
"""

from __future__ import annotations

import pyarrow as pa

from federation.engine.run.resident_rows import joined


def text(size: int) -> pa.RecordBatch:
    return pa.record_batch({"text": ["x" * size]})


def test_many_batches_of_few_rows_become_one_unless_they_are_large() -> None:
    few, large = text(1), text(2 << 20)

    made = joined([few, *[large] * 16, *[few] * 15])

    assert [batch.num_rows for batch in made] == [1] * 16 + [16]
    assert all(batch is large for batch in made[:-1])


def test_batches_that_are_more_than_an_array_can_hold_stay_apart() -> None:
    many = [text((1 << 20) - 64)] * 2100

    assert joined(many) == many
