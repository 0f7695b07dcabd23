"""Bugs of planners, ready to be planted in the real code while the model asks it.

Each is a mistake that readers of logs and tables have made, or nearly. Planting puts the mistake in the place
of the code's own function; the model's world and its committer are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

import coldset.table.ancestry as ancestry
import federation.cut.take as take
import federation.table as table
import hotset.kafka.client as client
import hotset.kafka.log_bounds as bounds
from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets
from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, PIN_TAG, parse_offsets
from federation.cut.cut import Cut
from federation.errors import BoundaryUnknownError
from foundation.deadline import Deadline
from hotset.kafka.offsets import Isolation, LogBounds
from tests.oracle.model.edges import Edges
from tests.oracle.model.state import TOPIC

Patch = pytest.MonkeyPatch
_NOTHING: Final = CommittedOffsets(None, None, {}, None, "summary", "nothing", Basis.RECORD)


def _once_a_run(edges: Edges, real: Callable[..., Any]) -> Callable[..., Any]:
    known: list[tuple[Any, Any]] = [(None, None)]

    def remembered(*asked: Any) -> Any:
        if known[0][0] is not edges.run:
            known[0] = (edges.run, real(*asked))
        return known[0][1]

    return remembered


def _committed(patch: Patch, change: Callable[[CommittedOffsets], CommittedOffsets]) -> None:
    real = take.resolve_boundary
    patch.setattr(take, "resolve_boundary", lambda *asked: change(real(*asked)))


def _moved(found: CommittedOffsets, by: int) -> CommittedOffsets:
    return replace(found, next_offset={p: max(0, o + by) for p, o in found.next_offset.items()})


def boundary_too_high(patch: Patch, edges: Edges) -> None:
    """Take the boundary for the last offset that is in the table."""
    _committed(patch, lambda found: _moved(found, +1))


def boundary_too_low(patch: Patch, edges: Edges) -> None:
    """Begin at the last offset that is in the table."""
    _committed(patch, lambda found: _moved(found, -1))


def name_is_identity(patch: Patch, edges: Edges) -> None:
    """Know a topic by its name only."""
    _committed(patch, lambda found: replace(found, topic_id=None))


def ends_before_pin(patch: Patch, edges: Edges) -> None:
    """Ask Kafka for ends first, pin the table after that, and cap its boundary at them."""
    pin, ask, decide = take.pin_table, take.read_log_bounds, take.compute_cut
    sampled: list[LogBounds] = []

    def pin_late(options: Any) -> Any:
        kafka = take.connect({"bootstrap.servers": "memory:1"})
        level = Isolation(options["kafka.isolation.level"])
        sampled[:] = [ask(kafka, TOPIC, level, Deadline.after_ms(10_000))]
        return pin(options)

    def decide_capped(facts: Any, committed: CommittedOffsets, found: LogBounds, **how: bool) -> Cut:
        ends = {p.partition: p.end for p in found.partitions}
        capped = {p: min(offset, ends.get(p, offset)) for p, offset in committed.next_offset.items()}
        return decide(facts, replace(committed, next_offset=capped), found, **how)

    patch.setattr(take, "pin_table", pin_late)
    patch.setattr(take, "read_log_bounds", lambda *_: sampled[0])
    patch.setattr(take, "compute_cut", decide_capped)


def ends_of_the_last_question(patch: Patch, edges: Edges) -> None:
    """Spare Kafka the question, and take the ends that are known from the last time."""
    ask = take.read_log_bounds
    patch.setattr(take, "read_log_bounds", _once_a_run(edges, ask))


def boundary_of_another_load(patch: Patch, edges: Edges) -> None:
    """Pin one state of the table, and look for the boundary in the state it has a moment later."""
    real = take.resolve_boundary

    def reloading(pinned: Any, *rest: Any) -> CommittedOffsets:
        now = pinned.table.catalog.load_table(pinned.identifier)
        return real(replace(pinned, table=now, snapshot=now.current_snapshot()), *rest)

    patch.setattr(take, "resolve_boundary", reloading)


def boundary_of_the_group(patch: Patch, edges: Edges) -> None:
    """Take the writer's consumer group for the boundary."""

    def asking(*_: Any) -> CommittedOffsets:
        group = edges.run.step("asks where the writer's group stands", lambda world: world.group)
        return replace(_NOTHING, next_offset=dict(enumerate(group)))

    patch.setattr(take, "resolve_boundary", asking)


def _walk(patch: Patch, walk: Callable[[Any, Any], Any]) -> None:
    patch.setattr(ancestry, "walk_parents", walk)


def walk_by_sequence_number(patch: Patch, edges: Edges) -> None:
    """Look for the boundary in the newest snapshots of the table, whatever the head is built on."""
    _walk(patch, lambda t, _: sorted(t.metadata.snapshots, key=lambda s: s.sequence_number, reverse=True))


def walk_the_list_backwards(patch: Patch, edges: Edges) -> None:
    """Take every snapshot that is older than the pinned one for its ancestor."""

    def older(t: Any, pinned: Any) -> Any:
        before = [s for s in t.metadata.snapshots if s.sequence_number <= pinned.sequence_number]
        return sorted(before, key=lambda s: s.sequence_number, reverse=True)

    _walk(patch, older)


def no_mark_is_no_commit(patch: Patch, edges: Edges) -> None:
    """Take a table whose boundary cannot be found for one that holds nothing."""
    real = take.resolve_boundary

    def forgiving(*asked: Any) -> CommittedOffsets:
        try:
            return real(*asked)
        except BoundaryUnknownError:
            return _NOTHING

    patch.setattr(take, "resolve_boundary", forgiving)


def marks_are_inherited(patch: Patch, edges: Edges) -> None:
    """Look at the pinned snapshot's own summary only, and take no mark there for no commit."""
    _walk(patch, lambda _, pinned: [pinned])
    no_mark_is_no_commit(patch, edges)


def tag_before_walk(patch: Patch, edges: Edges) -> None:
    """Believe the tag that keeps the boundary, also after a rollback."""
    real = take.resolve_boundary

    def by_tag(pinned: Any, *rest: Any) -> CommittedOffsets:
        tagged = pinned.table.metadata.snapshot_by_name(PIN_TAG)
        text = tagged and tagged.summary.additional_properties.get(OFFSETS_PROPERTY)
        if not text:
            return real(pinned, *rest)
        return parse_offsets(text, snapshot_id=tagged.snapshot_id, provenance="the tag")

    patch.setattr(take, "resolve_boundary", by_tag)


def _bounds(patch: Patch, change: Callable[[CommittedOffsets, LogBounds], LogBounds]) -> None:
    decide = take.compute_cut

    def changed(facts: Any, committed: CommittedOffsets, found: LogBounds, **how: bool) -> Cut:
        return decide(facts, committed, change(committed, found), **how)

    patch.setattr(take, "compute_cut", changed)


def gap_is_skipped(patch: Patch, edges: Edges) -> None:
    """Begin at the log's start where the boundary is gone, and say nothing."""
    decide = take.compute_cut

    def silent(*facts: Any, **_: bool) -> Cut:
        return replace(decide(*facts, accepts_gaps=True), gaps=())

    patch.setattr(take, "compute_cut", silent)


def gap_on_first_sight(patch: Patch, edges: Edges) -> None:
    """Accept a gap without looking whether a commit has just closed it."""

    def only_once(options: Any, **_: Any) -> Any:
        pinned, definition = take.pin_table(options)
        return take._take(pinned, definition, take._deadline(definition, None), 0.0)

    patch.setattr(table, "take_cut", only_once)


def plan_again_without_pinning(patch: Patch, edges: Edges) -> None:
    """Plan again on the snapshot that was pinned first."""
    patch.setattr(take, "pin_table", _once_a_run(edges, take.pin_table))


def new_partition_from_its_end(patch: Patch, edges: Edges) -> None:
    """Read a partition that the table does not know from where it ends."""
    decide = take.compute_cut

    def latest(facts: Any, committed: CommittedOffsets, found: LogBounds, **how: bool) -> Cut:
        ends = {p.partition: p.end for p in found.partitions} if committed.next_offset else {}
        known = replace(committed, next_offset={**ends, **committed.next_offset})
        return decide(facts, known, found, **how)

    patch.setattr(take, "compute_cut", latest)


def only_known_partitions(patch: Patch, edges: Edges) -> None:
    """Read the partitions that the table knows, and no others."""

    def known(committed: CommittedOffsets, found: LogBounds) -> LogBounds:
        kept = tuple(p for p in found.partitions if p.partition in (committed.next_offset or {0}))
        return replace(found, partitions=kept)

    _bounds(patch, known)


def partition_without_boundary(patch: Patch, edges: Edges) -> None:
    """Expect every partition to have a boundary."""
    patch.setattr(CommittedOffsets, "of", lambda self, partition: self.next_offset[partition])


def ends_at_the_high_watermark(patch: Patch, edges: Edges) -> None:
    """Ask for the ends without saying with which isolation they will be read."""
    real = client.KafkaClient.list_offsets

    def loose(self: Any, topic: str, partitions: Any, spec: Any, _: Any, deadline: Any) -> Any:
        return real(self, topic, partitions, spec, Isolation.READ_UNCOMMITTED, deadline)

    patch.setattr(client.KafkaClient, "list_offsets", loose)


def partitions_of_yesterday(patch: Patch, edges: Edges) -> None:
    """Do not ask again who the topic is once its offsets are known."""
    real = bounds._read_once

    def unchecked(kafka: Any, topic: str, level: Isolation, deadline: Any) -> LogBounds:
        return real(kafka, kafka.describe(topic, deadline), level, deadline)

    patch.setattr(take, "read_log_bounds", unchecked)
