"""A table with a hot and a cold half, of records that are numbered.

Each engine is asked for the same few rows, so that what it says can be known by heart.
"""

from __future__ import annotations

from tests.builders import Lake, produce


def send(lake: Lake, first: int, end: int) -> None:
    """Produce the records from one number to another, which is left out."""
    records = [{"producer": "p", "seq": seq, "run": "r"} for seq in range(first, end)]
    produce(lake.bootstrap, lake.topic, records, partition=0)


def name_of(lake: Lake) -> str:
    """The table's name without its namespace."""
    return lake.table.partition(".")[2]
