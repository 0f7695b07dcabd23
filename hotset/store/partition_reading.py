"""How far one partition's part of a reading has come: what was found of its range, and what is missing.

A reading fills it, from the store first and then from Kafka. The file must not know where from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hotset.kafka import OffsetRange
from hotset.store.chunk import Held
from hotset.store.chunk_index import Chunk, Segment
from hotset.store.stored_columns import WantedColumns


class Found(NamedTuple):
    """A part of a chunk, and the chunk's content."""

    segment: Segment
    held: Held


@dataclass(slots=True)
class Shelf:
    """One partition's part. `useless` are chunks that cannot be read, to be replaced."""

    wanted: OffsetRange
    folder: Path
    found: list[Found] = field(default_factory=list)
    gaps: list[OffsetRange] = field(default_factory=list)
    useless: list[Chunk] = field(default_factory=list)
    is_new: bool = False

    def lacking(self, wanted: WantedColumns) -> list[Found]:
        """Return what has not all columns that are wanted."""
        return [each for each in self.found if not wanted.are_in(each.held.columns)]

    def undone(self, wanted: WantedColumns) -> OffsetRange | None:
        """Return the offsets that something has to be done for, or None."""
        spans = [(gap.start, gap.end) for gap in self.gaps]
        spans += [
            (each.segment.chunk.name.start, each.segment.chunk.name.end) for each in self.lacking(wanted)
        ]
        if not spans:
            return None
        return OffsetRange(self.wanted.partition, min(s for s, _ in spans), max(e for _, e in spans))
