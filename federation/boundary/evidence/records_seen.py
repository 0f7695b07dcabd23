"""How many records Kafka has in ranges of a topic, seen with each isolation.

Where a table has fewer rows than there are offsets below its boundary, the
log tells why, as long as it still has all of them: control records and aborted
records make no row, and records without a value may. If the rows are as many as
one way of reading sees, that is how the writer read. It must not know what the
numbers are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foundation.deadline import Deadline
from hotset.drain import drain
from hotset.kafka import Isolation, KafkaClient, OffsetRange

# What is read of a topic to count its records, at most.
MOST_OFFSETS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Seen:
    """How many records one way of reading sees, and how many of them have no value."""

    records: int
    without_value: int

    def may_make(self, rows: int) -> bool:
        """Return whether a writer that reads so may have made that many rows."""
        return rows in (self.records, self.records - self.without_value)


def count_records(
    client: KafkaClient,
    topic: str,
    ranges: tuple[OffsetRange, ...],
    deadline: Deadline,
) -> dict[Isolation, Seen]:
    """Return what both ways of reading see in the ranges.

    Raises:
        HotsetError: The ranges could not be read.
    """
    every = _count(client, topic, ranges, Isolation.READ_UNCOMMITTED, deadline)
    if every.records == sum(each.span for each in ranges):
        # Every offset has a record, so none is the marker of a transaction.
        return dict.fromkeys(Isolation, every)
    committed = _count(client, topic, ranges, Isolation.READ_COMMITTED, deadline)
    return {Isolation.READ_COMMITTED: committed, Isolation.READ_UNCOMMITTED: every}


def _count(
    client: KafkaClient,
    topic: str,
    ranges: tuple[OffsetRange, ...],
    isolation: Isolation,
    deadline: Deadline,
) -> Seen:
    records = without_value = 0
    for batch in drain(client, topic, ranges, isolation, deadline):
        records += batch.num_rows
        without_value += batch.column("value").null_count
    return Seen(records, without_value)
