"""A cut with what it was taken from, as a value.

Everything that follows a cut is made of this: plans, receipts, freezes. How its
facts are taken is `take`; this file asks nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from coldset.table import PinnedTable
from federation.boundary import (
    Assumption,
    Basis,
    CommittedOffsets,
    Confidence,
    confidence_of,
    in_order,
)
from federation.cut.cut import Cut
from federation.options import TableDefinition
from hotset.kafka import LogBounds


class Doubt(Enum):
    """What speaks against reading the hot half with the isolation that the table's writer has by default."""

    NONE = "nothing, or it is not chosen by default"
    UNTOLD = "nothing tells the writer's, and transactions may be in the hot half"
    OPEN_TRANSACTION = "nothing tells the writer's, and a transaction is open"


@dataclass(frozen=True, slots=True)
class TakenCut:
    """A cut with what it was taken from; everything after is a function of it.

    Attributes:
        definition: The table's settled options.
        pinned: The loaded table and snapshot.
        cut: The cut.
        bounds: What the log held; None for a plain table.
        committed: What the boundary was found to be; None if there was nothing to find.
        as_of_ms: When the ends were asked for (epoch milliseconds, UTC).
        plan_ms: Milliseconds it took.
        offsets_ms: Those of them that Kafka was asked for the log's ends and beginnings.
        more_assumed: What is taken for granted beside what the boundary takes.
        doubt: What speaks against the isolation of the hot half.
    """

    definition: TableDefinition
    pinned: PinnedTable
    cut: Cut
    bounds: LogBounds | None
    committed: CommittedOffsets | None
    as_of_ms: int
    plan_ms: float
    offsets_ms: float = 0.0
    more_assumed: tuple[Assumption, ...] = ()
    doubt: Doubt = Doubt.NONE

    def held_back(self, partition: int) -> int:
        """Return how many offsets of a partition an open transaction hides."""
        bounds = () if self.bounds is None else self.bounds.partitions
        return sum(found.held_back for found in bounds if found.partition == partition)

    def assumed(self, records: int | None = None) -> tuple[Assumption, ...]:
        """Return all that is taken for granted.

        Args:
            records: How many records the hot ranges had, if they were read.
        """
        found = {*self.more_assumed, *(() if self.committed is None else self.committed.assumed)}
        # A transaction that has ended leaves a marker, which is no record.
        has_none = self.doubt is Doubt.UNTOLD and records == self.cut.hot_span
        if self.doubt is not Doubt.NONE and self.cut.hot_span > 0 and not has_none:
            found.add(Assumption.WRITER_ISOLATION)
        return in_order(found)

    def confidence(self, assumed: tuple[Assumption, ...]) -> Confidence:
        """Return how sure an answer is that takes this for granted."""
        return confidence_of(Basis.RECORD if self.committed is None else self.committed.basis, assumed)
