"""Whether a table holds the latest row of each key, by what its metadata shows.

Such a table's writer takes rows out when it brings newer ones of their keys. A
union with the topic would show both, and would look right for as long as
nothing is hot. What decides is the table's regular writer: a person may delete
or change rows of a table that its writer only appends to. No file is opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from coldset.table import Ancestry, PinnedTable, Snapshot, is_complete, summary_value, walk_parents
from federation.boundary import Assumption, marks_of
from federation.errors import MergeNeededError
from federation.options import TableDefinition
from foundation.lru import LruCache

UPSERT_PROPERTY: Final = "write.upsert.enabled"
APPEND: Final = "append"

# How many commits that bring rows show what their writer does.
_ENOUGH: Final = 5

_found: Final = LruCache[tuple[str, int | None, int, str | None], str](1024)


def require_appends(pinned: PinnedTable, definition: TableDefinition) -> tuple[Assumption, ...]:
    """Return what is taken for granted if a table's rows are only added to.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.

    Raises:
        MergeNeededError: The table's writer replaces rows by key, and `merge` does not say otherwise.
    """
    sign = find_upserts(pinned)
    if sign is None:
        return ()
    if definition.merge == APPEND:
        return (Assumption.APPEND_ONLY,)
    raise MergeNeededError(
        f"table {pinned.identifier!r} holds the latest row of each key: {sign}; a union with its topic would "
        "have several rows of a key, and merging by key is not there yet; read the table alone with "
        "read=cold, or set merge=append if rows are only ever added",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )


def find_upserts(pinned: PinnedTable) -> str | None:
    """Return what shows that the table's writer replaces rows by key, in words; None if nothing does."""
    key = (pinned.uuid, pinned.snapshot_id, pinned.schema_id, pinned.properties.get(UPSERT_PROPERTY))
    found = _found.get(key)
    if found is None:
        keys = [pinned.schema.find_column_name(each) or "" for each in pinned.schema.identifier_field_ids]
        ancestors = list(walk_parents(pinned.table, pinned.snapshot))
        is_whole = is_complete(pinned.table, pinned.snapshot)
        if not is_whole and pinned.snapshot is not None and sum(map(_brings, ancestors)) < _ENOUGH:
            # Expiry has left too few to tell, and older metadata files may still have the others.
            ancestors = list(Ancestry(pinned.table, pinned.snapshot))
        found = upsert_sign(keys, pinned.properties, ancestors, is_whole=is_whole) or ""
        _found.put(key, found)
    return found or None


def upsert_sign(
    keys: Sequence[str], properties: Mapping[str, str], ancestors: Sequence[Snapshot], *, is_whole: bool
) -> str | None:
    """Return the first sign that a table's writer replaces rows by key, in words. Pure.

    Args:
        keys: Names of the identifier fields.
        properties: The table's properties.
        ancestors: The snapshot and its ancestors, nearest first, as far as they are known.
        is_whole: Whether these are all that there ever were.
    """
    if keys:
        return f"its schema has identifier fields ({', '.join(sorted(keys))})"
    if properties.get(UPSERT_PROPERTY, "").lower() == "true":
        return f"its property {UPSERT_PROPERTY} is true"
    marked = [snapshot for snapshot in ancestors if marks_of(snapshot)]
    if marked:
        # Whoever leaves a mark brings records, so what takes rows out then replaces them.
        replacing = next((snapshot for snapshot in marked if _takes_out(snapshot)), None)
    else:
        replacing = _by_regular_writer([each for each in ancestors if _brings(each)], is_whole=is_whole)
    if replacing is not None:
        return _told(replacing)
    if ancestors and not any(map(_brings, ancestors)) and _count(ancestors[0], "total-equality-deletes"):
        return "it has equality deletes, and nothing tells any more who wrote them"
    return None


def _by_regular_writer(bringing: Sequence[Snapshot], *, is_whole: bool) -> Snapshot | None:
    """Return a commit that replaces rows if that is what most commits do, or the busiest program does."""
    replacing = [snapshot for snapshot in bringing if _replaces(snapshot)]
    if not is_whole and len(replacing) == 1 and _keeps_count(replacing[0]):
        return None  # a compaction by whoever calls it an overwrite, for all that is left to see
    if not replacing or 2 * len(replacing) >= len(bringing):
        return next(iter(replacing), None)
    programs = Counter(program for snapshot in bringing if (program := _program(snapshot)) is not None)
    busiest = max(programs.values(), default=0)
    return next((s for s in replacing if programs.get(_program(s) or "") == busiest), None)


def _program(snapshot: Snapshot) -> str | None:
    return summary_value(snapshot, "spark.app.id") or summary_value(snapshot, "app-id")


def _brings(snapshot: Snapshot) -> bool:
    brought = _count(snapshot, "added-records") + _count(snapshot, "added-equality-deletes")
    return brought > 0 and not _only_rewrites(snapshot)


def _replaces(snapshot: Snapshot) -> bool:
    """Return True unless the commit only added rows, or left fewer behind as a deletion does."""
    if _count(snapshot, "added-equality-deletes") or _count(snapshot, "added-position-deletes"):
        return True
    deleted = _count(snapshot, "deleted-records")
    return 0 < deleted <= _count(snapshot, "added-records")


def _keeps_count(snapshot: Snapshot) -> bool:
    return _count(snapshot, "deleted-records") == _count(snapshot, "added-records")


def _takes_out(snapshot: Snapshot) -> bool:
    out = ("deleted-records", "added-equality-deletes", "added-position-deletes", "added-delete-files")
    return not _only_rewrites(snapshot) and any(_count(snapshot, name) for name in out)


def _only_rewrites(snapshot: Snapshot) -> bool:
    return snapshot.summary is not None and snapshot.summary.operation.value == "replace"


def _count(snapshot: Snapshot, name: str) -> int:
    text = summary_value(snapshot, name) or ""
    return int(text) if text.isdecimal() else 0


def _told(snapshot: Snapshot) -> str:
    counts = {
        "rows in data files taken out": _count(snapshot, "deleted-records"),
        "rows deleted by position": _count(snapshot, "added-position-deletes"),
        "equality deletes": _count(snapshot, "added-equality-deletes"),
        "rows added": _count(snapshot, "added-records"),
    }
    what = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"snapshot {snapshot.snapshot_id}, which its writer made, replaces rows ({what})"
