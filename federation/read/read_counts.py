"""Counts made while the halves of one table are read.

Every face that reads splits fills one of these and puts it into the receipt, so
that what was left out of an answer is told in the same way everywhere. It reads
nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coldset.files import ColdFile
from coldset.plan import MatchingFiles
from hotset.store import ReadMeter, RowCounts


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading of a snapshot is: data files, and their bytes, of those that are to be read."""

    files_done: int
    files: int
    bytes_done: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far the reading of a table is for a statement.

    Attributes:
        cold: Data files that are read one by one.
        files_scanned, bytes_scanned: Others, which an engine scans itself.
        rows_hot: Rows read from Kafka, or found in the store, so far.
    """

    cold: Progress
    files_scanned: int
    bytes_scanned: int
    rows_hot: int


@dataclass(slots=True)
class ColdMeter:
    """What is read of a snapshot, and what is left out.

    Attributes:
        rows: Rows read as Arrow, deletes applied.
        rows_scanned: Rows of the files that an engine reads itself, or that are only counted.
        files, size_bytes: Data files that are read, and their sizes.
        files_pruned, bytes_pruned: Others, which have no row that is asked for; bytes of
            files in manifests that were skipped are not known.
        files_answered: Data files of which the metadata said all that was asked.
        manifests, manifests_skipped: Manifests that this is known from, and those of which
            their list said enough.
        files_done, bytes_done: How far the reading as Arrow is.
    """

    rows: int = 0
    rows_scanned: int = 0
    files: int = 0
    size_bytes: int = 0
    files_pruned: int = 0
    bytes_pruned: int = 0
    files_answered: int = 0
    manifests: int = 0
    manifests_skipped: int = 0
    files_done: int = 0
    bytes_done: int = 0

    def planned(self, found: MatchingFiles) -> None:
        """Take note of what is to be read."""
        self.files = len(found.files)
        self.size_bytes = found.size_bytes
        self.files_pruned, self.bytes_pruned = found.files_pruned, found.bytes_pruned
        self.manifests, self.manifests_skipped = found.manifests, found.manifests_skipped

    def counted(self, rows: int, rest: Sequence[ColdFile]) -> None:
        """Take note that rows are counted from metadata, and only the rest of the files is read."""
        self.rows_scanned = rows
        self.files_answered = self.files - len(rest)
        self.files, self.size_bytes = len(rest), sum(file.size_bytes for file in rest)

    def read_furthest(self, other: ColdMeter) -> None:
        """Take note of how far one of several readings of the same files is."""
        self.rows = max(self.rows, other.rows)
        if other.files_done > self.files_done:
            self.files_done, self.bytes_done = other.files_done, other.bytes_done

    def read(self, file: ColdFile) -> None:
        """Take note of a file that is read to its end."""
        self.files_done += 1
        self.bytes_done += file.size_bytes


@dataclass(slots=True)
class HotMeter:
    """What was read of hot ranges.

    Attributes:
        counts: What the records were.
        reading: What came from where, and how long that was.
    """

    counts: RowCounts = field(default_factory=RowCounts)
    reading: ReadMeter = field(default_factory=ReadMeter)

    def took(self, counts: RowCounts) -> None:
        """Take note of more records."""
        self.counts = self.counts.plus(counts)
