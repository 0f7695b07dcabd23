"""What cannot be frozen into, told before a record is read.

A freeze appends whole rows to the main branch of a table that nobody else fills, in a format that can be
written here. This file must not know how a freeze is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from federation.cut import TakenCut
from federation.options import OPTIONS
from hotset.decode import BadRecords
from pipeline.errors import FreezeOptionError

# The table format that pyiceberg writes at the latest.
_LATEST_WRITTEN: Final = 2


def check_options(options: Mapping[str, str]) -> None:
    """Raise unless a freeze can do what options say.

    Raises:
        FreezeOptionError: They pin a snapshot, branch, tag or cut, choose columns, or name no table.
    """
    for name in ("snapshot-id", "branch", "tag", "cut", "columns"):
        if name in options:
            raise FreezeOptionError(f"a freeze appends whole rows to the main branch; remove option {name!r}")
    if OPTIONS.value_of(options, "read") == "hot":
        raise FreezeOptionError(
            f"table {options['path']!r} does not exist for a freeze (read=hot); create it in the catalog, "
            "then remove options 'read' and 'schema'"
        )


def check_cut(taken: TakenCut) -> None:
    """Raise unless the hot rows of a cut can become part of its table.

    Raises:
        FreezeOptionError: It has no topic, another writer, bad records beside its rows, or a format that
            is not written.
    """
    if taken.cut.topic is None:
        raise FreezeOptionError(f"table {taken.cut.table!r} is plain (read=cold): there is nothing to freeze")
    _require_own_boundary(taken)
    _require_policy(taken)
    _require_format(taken)


def _require_own_boundary(taken: TakenCut) -> None:
    found = taken.committed
    if found is not None and found.resolver not in ("summary", "declared"):
        raise FreezeOptionError(
            f"table {taken.cut.table!r} is filled by another writer ({found.provenance}), and two "
            "writers would put "
            "records into it twice; stop that one, and declare where it ended with boundary=declared",
            table=taken.cut.table,
        )


def _require_format(taken: TakenCut) -> None:
    version = taken.pinned.layout.format_version
    if version > _LATEST_WRITTEN:
        raise FreezeOptionError(
            f"table {taken.cut.table!r} is of format version {version}, and a freeze writes up to version "
            f"{_LATEST_WRITTEN}; let another writer fill it",
            table=taken.cut.table,
        )


def _require_policy(taken: TakenCut) -> None:
    policy = taken.definition.record_format.bad_records
    if policy in (BadRecords.NULL, BadRecords.DEAD_LETTER):
        raise FreezeOptionError(
            f"bad records of table {taken.cut.table!r} are shown beside its rows (badRecords={policy}), and "
            "once frozen there is no place for them, so later answers would lose them; freeze with "
            "badRecords=fail, or with badRecords=skip to leave them out for good",
            table=taken.cut.table,
        )
