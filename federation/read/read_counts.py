"""Counts made while the halves of one table are read.

Every face that reads splits fills one of these and puts it into the receipt, so
that what was left out of an answer is told in the same way everywhere. It reads
nothing itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coldset.files import ColdFile
from coldset.plan import MatchingFiles
from hotset.decode import BadRecord, DecodedRows
from hotset.store import ReadMeter

# How many bad records are named, and how much of the reason.
NAMED: Final = 5
_REASON_CHARACTERS: Final = 300


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

    def read(self, file: ColdFile) -> None:
        """Take note of a file that is read to its end."""
        self.files_done += 1
        self.bytes_done += file.size_bytes


@dataclass(slots=True)
class HotMeter:
    """Counts, and the first of what was counted.

    Attributes:
        keeps_letters: Whether bad records are gathered as dead letters.
        rows: Rows of the table.
        rows_skipped: Records without a value that were dropped.
        records_bad: Records that are no rows of the table and did not end the reading.
        first_bad: The first of these by partition and offset, at most `NAMED`.
        newest_record_ms: Newest timestamp of all records.
        letters: The dead letters gathered.
        reading: What came from where, and how long that was.
    """

    keeps_letters: bool = False
    rows: int = 0
    rows_skipped: int = 0
    records_bad: int = 0
    first_bad: tuple[BadRecord, ...] = ()
    newest_record_ms: int | None = None
    letters: list[pa.RecordBatch] = field(default_factory=list)
    reading: ReadMeter = field(default_factory=ReadMeter)

    def saw(self, raw: pa.RecordBatch, decoded: DecodedRows) -> None:
        """Take note of a chunk of records, and of what they were."""
        newest_ms = pc.max(raw.column("timestamp_ms")).as_py()
        if newest_ms is not None:
            self.newest_record_ms = max(newest_ms, self.newest_record_ms or newest_ms)
        self.rows += decoded.rows.num_rows
        self.rows_skipped += decoded.tombstones
        if decoded.bad:
            self.records_bad += len(decoded.bad)
            found = heapq.nsmallest(NAMED, (*self.first_bad, *decoded.bad))
            self.first_bad = tuple(_shortened(each) for each in found)
        if self.keeps_letters and decoded.letters is not None and decoded.letters.num_rows:
            self.letters.append(decoded.letters)

    def recalled(self, rows: int, newest_record_ms: int | None) -> None:
        """Take note of records that are rows and were seen before."""
        if newest_record_ms is not None:
            self.newest_record_ms = max(newest_record_ms, self.newest_record_ms or newest_record_ms)
        self.rows += rows
        self.reading.records_resident += rows

    @property
    def is_stored(self) -> bool:
        """Whether every record is a row, and all of them are in the store."""
        has_others = self.rows_skipped or self.records_bad or self.keeps_letters
        return self.reading.is_stored and not has_others


def _shortened(found: BadRecord) -> BadRecord:
    if len(found.reason) <= _REASON_CHARACTERS:
        return found
    return BadRecord(found.partition, found.offset, found.reason[: _REASON_CHARACTERS - 1] + "…")
