"""The boundary of a topic that has no table: where its log starts.

Nothing is committed anywhere, so what the topic retains is all there is, and no
record that retention removed is missing. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets
from hotset.kafka import LogBounds, OffsetRange


def begin_at_log_start(bounds: LogBounds) -> CommittedOffsets:
    """Return the boundary that makes an answer hold all that the topic retains."""
    return _begin({found.partition: min(found.log_start, found.end) for found in bounds.partitions})


def begin_again(ranges: Iterable[OffsetRange]) -> CommittedOffsets:
    """Return the boundary of a cut that was taken before, whose ranges are these."""
    return _begin({r.partition: r.start for r in ranges})


def _begin(start: dict[int, int]) -> CommittedOffsets:
    return CommittedOffsets(
        snapshot_id=None,
        topic_id=None,
        next_offset=start,
        isolation=None,
        resolver="none",
        provenance="no table (read=hot): the topic from where its log started",
        basis=Basis.RECORD,
        looked=("option read=hot: no table is looked at",),
    )
