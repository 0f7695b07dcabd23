"""Write down what a table holds where its own tag tells it and nothing proves that the tag is still right.

The tag keeps the last snapshot that had the boundary property. Whether the table is built on it, and has
nothing more of the topic, is then for a person to say. What is written is an adoption, so answers
name that it was declared. This file must not decide anything for that person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coldset.table import summary_value
from federation.adopt import Adoptable, adopt, find_adoptable
from federation.boundary import OFFSETS_PROPERTY, PIN_TAG, CommittedOffsets, parse_offsets
from federation.errors import AdoptionError


@dataclass(frozen=True, slots=True)
class Repair:
    """A table whose boundary nothing proves, and what its tag tells of it."""

    found: Adoptable
    told: CommittedOffsets


def plan_repair(options: Mapping[str, str]) -> Repair:
    """Return what a person may write down.

    Args:
        options: From `merge_options`.

    Raises:
        AdoptionError: The boundary is known, or the table has no tag that tells of this topic.
        BoundaryUnknownError: The tag's property cannot be read.
        CutError, HotsetError, ColdsetError: As for an adoption.
    """
    found = find_adoptable(options)
    table, name = found.pinned.table, found.definition.name
    tagged = table.metadata.snapshot_by_name(PIN_TAG)
    text = None if tagged is None else summary_value(tagged, OFFSETS_PROPERTY)
    if tagged is None or text is None:
        raise AdoptionError(
            f"table {name!r} has no tag {PIN_TAG} with a boundary to go by; say yourself what it holds: "
            f"kafkaiceberg adopt {name}",
            table=name,
        )
    where = f"snapshot {tagged.snapshot_id}, which tag {PIN_TAG} keeps"
    told = parse_offsets(text, snapshot_id=tagged.snapshot_id, provenance=where)
    ends = {each.partition: each.end for each in found.bounds.partitions}
    if told.topic_id != found.bounds.topic_id or any(
        offset > ends.get(partition, 0) for partition, offset in told.next_offset.items()
    ):
        raise AdoptionError(
            f"{where}, speaks of another topic than {found.bounds.topic!r} is now, or of records that it "
            "does not have",
            table=name,
        )
    return Repair(found, told)


def write_repair(plan: Repair) -> int:
    """Write it down, and return the id of the new snapshot, which has no rows of its own.

    Raises:
        AdoptionError: Another commit landed meanwhile; nothing was written.
        CommitConflictError, CommitStateUnknownError: As for an adoption.
    """
    return adopt(plan.found, plan.told.next_offset, plan.told.lost)
