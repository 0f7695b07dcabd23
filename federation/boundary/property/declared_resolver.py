"""A boundary that the user declares, for one snapshot of a table that nothing else explains.

It is believed, so it must say of which snapshot it speaks: a vector without one
would silently be wrong after the next commit. For the same reason nothing in it
is passed over: a name that is not known is an error. A reference, `${file:/path}`,
is read anew for each cut, so a writer may keep it up to date.
"""

from __future__ import annotations

import json
from typing import Any, Final

from coldset.table import PinnedTable
from federation.boundary.assumptions import Assumption, Basis
from federation.boundary.committed import CommittedOffsets, parse_next_offset
from federation.errors import BoundaryUnknownError, OptionError
from federation.options import TableDefinition, resolve
from foundation.deadline import Deadline
from hotset.kafka import Isolation, KafkaClient

_NAMES: Final = {"snapshot_id", "partitions", "topic_id", "isolation"}


def resolve_declared(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the declared boundary, if it speaks of the pinned snapshot.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `declared_offsets` is the JSON text, or a reference to it:
            `{"snapshot_id": id, "partitions": {"0": next offset, …}}`, and perhaps `topic_id`
            and `isolation`, which are then checked.
        client: Not needed.
        deadline: Not needed.

    Raises:
        OptionError: The option is missing or malformed.
        BoundaryUnknownError: It speaks of another snapshot.
    """
    if definition.declared_offsets is None:
        raise OptionError("boundary=declared needs option 'committedOffsets'", option="committedOffsets")
    text = resolve({"committedOffsets": definition.declared_offsets})["committedOffsets"]
    found = parse_declared(text)
    if found.snapshot_id != pinned.snapshot_id:
        raise BoundaryUnknownError(
            f"option 'committedOffsets' speaks of snapshot {found.snapshot_id} of table "
            f"{pinned.identifier!r}, and the "
            f"answer is of snapshot {pinned.snapshot_id}; declare that one, or read "
            f"snapshot-id={found.snapshot_id}",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )
    return found


def parse_declared(text: str) -> CommittedOffsets:
    """Read a declaration.

    Raises:
        OptionError: It is malformed.
    """
    try:
        document: dict[str, Any] = json.loads(text)
        unknown = set(document) - _NAMES
        if unknown:
            raise ValueError(f"there is no {sorted(unknown)[0]!r}")
        topic_id, isolation = document.get("topic_id"), document.get("isolation")
        if not isinstance(topic_id, str | None):
            raise TypeError("topic_id is no text")
        return CommittedOffsets(
            snapshot_id=parse_next_offset(document["snapshot_id"]),
            topic_id=topic_id,
            next_offset={
                parse_next_offset(int(p)): parse_next_offset(offset)
                for p, offset in document["partitions"].items()
            },
            isolation=None if isolation is None else Isolation(isolation),
            resolver="declared",
            provenance="option committedOffsets",
            basis=Basis.RECORD,
            assumed=(Assumption.DECLARED,),
            is_kept=False,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise OptionError(
            f"option 'committedOffsets' is not of the form "
            f'{{"snapshot_id": id, "partitions": {{"0": next offset}}}} ({exc!r})',
            option="committedOffsets",
        ) from exc
