"""Which records a snapshot already holds, as a value.

All resolvers answer in this type, whatever kind of writer filled the table.
It performs no input or output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from federation.boundary.assumptions import Assumption, Basis, Confidence, confidence_of, in_order
from hotset.kafka import Isolation, OffsetRange


@dataclass(frozen=True, slots=True)
class CommittedOffsets:
    """Per partition, the first offset that is *not* in the snapshot.

    Invariant: `confidence` follows from `basis` and `assumed`, so what assumes anything is not exact.

    Attributes:
        snapshot_id: The snapshot this was found for; None for an empty table.
        topic_id: Identity of the topic the records came from; None if not recorded.
        next_offset: Partition to first offset not in the snapshot. A partition
            that is absent has nothing in the snapshot, so its next offset is 0.
        isolation: With which the records were read; None if not recorded.
        resolver: Name of the resolver that answered; the value of option `boundary`.
        provenance: Where this was found, in words.
        basis: What it rests on.
        assumed: What was taken for granted, in the order of `Assumption`.
        lost: Ranges below the boundary that the snapshot does not hold, because retention
            had removed them and whoever committed accepted that.
        leader_epoch: Partition to epoch of the leader when the snapshot's records had been read up
            to there, where recorded.
        is_kept: Whether the answer stays true for this snapshot, whatever is said or found later.
        looked: What was looked at on the way, one sentence each, for `kafkaiceberg cut --explain`.
    """

    snapshot_id: int | None
    topic_id: str | None
    next_offset: Mapping[int, int]
    isolation: Isolation | None
    resolver: str
    provenance: str
    basis: Basis
    assumed: tuple[Assumption, ...] = ()
    lost: tuple[OffsetRange, ...] = ()
    leader_epoch: Mapping[int, int] = field(default_factory=dict)
    is_kept: bool = True
    looked: tuple[str, ...] = ()

    @property
    def confidence(self) -> Confidence:
        """How sure it is."""
        return confidence_of(self.basis, self.assumed)

    def assuming(self, *more: Assumption) -> CommittedOffsets:
        """Return the same, which takes more for granted."""
        return replace(self, assumed=in_order((*self.assumed, *more)))

    def of(self, partition: int) -> int:
        """Return the first offset of a partition that is not in the snapshot."""
        return self.next_offset.get(partition, 0)


def parse_next_offset(value: Any) -> int:
    """Return a next offset read from JSON.

    Raises:
        ValueError: It is no whole number, or below zero.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no offset")
    return value
