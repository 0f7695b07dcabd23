"""A writer whose record says less than one would like: a Spark query, with a checkpoint and marked commits.

It may leave records out, bring aborted ones, or read a second topic, as real queries have. What it brings is
up to whoever asks; the journal stays the truth.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tests.builders import EVENTS
from tests.federation.query_checkpoint import QueryCheckpoint
from tests.oracle.journal import Entry, Outcome
from tests.oracle.world import World


class QueryWriter:
    """Fills the table of a world from its topic, as a Spark query of many epochs does.

    `also` is another topic that it reads from its beginning to its end, in each epoch.
    """

    def __init__(self, here: World, also: World | None = None) -> None:
        self._also = also
        self._starts = {0: 0, 1: 0}
        start = {here.lake.topic: self._starts} | ({} if also is None else {also.lake.topic: self._starts})
        self._checkpoint = QueryCheckpoint(here.lake.directory / "checkpoint", start)
        lake = here.lake.having(checkpointLocation=str(self._checkpoint.folder))
        self.world = World(lake, here.journal, here.oracle.unknowable)

    def commit(self, ends: dict[int, int], brings: Callable[[Entry], bool] | None = None) -> None:
        """End an epoch there; it brings what it read, or what of that is chosen."""
        chosen = _read(self.world, self._starts, ends, brings)
        vector = {self.world.lake.topic: ends}
        if self._also is not None:
            theirs = {p: self._also.journal.end_of(p) for p in ends}
            chosen += _read(self._also, {0: 0, 1: 0}, theirs)
            vector[self._also.lake.topic] = theirs
        rows = pa.Table.from_pylist([entry.identity._asdict() for entry in chosen], schema=EVENTS)
        marks = self._checkpoint.end_epoch(vector)
        self.world.lake.load().append(rows, snapshot_properties=marks)
        self._starts = ends


def _read(
    here: World, starts: dict[int, int], ends: dict[int, int], brings: Callable[[Entry], bool] | None = None
) -> list[Entry]:
    sent = [entry for entry in here.journal.entries.values() if entry.outcome is Outcome.OK]
    read = [e for e in sent if starts[e.partition] <= e.offset < ends[e.partition]]
    return [e for e in read if (here.journal.is_visible(e) if brings is None else brings(e))]
