"""Keep boundaries that were found: what a snapshot holds does not change.

A snapshot is immutable and so is the answer, given the same definition of the
table. An answer for which Kafka was asked names the topic's identity where that
matters, and each cut compares it with the topic of now; so a topic that was
created anew is still found out. Errors are not kept, since what was missing may
be there the next time, nor is what a user may declare anew, or what a writer may
contradict later. This file must not know the resolvers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final

from coldset.table import PinnedTable
from federation.boundary.committed import CommittedOffsets
from federation.options import TableDefinition
from foundation.lru import LruCache

_found: Final = LruCache[tuple[object, ...], CommittedOffsets](1024)


def remember(
    pinned: PinnedTable, definition: TableDefinition, find: Callable[[], CommittedOffsets]
) -> CommittedOffsets:
    """Return the boundary that was found before for this snapshot and definition, or find it.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options; any difference is another answer.
        find: Finds the boundary; may take long, and may run twice at the same time.

    Raises:
        Exception: Whatever `find` raises.
    """
    key = (pinned.uuid, pinned.snapshot_id, _settled(definition))
    known = _found.get(key)
    if known is not None:
        return known
    found = find()
    if found.is_kept:
        _found.put(key, found)
    return found


def _settled(definition: TableDefinition) -> tuple[object, ...]:
    # All fields, so that an option added later cannot be forgotten here; but how long one waits
    # changes nothing of what is found, and each statement has another part of its time left.
    named = (field.name for field in fields(definition) if not field.name.endswith("_timeout_ms"))
    values = (getattr(definition, name) for name in named)
    return tuple(tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in values)
