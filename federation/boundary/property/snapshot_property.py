"""The boundary we define: `kafkaiceberg.offsets` in a snapshot's summary.

A commit that appends records writes, in the same atomic step, up to where the
table now holds the topic. Properties are not inherited by later snapshots, so
the value is looked for by walking parents of the pinned snapshot; never by
time or sequence number, since a rollback leaves newer snapshots behind that
are no ancestors. This file is the format, which ARCHITECTURE.md specifies; how
the property is looked for is in `lineage.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from federation.boundary.assumptions import Assumption, Basis, in_order
from federation.boundary.committed import CommittedOffsets, parse_next_offset
from federation.errors import BoundaryUnknownError
from hotset.kafka import Isolation, OffsetRange

OFFSETS_PROPERTY: Final = "kafkaiceberg.offsets"
PIN_TAG: Final = "kafkaiceberg-boundary"
VERSION: Final = 1


def render_offsets(
    *,
    topic: str,
    topic_id: str,
    isolation: Isolation,
    next_offset: Mapping[int, int],
    leader_epoch: Mapping[int, int],
    lost: Sequence[OffsetRange] = (),
    assumed: Sequence[Assumption] = (),
) -> str:
    """Return the property's text for a commit.

    Args:
        topic: Topic name, for people.
        topic_id: Identity of the topic; what counts.
        isolation: With which the records were read.
        next_offset: Partition to first offset the table does not hold.
        leader_epoch: Partition to epoch of the leader that gave the end, where known.
        lost: Ranges below that the table does not hold and that are gone from the topic.
        assumed: What was taken for granted of what the commit is built on.
    """
    partitions = {
        str(partition): {"next_offset": offset}
        | ({"leader_epoch": leader_epoch[partition]} if leader_epoch.get(partition, -1) >= 0 else {})
        | ({"lost": found} if (found := [[r.start, r.end] for r in lost if r.partition == partition]) else {})
        for partition, offset in sorted(next_offset.items())
    }
    document = {
        "version": VERSION,
        "topic": topic,
        "topic_id": topic_id,
        "isolation": isolation.value,
        "partitions": partitions,
    } | ({"assumed": list(assumed)} if assumed else {})
    return json.dumps(document, separators=(",", ":"))


def parse_offsets(text: str, *, snapshot_id: int, provenance: str) -> CommittedOffsets:
    """Read the property's text.

    Raises:
        BoundaryUnknownError: It is malformed, or of a version this release does not know.
    """
    try:
        document: dict[str, Any] = json.loads(text)
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']!r}, and only {VERSION} is known")
        return CommittedOffsets(
            snapshot_id=snapshot_id,
            topic_id=str(document["topic_id"]),
            next_offset={
                int(p): parse_next_offset(entry["next_offset"]) for p, entry in document["partitions"].items()
            },
            isolation=Isolation(document["isolation"]),
            resolver="summary",
            provenance=provenance,
            basis=Basis.RECORD,
            assumed=in_order(Assumption(name) for name in document.get("assumed", ())),
            leader_epoch={
                int(p): int(entry["leader_epoch"])
                for p, entry in document["partitions"].items()
                if "leader_epoch" in entry
            },
            lost=tuple(
                OffsetRange(int(p), start, end)
                for p, entry in document["partitions"].items()
                for start, end in entry.get("lost", ())
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise BoundaryUnknownError(
            f"property {OFFSETS_PROPERTY} of {provenance} cannot be read ({exc}); correct what writes it",
            snapshot_id=snapshot_id,
        ) from exc
