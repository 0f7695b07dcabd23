"""Declare, once, which records an existing table holds, where its writer has left no trace of that.

The declaration is an empty commit with the boundary property, under a fence: it lands on the very snapshot
that it speaks of, or not at all. From then on the table is like one that `kafkaiceberg freeze` fills, and
answers name that a person declared where it began. A writer that goes on without the property is found out by
the rows it adds. This file must not know how boundaries are looked for.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from coldset.table import PinnedTable, open_catalog, summary_value
from coldset.write import commit_append
from federation.boundary import OFFSETS_PROPERTY, PIN_TAG, Assumption, render_offsets, resolve_boundary
from federation.cut import pin_table
from federation.errors import AdoptionError, BoundaryUnknownError, NotOneToOneError, WriterUnavailableError
from federation.merge import require_appends
from federation.options import TableDefinition, resolve
from foundation.deadline import Deadline
from hotset.kafka import LogBounds, OffsetRange, connect, read_log_bounds

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_PINS: Final = ("snapshot-id", "as-of", "branch", "tag", "cut", "committedOffsets")
# pyiceberg writes no later ones.
_LATEST_FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class Adoptable:
    """A table whose boundary nobody knows, and what its topic's log held a moment later.

    Attributes:
        definition: The table's settled options.
        pinned: Its main branch.
        bounds: What the log held.
    """

    definition: TableDefinition
    pinned: PinnedTable
    bounds: LogBounds

    @property
    def rows(self) -> str | None:
        """How many rows the snapshot has, if its writer counted them."""
        assert self.pinned.snapshot is not None
        return summary_value(self.pinned.snapshot, "total-records")


def find_adoptable(options: Mapping[str, str]) -> Adoptable:
    """Return a table that may be adopted.

    Args:
        options: From `merge_options`.

    Raises:
        AdoptionError: The table's boundary is known, or it is none that a boundary can be declared of.
        NotOneToOneError: Its writer is known to read other topics, or to fill other tables.
        WriterUnavailableError: Its writer knows the boundary, and does not answer now.
        MergeNeededError: It holds the latest row of each key.
        HotsetError, ColdsetError: Kafka or the catalog could not be asked.
    """
    for name in _PINS:
        if name in options:
            raise AdoptionError(f"a table is adopted as it is now; remove option {name!r}")
    pinned, definition = pin_table(options)
    _require_possible(pinned, definition)
    require_appends(pinned, definition)
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    client = connect(resolve(definition.kafka_properties))
    assert definition.topic is not None
    bounds = read_log_bounds(client, definition.topic, definition.isolation, deadline)
    try:
        found = resolve_boundary(pinned, definition, client, deadline)
    except (NotOneToOneError, WriterUnavailableError):
        raise
    except BoundaryUnknownError:
        return Adoptable(definition, pinned, bounds)
    if pinned.snapshot is not None and Assumption.DECLARED in found.assumed and found.resolver == "summary":
        return Adoptable(definition, pinned, bounds)
    raise AdoptionError(
        f"what table {definition.name!r} holds is known already, from {found.provenance}; there is nothing "
        "to declare",
        table=definition.name,
    )


def choose_offsets(found: Adoptable, start: str) -> dict[int, int]:
    """Return the first offset of each partition that the table does not hold, as a person says.

    Args:
        found: The table.
        start: `earliest` if it holds none of the records that the topic has, `latest` if it holds all of
            them, or offsets as JSON: `{"0": 120, "1": 5}`.

    Raises:
        AdoptionError: It is none of these, or names other partitions or offsets than the log has.
    """
    if start == EARLIEST:
        return {p.partition: min(p.log_start, p.end) for p in found.bounds.partitions}
    if start == LATEST:
        return {p.partition: p.end for p in found.bounds.partitions}
    chosen = _parse(start)
    for bounds in found.bounds.partitions:
        offset = chosen.get(bounds.partition)
        if offset is None and bounds.end > 0:
            raise AdoptionError(f"--from says nothing of partition {bounds.partition}, which has records")
        if offset is not None and not bounds.log_start <= offset <= bounds.end:
            raise AdoptionError(
                f"--from says {offset} of partition {bounds.partition}, and the log of topic "
                f"{found.bounds.topic!r} has offsets {bounds.log_start} to {bounds.end} there"
            )
    if others := sorted(set(chosen) - {each.partition for each in found.bounds.partitions}):
        raise AdoptionError(f"--from names partitions {others}, which topic {found.bounds.topic!r} has not")
    return chosen


def adopt(found: Adoptable, next_offset: Mapping[int, int], lost: Sequence[OffsetRange] = ()) -> int:
    """Commit the declaration, and return the id of the new, empty snapshot.

    Args:
        found: The table.
        next_offset: From `choose_offsets`.
        lost: Ranges below that the table does not hold and that are gone from the topic.

    Raises:
        AdoptionError: Another commit landed meanwhile; nothing was written.
        CommitConflictError: Other commits kept winning; nothing was written.
        CommitStateUnknownError: The catalog did not say whether the commit landed.
    """
    definition, bounds = found.definition, found.bounds
    declared = render_offsets(
        topic=bounds.topic,
        topic_id=bounds.topic_id,
        isolation=bounds.isolation,
        next_offset=next_offset,
        leader_epoch={
            p.partition: p.leader_epoch for p in bounds.partitions if p.end == next_offset.get(p.partition)
        },
        lost=lost,
        assumed=(Assumption.DECLARED,),
    )

    def require_unmoved(pinned: PinnedTable) -> None:
        if (pinned.uuid, pinned.snapshot_id) != (found.pinned.uuid, found.pinned.snapshot_id):
            raise AdoptionError(
                f"another commit landed on table {definition.name!r} meanwhile (snapshot "
                f"{pinned.snapshot_id}); nothing was written; stop what writes to it, then adopt it again",
                table=definition.name,
            )

    return commit_append(
        open_catalog(definition.catalog_name, resolve(definition.catalog_properties)),
        definition.name,
        (),
        {OFFSETS_PROPERTY: declared},
        commit_id=str(uuid.uuid4()),
        pin_tag=PIN_TAG,
        fence=require_unmoved,
    )


def _require_possible(pinned: PinnedTable, definition: TableDefinition) -> None:
    name = definition.name
    if definition.topic is None or definition.hot_schema is not None:
        raise AdoptionError(f"table {name!r} is read alone, or not at all; remove option 'read'", table=name)
    if definition.boundary not in ("auto", "summary"):
        raise AdoptionError(
            f"option boundary={definition.boundary} of table {name!r} looks elsewhere than a declaration; "
            "remove it",
            table=name,
        )
    if pinned.snapshot is None:
        raise AdoptionError(
            f"table {name!r} has no snapshot, so it holds nothing, which is known", table=name
        )
    version = pinned.layout.format_version
    if version > _LATEST_FORMAT:
        raise AdoptionError(
            f"table {name!r} is of format version {version}, and commits are written here up to version "
            f"{_LATEST_FORMAT}; declare its boundary with option committedOffsets",
            table=name,
        )


def _parse(text: str) -> dict[int, int]:
    try:
        document: Any = json.loads(text)
        found = {int(partition): offset for partition, offset in document.items()}
        if not all(type(offset) is int and offset >= 0 for offset in found.values()):
            raise ValueError("an offset is a whole number")
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise AdoptionError(
            f"--from is {EARLIEST}, {LATEST}, or offsets such as '{{\"0\": 120}}', not {text!r} ({exc})"
        ) from exc
    return found
