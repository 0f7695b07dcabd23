"""Which chunks of a partition there are, and which of them together are a range.

Chunks may overlap, be gone the next moment or leave holes: whatever is there, the same range gives the
same records. `find_chunks` lists a folder; the choice is pure. The file must not know what is in a chunk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hotset.kafka import OffsetRange
from hotset.store.file_names import BASE, RAW, ChunkName, parse_file


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that can be read: its base is there, and perhaps more."""

    name: ChunkName
    folder: Path
    has_raw: bool
    columns: tuple[str, ...] = field(repr=False)

    def path(self, kind: str) -> Path:
        """Return where a file of it is."""
        return self.folder / f"{self.name}.{kind}"

    def paths(self) -> list[Path]:
        """Return all of its files, the base first: without that there is no chunk."""
        return [self.path(kind) for kind in (BASE, RAW, *self.columns)]


@dataclass(frozen=True, slots=True)
class Segment:
    """The part `[start, end)` of a chunk."""

    chunk: Chunk
    start: int
    end: int


def find_chunks(folder: Path) -> list[Chunk]:
    """Return the chunks in a partition's folder, in order."""
    kinds: dict[ChunkName, list[str]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                parsed = parse_file(entry.name)
                if parsed is not None:
                    kinds.setdefault(parsed[0], []).append(parsed[1])
    except OSError:
        return []
    return [
        Chunk(name, folder, RAW in found, tuple(sorted(kind for kind in found if kind not in (BASE, RAW))))
        for name, found in sorted(kinds.items())
        if BASE in found
    ]


def cover(chunks: Iterable[Chunk], wanted: OffsetRange) -> tuple[list[Segment], list[OffsetRange]]:
    """Choose chunks whose parts together are a range, each offset once; and tell what they lack."""
    useful = [c for c in chunks if c.name.start < wanted.end and c.name.end > wanted.start]
    segments: list[Segment] = []
    gaps: list[OffsetRange] = []
    at = wanted.start
    while at < wanted.end:
        here = [chunk for chunk in useful if chunk.name.start <= at < chunk.name.end]
        if here:
            best = max(here, key=lambda chunk: (chunk.name.end, -chunk.name.start))
            until = min(best.name.end, wanted.end)
            segments.append(Segment(best, at, until))
        else:
            until = min((c.name.start for c in useful if c.name.start > at), default=wanted.end)
            gaps.append(OffsetRange(wanted.partition, at, until))
        at = until
    return segments, gaps
