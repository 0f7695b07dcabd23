"""Which part of a cut's hot records a statement asks for, by where they are in the log.

A bound narrows what is read and decoded, never what the cut is: whoever gives one
filters the rows again, and rows outside of it may come. The file must not know
who asks, or how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from hotset.decode import Source
from hotset.kafka import OffsetRange


class Bounds(NamedTuple):
    """The whole numbers from `low` to `high`, both included; None is no limit."""

    low: int | None = None
    high: int | None = None

    def both(self, other: Bounds) -> Bounds:
        """Return the numbers that are in both."""
        return Bounds(_pick(max, self.low, other.low), _pick(min, self.high, other.high))

    def either(self, other: Bounds) -> Bounds:
        """Return bounds of the numbers that are in one or the other."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Bounds(low, high)

    def has(self, number: int) -> bool:
        """Return whether a number is within."""
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)


def narrow(
    ranges: Iterable[OffsetRange], columns: Mapping[str, Source], bounds: Mapping[str, Bounds]
) -> tuple[OffsetRange, ...]:
    """Return what of the ranges lies within the bounds of columns of partitions and offsets.

    Args:
        ranges: At most one of each partition.
        columns: What fills the table's Kafka columns.
        bounds: Column to bounds.
    """
    partitions = _of("partition", columns, bounds)
    offsets = _of("offset", columns, bounds)
    kept = []
    for each in ranges:
        start = each.start if offsets.low is None else min(each.end, max(each.start, offsets.low))
        end = each.end if offsets.high is None else max(start, min(each.end, offsets.high + 1))
        if partitions.has(each.partition) and start < end:
            kept.append(OffsetRange(each.partition, start, end))
    return tuple(kept)


def _of(source: str, columns: Mapping[str, Source], bounds: Mapping[str, Bounds]) -> Bounds:
    found = Bounds()
    for name, bound in bounds.items():
        if columns.get(name) == source:
            found = found.both(bound)
    return found


def _pick(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
