"""Millions of orders at once: the same rows as `stack.orders.order` makes, as data files of a table.

They are committed with the boundary property, as a writer that sets it would. This file measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyiceberg.catalog import load_catalog

from federation.boundary import OFFSETS_PROPERTY, render_offsets
from federation.cut.take import take_cut
from hotset.kafka import Isolation
from stack.orders import NAMESPACE, SCHEMA

_BATCH_ROWS: Final = 500_000
# As `benchmarks.harness.Lab.produce` times them.
_EPOCH: Final = "TIMESTAMPTZ '2026-01-01 00:00:00+00'"

_ROWS: Final = f"""
SELECT
    i AS order_id,
    'customer-' || lpad((i * 31 % 997)::VARCHAR, 3, '0') AS customer,
    ['north', 'east', 'south', 'west'][1 + i * 7 % 11 % 4] AS region,
    (i * 7919 % 50000) / 100.0::DOUBLE AS amount,
    (i % 5 + 1)::INTEGER AS items,
    {_EPOCH} + to_milliseconds(i) AS placed_at,
    [NULL, 'leave at the door', 'ring twice', 'a gift'][1 + i % 4] AS note
FROM range(?, ?) rows(i)
"""


def order_rows(first: int, count: int) -> pa.Table:
    """Return orders of consecutive numbers."""
    connection = duckdb.connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.sql(_ROWS, params=[first, first + count]).to_arrow_table()
    return found.cast(SCHEMA)


def append_orders(
    catalog: Mapping[str, str], table: str, first: int, count: int, options: Mapping[str, str]
) -> None:
    """Append orders to a table, which says that it has nothing of its topic.

    Args:
        catalog: pyiceberg's catalog properties.
        table: Namespace and name.
        first: Number of the first order.
        count: How many.
        options: Merged read options of the table, by which its topic is found.
    """
    taken = take_cut({**options, "read": "hot", "schema": "order_id bigint"})
    assert taken.cut.topic is not None
    assert taken.cut.topic_id is not None
    nothing: Any = render_offsets(
        topic=taken.cut.topic,
        topic_id=taken.cut.topic_id,
        isolation=Isolation.READ_COMMITTED,
        next_offset={r.partition: 0 for r in taken.cut.ranges},
        leader_epoch={},
    )
    loaded = load_catalog(NAMESPACE, **catalog).load_table(table)
    for start in range(first, first + count, _BATCH_ROWS):
        rows = order_rows(start, min(_BATCH_ROWS, first + count - start))
        loaded.append(rows, snapshot_properties={OFFSETS_PROPERTY: nothing})
