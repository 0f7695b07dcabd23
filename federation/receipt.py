"""What every answer carries: the cut it was taken at and how fresh it is.

A receipt is built from a cut and from counts made while reading; it is the
same object behind HTTP, the command line, the library and the tests. It must
not hold anything secret, for it goes to whoever asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from federation.boundary import Assumption
from federation.cut import ReaderSchema, ShownRange, TakenCut, render_cut_html
from federation.read import ColdMeter, HotMeter
from hotset.decode import BadRecord

# What a receipt says only of an answer whose rows were read.
COUNTED: Final = (
    "rows_hot",
    "rows_cold",
    "files_read",
    "bytes_read",
    "files_answered",
    "files_pruned",
    "bytes_pruned",
    "manifests_read",
    "manifests_skipped",
    "rows_skipped",
    "records_fetched",
    "records_resident",
    "records_bad",
    "first_bad",
    "unmapped",
    "newest_record_ms",
    "newest_age_ms",
)


MOST_UNMAPPED: Final = 64


@dataclass(frozen=True, slots=True)
class PartitionReceipt:
    """Where one partition stands in the answer.

    Attributes:
        committed: First offset the snapshot does not hold.
        start, end: The hot range `[start, end)` that was read.
        held_back: Offsets that are in the log but hidden by an open transaction.
    """

    partition: int
    committed: int
    start: int
    end: int
    held_back: int


@dataclass(frozen=True, slots=True)
class TableReceipt:
    """One table's part of an answer.

    Attributes:
        rows_hot, rows_cold: Rows read from each half, before the statement's own
            filters, but for hot rows that a filter on offset, partition or time kept from
            being read. `rows_cold` counts the snapshot once however often it was scanned.
        files_read, bytes_read: Data files that were scanned, and their sizes; of a file not all need be read.
        files_answered: Data files that were not opened, because rows were only counted.
        files_pruned, bytes_pruned: Data files that no row asked for can be in, by the metadata alone; bytes
            of files in skipped manifests are not counted.
        manifests_read, manifests_skipped: Manifests of the snapshot that were looked into, now or for an
            earlier answer, and those that were left out as a whole.
        rows_skipped: Hot records without a value that were dropped (`tombstones=skip`).
        records_fetched, records_resident: Hot records read from Kafka, and found in the hot store.
        records_bad: Hot records that are no rows of the table, and were not an error (`badRecords`).
        first_bad: The first of these by partition and offset, with the reasons.
        unmapped: Paths of fields of hot records, or of records that were read with them, that the table has
            no column for: their values are in no answer. Of more than `MOST_UNMAPPED` the first by name.
        as_of_ms: When the end offsets were asked for (epoch milliseconds, UTC).
        newest_record_ms: Newest timestamp among the hot records, if any.
        boundary: Where the boundary was found and how sure that is; None for a cut
            that was taken up again, and for a plain table.
        assumed: Names of what was taken for granted, and would make the answer wrong if it were not so.
        gaps: Ranges `(partition, start, end)` that are in neither half, because the
            caller, or whoever committed after them, accepted that.
        reader_schema: The schema that was the latest, if hot records are read by that.
        stages_ms: Milliseconds. `plan`, `cold`, `hot` and, in SQL, `engine` add up to the answer's; of
            the engine's, what it took for all tables and scanned itself. `offsets` is a part of `plan`;
            `fetch`, `decode` and `store` are parts of `hot`.
    """

    table: str
    topic: str | None
    snapshot_id: int | None
    isolation: str
    cut: str
    as_of_ms: int
    partitions: tuple[PartitionReceipt, ...]
    rows_hot: int
    rows_cold: int
    files_read: int
    bytes_read: int
    files_answered: int
    files_pruned: int
    bytes_pruned: int
    manifests_read: int
    manifests_skipped: int
    rows_skipped: int
    records_fetched: int
    records_resident: int
    records_bad: int
    first_bad: tuple[BadRecord, ...]
    unmapped: tuple[str, ...]
    newest_record_ms: int | None
    boundary: Mapping[str, str] | None
    assumed: tuple[Assumption, ...]
    gaps: tuple[tuple[int, int, int], ...]
    reader_schema: ReaderSchema | None
    stages_ms: Mapping[str, float]

    @property
    def newest_age_ms(self) -> int | None:
        """Age of the newest hot record when the cut was taken, in milliseconds."""
        return None if self.newest_record_ms is None else self.as_of_ms - self.newest_record_ms

    def _repr_html_(self) -> str:
        facts = {
            "table": self.table,
            "snapshot": self.snapshot_id,
            "rows": f"{self.rows_cold} cold, {self.rows_hot} hot",
            "newest record": "none hot" if self.newest_age_ms is None else f"{self.newest_age_ms} ms old",
            "confidence": "" if self.boundary is None else self.boundary["confidence"],
            "assumed": ", ".join(self.assumed) or "nothing",
        }
        shown = [ShownRange(p.partition, p.committed, p.start, p.end) for p in self.partitions]
        return render_cut_html(facts.items(), shown)

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON-ready values."""
        return {
            "table": self.table,
            "topic": self.topic,
            "snapshot_id": self.snapshot_id,
            "isolation": self.isolation,
            "as_of_ms": self.as_of_ms,
            "rows_hot": self.rows_hot,
            "rows_cold": self.rows_cold,
            "files_read": self.files_read,
            "bytes_read": self.bytes_read,
            "files_answered": self.files_answered,
            "files_pruned": self.files_pruned,
            "bytes_pruned": self.bytes_pruned,
            "manifests_read": self.manifests_read,
            "manifests_skipped": self.manifests_skipped,
            "rows_skipped": self.rows_skipped,
            "records_fetched": self.records_fetched,
            "records_resident": self.records_resident,
            "records_bad": self.records_bad,
            "first_bad": [asdict(found) for found in self.first_bad],
            "unmapped": list(self.unmapped),
            "newest_record_ms": self.newest_record_ms,
            "newest_age_ms": self.newest_age_ms,
            "partitions": [
                {
                    "partition": p.partition,
                    "committed": p.committed,
                    "start": p.start,
                    "end": p.end,
                    "held_back": p.held_back,
                }
                for p in self.partitions
            ],
            "boundary": self.boundary,
            "assumed": list(self.assumed),
            "gaps": [{"partition": p, "start": start, "end": end} for p, start, end in self.gaps],
            "reader_schema": None if self.reader_schema is None else self.reader_schema._asdict(),
            "stages_ms": {stage: round(ms, 3) for stage, ms in self.stages_ms.items()},
            "cut": self.cut,
        }


def build_receipt(
    taken: TakenCut,
    meter: HotMeter | None = None,
    cold: ColdMeter | None = None,
    *,
    stages_ms: Mapping[str, float],
) -> TableReceipt:
    """Return the receipt of one table's part of an answer.

    Args:
        taken: The cut.
        meter: What was counted in the hot half; None if it was not read.
        cold: What was counted in the cold half; None if it was not read.
        stages_ms: Milliseconds per stage of reading.
    """
    cut = taken.cut
    meter = HotMeter() if meter is None else meter
    cold = ColdMeter() if cold is None else cold
    assumed = taken.assumed(meter.reading.records)
    return TableReceipt(
        table=cut.table,
        topic=cut.topic,
        snapshot_id=cut.snapshot_id,
        isolation=cut.isolation.value,
        cut=cut.token(),
        as_of_ms=taken.as_of_ms,
        partitions=tuple(
            PartitionReceipt(
                r.partition, cut.committed(r.partition), r.start, r.end, taken.held_back(r.partition)
            )
            for r in cut.ranges
        ),
        rows_hot=meter.counts.rows,
        rows_cold=cold.rows + cold.rows_scanned,
        files_read=cold.files,
        bytes_read=cold.size_bytes,
        files_answered=cold.files_answered,
        files_pruned=cold.files_pruned,
        bytes_pruned=cold.bytes_pruned,
        manifests_read=cold.manifests,
        manifests_skipped=cold.manifests_skipped,
        rows_skipped=meter.counts.tombstones,
        records_fetched=meter.reading.records_fetched,
        records_resident=meter.reading.records_resident,
        records_bad=meter.counts.bad,
        first_bad=meter.counts.first_bad,
        unmapped=tuple(sorted(meter.counts.unmapped)[:MOST_UNMAPPED]),
        newest_record_ms=meter.counts.newest_ms,
        boundary=None
        if taken.committed is None
        else {
            "resolver": taken.committed.resolver,
            "provenance": taken.committed.provenance,
            "confidence": taken.confidence(assumed).value,
        },
        assumed=assumed,
        gaps=tuple((gap.partition, gap.start, gap.end) for gap in (*cut.lost, *cut.gaps)),
        reader_schema=cut.reader_schema,
        stages_ms={
            "plan": taken.plan_ms,
            "offsets": taken.offsets_ms,
            **stages_ms,
            **meter.reading.stages_ms,
        },
    )
