"""How many rows a writer's commits brought into a table, by their summaries alone.

A record that a writer reads makes one row. So a table with one row for each
offset below its boundary lacks nothing and repeats nothing, whatever its history
no longer tells; any other number has to be explained. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from coldset.table import Snapshot, summary_value

# Rows whose file is taken out, and rows that are deleted in place.
_TAKEN_OUT: Final = ("deleted-records", "added-position-deletes")


@dataclass(frozen=True, slots=True)
class RowsBrought:
    """What commits did to the number of rows.

    Attributes:
        rows: Rows that the writer's commits added, and all that were there before the oldest commit
            that is left; None if a summary does not count.
        left: Rows that are there now and that no commit without a mark is known to have added.
        unmarked: Rows that commits without a mark added.
        is_whole: Whether no commit of the table has been expired.
    """

    rows: int | None
    left: int
    unmarked: int
    is_whole: bool


def count_rows(
    ancestors: Sequence[Snapshot], is_marked: Callable[[Snapshot], bool], *, is_whole: bool
) -> RowsBrought:
    """Return what the commits of a snapshot's history did to the number of rows.

    Args:
        ancestors: The snapshot and its ancestors, nearest first, as far as the table has them.
        is_marked: Whether a commit is the writer's.
        is_whole: Whether these are all that there ever were.
    """
    brought = unmarked = 0
    for snapshot in ancestors:
        added, *out = (_count(snapshot, name) or 0 for name in ("added-records", *_TAKEN_OUT))
        if is_marked(snapshot):
            brought += added
        elif _operation(snapshot) != "replace":
            unmarked += max(0, added - sum(out))
    now = _count(ancestors[0], "total-records")
    oldest = ancestors[-1]
    total = _count(oldest, "total-records")
    if now is None or total is None:
        return RowsBrought(None, 0, unmarked, is_whole)
    before = total - (_count(oldest, "added-records") or 0) + (_count(oldest, "deleted-records") or 0)
    return RowsBrought(brought + (0 if is_whole else before), now - unmarked, unmarked, is_whole)


def _count(snapshot: Snapshot, name: str) -> int | None:
    text = summary_value(snapshot, name)
    return int(text) if text is not None and text.isdecimal() else None


def _operation(snapshot: Snapshot) -> str:
    return "" if snapshot.summary is None else snapshot.summary.operation.value
