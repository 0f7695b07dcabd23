"""A boundary that the user declares, for one snapshot of a table that nothing else explains.

It is believed, so it must say of which snapshot it speaks: a vector without one
would silently be wrong after the next commit. It performs no input or output.
"""

from __future__ import annotations

import json
from typing import Any

from coldset import PinnedTable
from federation.boundary.committed import CommittedOffsets, Confidence, parse_next_offset
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError, OptionError
from hotset import KafkaClient


def resolve_declared(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> CommittedOffsets:
    """Return the declared boundary, if it speaks of the pinned snapshot.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `declared_offsets` is
            `{"snapshot_id": id or null, "partitions": {"0": next offset, …}, "topic_id": optional}`.
        client: Not needed.

    Raises:
        OptionError: The option is missing or malformed.
        BoundaryUnknownError: It speaks of another snapshot.
    """
    if definition.declared_offsets is None:
        raise OptionError("boundary=declared needs option 'committedOffsets'", option="committedOffsets")
    try:
        document: dict[str, Any] = json.loads(definition.declared_offsets)
        snapshot_id = document["snapshot_id"]
        next_offset = {int(p): parse_next_offset(offset) for p, offset in document["partitions"].items()}
        topic_id = document.get("topic_id")
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise OptionError(
            f"option 'committedOffsets' is not of the form "
            f'{{"snapshot_id": id, "partitions": {{"0": next offset}}}} ({exc!r})',
            option="committedOffsets",
        ) from exc
    if snapshot_id != pinned.snapshot_id:
        raise BoundaryUnknownError(
            f"option 'committedOffsets' speaks of snapshot {snapshot_id} of table "
            f"{pinned.identifier!r}, and the "
            f"answer is of snapshot {pinned.snapshot_id}; declare that one, or read "
            f"snapshot-id={snapshot_id}",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )
    return CommittedOffsets(
        snapshot_id, topic_id, next_offset, None, "declared", "option committedOffsets", Confidence.EXACT
    )
