"""Metadata for engines that read a table as of the time when their transaction began.

DuckDB takes the last snapshot that is no younger than its transaction. A cut is taken later, when the table
is asked for. So DuckDB would take the snapshot before, which has no hot rows, or find a table without rows,
and say nothing. It is given the cut alone, dated before any transaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from federation.ephemeral import CUT_PROPERTY

_READERS: Final = re.compile(r"duckdb/", re.IGNORECASE)
_LONG_AGO_MS: Final = 0


def reads_as_of_start(user_agent: str) -> bool:
    """Return whether who asks reads tables as of the time when its statement began."""
    return _READERS.match(user_agent) is not None


def with_cut_alone(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata whose only snapshot is the cut, dated long ago; or, without one, the metadata."""
    current = metadata.get("current-snapshot-id")
    found = next((each for each in metadata.get("snapshots", ()) if each["snapshot-id"] == current), None)
    if found is None or CUT_PROPERTY not in found["summary"]:
        return dict(metadata)
    first = {name: value for name, value in found.items() if name != "parent-snapshot-id"}
    return {
        **metadata,
        "last-updated-ms": _LONG_AGO_MS,
        "snapshots": [{**first, "timestamp-ms": _LONG_AGO_MS}],
        "snapshot-log": [{"snapshot-id": current, "timestamp-ms": _LONG_AGO_MS}],
        "metadata-log": [],
        "refs": {name: ref for name, ref in metadata["refs"].items() if ref["snapshot-id"] == current},
    }
