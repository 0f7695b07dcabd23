"""A scan of some of the files that it was made for, because no other can have rows that are asked for.

Everything that was prepared for the whole scan serves the narrowed one too: the
engine's permission to open files, and the tables of deleted rows, in which files
keep their numbers. Which files are left is decided in `file_plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from coldset.files import ColdFile
from coldset.plan.parquet_scan import ParquetScan, ScanGroup


def narrow_scan(scan: ParquetScan, files: Sequence[ColdFile]) -> ParquetScan:
    """Return the scan of those of its files that are given."""
    wanted = {file.path for file in files}
    groups = tuple(_narrowed(group, wanted) for group in scan.groups)
    rest = tuple(file for file in scan.rest if file.path in wanted)
    return replace(scan, groups=groups, rest=rest, rows=sum(_rows_left(group) for group in groups))


def _narrowed(group: ScanGroup, wanted: Collection[str]) -> ScanGroup:
    kept = [at for at, file in enumerate(group.files) if file.path in wanted]
    if len(kept) == len(group.files):
        return group
    return replace(
        group,
        paths=tuple(group.paths[at] for at in kept),
        files=tuple(group.files[at] for at in kept),
        places=tuple(kept if group.places is None else [group.places[at] for at in kept]),
    )


def _rows_left(group: ScanGroup) -> int:
    places = range(len(group.files)) if group.places is None else group.places
    gone = sum(len(group.deleted[place]) for place in places) if group.deleted else 0
    return sum(file.rows for file in group.files) - gone
