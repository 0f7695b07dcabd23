"""Find the snapshot property that tells a snapshot's boundary, along the snapshot's own history.

The nearest ancestor with the property decides. Three things make that more than
a walk by parents. Iceberg copies no properties when it cherry-picks, so the
source of a picked snapshot is asked, and counts only where it went on from what
the branch held. Expiry removes ancestors, of which older metadata files still
tell. And where these are gone too, the pin tag still has the property, which is
used only if the table's files prove that the snapshot is built on it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from coldset.table import (
    SOURCE_ID,
    Ancestry,
    PinnedTable,
    Snapshot,
    adds_nothing_since,
    adds_rows,
    find_source,
    summary_value,
)
from federation.boundary.assumptions import Assumption, Basis
from federation.boundary.committed import CommittedOffsets
from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, PIN_TAG, parse_offsets
from federation.errors import BoundaryUnknownError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.kafka import KafkaClient

_PICKS: Final = 100


def resolve_summary(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Find the boundary of the pinned snapshot, which must not be None.

    Args:
        pinned: The loaded table and snapshot.
        definition: Not needed.
        client: Not needed.
        deadline: Not needed.

    Raises:
        BoundaryUnknownError: No snapshot that the pinned one is built on is known to have the
            property, or a cherry-picked commit does not go on from what its branch held.
        ColdReadError: Manifests that may prove the boundary could not be read.
    """
    assert pinned.snapshot is not None
    lineage = _Lineage(pinned)
    found = lineage.boundary_of(pinned.snapshot)
    return replace(found, snapshot_id=pinned.snapshot.snapshot_id, looked=tuple(lineage.looked))


class _Lineage:
    """One search; boundaries of snapshots met on the way are kept, since picks may share ancestors."""

    def __init__(self, pinned: PinnedTable) -> None:
        self.looked: list[str] = []
        self._pinned = pinned
        self._known: dict[int, CommittedOffsets] = {}
        self._picks = 0

    def boundary_of(self, snapshot: Snapshot) -> CommittedOffsets:
        """Return the boundary of a snapshot of the table, expired or not."""
        if snapshot.snapshot_id not in self._known:
            self._known[snapshot.snapshot_id] = self._search(snapshot)
        return self._known[snapshot.snapshot_id]

    def _search(self, snapshot: Snapshot) -> CommittedOffsets:
        ancestry = Ancestry(self._pinned.table, snapshot)
        walked = 0
        added: Snapshot | None = None
        for ancestor in ancestry:
            walked += 1
            text = summary_value(ancestor, OFFSETS_PROPERTY)
            if text is not None:
                found = self._tell(ancestor, text, walked, ancestry.old_files)
                return self._with_rows_of_others(found, added)
            added = ancestor if adds_rows(ancestor) else added
            if summary_value(ancestor, SOURCE_ID) is not None:
                source = find_source(self._pinned.table, ancestor)
                if source is None:
                    raise self._unknown(
                        f"snapshot {ancestor.snapshot_id} is a cherry-picked copy of snapshot "
                        f"{summary_value(ancestor, SOURCE_ID)}, which has been expired; Iceberg does not "
                        f"copy {OFFSETS_PROPERTY}, so what it added is not known"
                    )
                text = summary_value(source, OFFSETS_PROPERTY)
                if text is not None:
                    return self._pick(ancestor, source, text)
        if ancestry.is_cut:
            tagged = self._by_tag(ancestry)
            if tagged is not None:
                return self._with_rows_of_others(tagged, added)
        raise self._unknown(self._nothing_found(walked, ancestry))

    def _tell(self, ancestor: Snapshot, text: str, walked: int, old_files: int) -> CommittedOffsets:
        where = f"the summary of snapshot {ancestor.snapshot_id}"
        if old_files:
            where += ", which is expired and of which an older metadata file tells"
        self.looked.append(f"{OFFSETS_PROPERTY} in {where}, {walked - 1} back by parents")
        return parse_offsets(text, snapshot_id=ancestor.snapshot_id, provenance=where)

    def _with_rows_of_others(self, found: CommittedOffsets, added: Snapshot | None) -> CommittedOffsets:
        """Rows that were added without a word may be of records that Kafka brings as well.

        A person spoke of the rows that were there, so after that they are the old writer's.
        """
        if added is None:
            return found
        if Assumption.DECLARED not in found.assumed:
            return found.assuming(Assumption.UNMARKED_ROWS)
        raise self._unknown(
            f"a person declared what it holds, in {found.provenance}, and snapshot {added.snapshot_id} added "
            "rows since, of which nobody says which records they are; stop what writes to it, and declare "
            f"anew what it holds: kafkaiceberg adopt {self._pinned.identifier}"
        )

    def _pick(self, picked: Snapshot, source: Snapshot, text: str) -> CommittedOffsets:
        """Return the boundary of a picked snapshot: what its branch held, and what the source added."""
        self._picks += 1
        if self._picks > _PICKS:
            raise self._unknown(
                f"more than {_PICKS} cherry-picked commits lie between it and the last commit "
                f"of its own branch that has {OFFSETS_PROPERTY}"
            )
        where = f"the summary of snapshot {source.snapshot_id}, cherry-picked as {picked.snapshot_id}"
        self.looked.append(f"{OFFSETS_PROPERTY} in {where}")
        ends = parse_offsets(text, snapshot_id=source.snapshot_id, provenance=where)
        begun, held = self._before(source), self._before(picked)
        if any(
            known.topic_id not in (None, ends.topic_id) or known.isolation not in (None, ends.isolation)
            for known in (begun, held)
        ):
            raise self._unknown(f"{where} speaks of another topic or isolation than its branch")
        next_offset: dict[int, int] = {}
        leader_epoch: dict[int, int] = {}
        lost = []
        for partition in sorted({*ends.next_offset, *held.next_offset}):
            adds = _of(ends, partition) != _of(begun, partition)
            if adds and _of(begun, partition) != _of(held, partition):
                raise self._unknown(
                    f"snapshot {picked.snapshot_id} is a cherry-picked copy of snapshot "
                    f"{source.snapshot_id}, which added offsets {begun.of(partition)} to "
                    f"{ends.of(partition)} of partition {partition}, and its branch held those below "
                    f"{held.of(partition)} then: records are in the table twice, or not at all"
                )
            chosen = ends if adds else held
            next_offset[partition] = chosen.of(partition)
            if partition in chosen.leader_epoch:
                leader_epoch[partition] = chosen.leader_epoch[partition]
            lost += [gone for gone in chosen.lost if gone.partition == partition]
        return replace(ends, next_offset=next_offset, leader_epoch=leader_epoch, lost=tuple(lost))

    def _before(self, snapshot: Snapshot) -> CommittedOffsets:
        ancestry = Ancestry(self._pinned.table, snapshot)
        parents = [found for _, found in zip(range(2), ancestry, strict=False)][1:]
        if parents:
            return self.boundary_of(parents[0])
        if ancestry.is_cut:
            raise self._unknown(f"the parent of snapshot {snapshot.snapshot_id} has been expired")
        return CommittedOffsets(None, None, {}, None, "summary", "an empty table", Basis.RECORD)

    def _by_tag(self, ancestry: Ancestry) -> CommittedOffsets | None:
        table = self._pinned.table
        tagged = table.metadata.snapshot_by_name(PIN_TAG)
        text = None if tagged is None else summary_value(tagged, OFFSETS_PROPERTY)
        if tagged is None or text is None or not ancestry.survivors:
            return None
        where = f"the summary of snapshot {tagged.snapshot_id}, which tag {PIN_TAG} keeps"
        if not adds_nothing_since(table, ancestry.survivors, tagged):
            self.looked.append(f"{where}: the table's files do not prove that the snapshot is built on it")
            return None
        self.looked.append(
            f"{OFFSETS_PROPERTY} in {where}: the table's files prove that the snapshot is built on it"
        )
        return parse_offsets(text, snapshot_id=tagged.snapshot_id, provenance=where)

    def _nothing_found(self, walked: int, ancestry: Ancestry) -> str:
        seen = f"none of the {walked} snapshots it is built on has property {OFFSETS_PROPERTY} in its summary"
        if not ancestry.is_cut:
            return f"{seen}; fill the table with a writer that sets it, such as `kafkaiceberg freeze`"
        looked = "".join(f", and {line}" for line in self.looked)
        name = self._pinned.identifier
        way = (
            f"if you know that it is, write that down: kafkaiceberg doctor {name} --repair"
            if self.looked
            else f"say once what it holds: kafkaiceberg adopt {name}"
        )
        return (
            f"{seen}, and older ones have been expired, of which no metadata file tells any more{looked}; "
            f"{way}"
        )

    def _unknown(self, why: str) -> BoundaryUnknownError:
        pinned = self._pinned
        return BoundaryUnknownError(
            f"the boundary of snapshot {pinned.snapshot_id} of table {pinned.identifier!r} "
            f"is not known: {why}",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )


def _of(committed: CommittedOffsets, partition: int) -> tuple[int, frozenset[object]]:
    gone = frozenset(found for found in committed.lost if found.partition == partition)
    return committed.of(partition), gone
