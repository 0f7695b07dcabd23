"""The checkpoint of a Spark query, and the marks that its commits leave in a table.

No Spark runs: the layout is the real sink's, which other tests hold this against. What a commit holds is up
to the caller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID

Offsets = Mapping[str, Mapping[int, int]]


class QueryCheckpoint:
    """One query's checkpoint; it began at the given offset of each topic and partition."""

    def __init__(self, folder: Path, start: Offsets) -> None:
        self.folder = folder
        self._epoch = -1
        for name in ("offsets", "sources/0"):
            (folder / name).mkdir(parents=True)
        (folder / "metadata").write_text('{"id":"the-query"}')
        self._write("sources/0/0", "\0v1\n", start)

    def end_epoch(self, ends: Offsets) -> dict[str, str]:
        """Note where the next epoch ends, and return what its commit says of itself."""
        self._epoch += 1
        self._write(f"offsets/{self._epoch}", "v1\n{}\n", ends)
        return {SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: str(self._epoch)}

    def _write(self, name: str, head: str, offsets: Offsets) -> None:
        vector = {topic: {str(p): end for p, end in ends.items()} for topic, ends in offsets.items()}
        (self.folder / name).write_text(f"{head}{json.dumps(vector)}\n")
