"""Bugs of readers, ready to be planted in the real code while the model asks it.

The cut is right in all of them; what is made of it is not. As with the bugs of planning, only the code's own
functions are replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest
from confluent_kafka import Consumer

import federation.read.split_reader as read
import federation.table as table
import hotset.kafka.client as client
import hotset.store.row_source as row_source
from coldset.errors import ColdReadError
from federation.cut.cut import Cut
from hotset.drain.python_source import ConsumedSource
from hotset.errors import OffsetOutOfRangeError
from tests.oracle.model.edges import Edges
from tests.oracle.model.ways import options_of

Patch = pytest.MonkeyPatch
_drain: Final[Any] = sys.modules["hotset.drain.drain_ranges"]


def cold_half_at_the_head(patch: Patch, edges: Edges) -> None:
    """Read the table as it is when the rows are read, not as it was pinned."""
    real = table.plan_cold_splits

    def at_head(taken: Any, columns: Any, **more: Any) -> Any:
        now = taken.pinned.table.catalog.load_table(taken.pinned.identifier)
        moved = replace(taken.pinned, table=now, snapshot=now.current_snapshot())
        return real(replace(taken, pinned=moved), columns, **more)

    patch.setattr(table, "plan_cold_splits", at_head)


def token_at_the_head(patch: Patch, edges: Edges) -> None:
    """Take up a cut's ranges with the table as it is now."""
    real = table.resume_cut

    def at_head(options: Any, cut: Cut, **how: Any) -> Any:
        taken = real(options, cut, **how)
        now = taken.pinned.table.catalog.load_table(taken.pinned.identifier)
        return replace(taken, pinned=replace(taken.pinned, table=now, snapshot=now.current_snapshot()))

    patch.setattr(table, "resume_cut", at_head)


def cut_for_each_scan(patch: Patch, edges: Edges) -> None:
    """Take a cut of its own for each time a statement names the table."""
    real = table.Scan.batches

    def anew(self: Any) -> Iterator[Any]:
        self.taken = table.take_cut(options_of(edges.run.worlds[0]))
        return real(self)

    patch.setattr(table.Scan, "batches", anew)


def missing_file_is_empty(patch: Patch, edges: Edges) -> None:
    """Read on when a data file is gone."""
    real = read.read_cold

    def lenient(*asked: Any) -> Iterator[Any]:
        try:
            yield from real(*asked)
        except ColdReadError:
            return

    patch.setattr(read, "read_cold", lenient)


def _consumer(patch: Patch, **settings: str) -> None:
    real = client._construct

    def lenient(cls: Any, given: dict[str, Any]) -> Any:
        return real(cls, given | (settings if cls is Consumer else {}))

    patch.setattr(client, "_construct", lenient)


def read_uncommitted(patch: Patch, edges: Edges) -> None:
    """Forget the isolation where the records are read."""
    _consumer(patch, **{"isolation.level": "read_uncommitted"})


def reset_to_earliest(patch: Patch, edges: Edges) -> None:
    """Let the consumer jump to what is left when an offset is gone."""
    _consumer(patch, **{"auto.offset.reset": "earliest"})


def reset_to_latest(patch: Patch, edges: Edges) -> None:
    """Let the consumer jump to the end when an offset is gone."""
    _consumer(patch, **{"auto.offset.reset": "latest"})


def stop_at_an_empty_poll(patch: Patch, edges: Edges) -> None:
    """Take a poll that brought nothing for the end of the range."""
    patch.setattr(_drain._Drain, "_require_time", lambda self: self._open.clear())


def wait_for_the_last_offset(patch: Patch, edges: Edges) -> None:
    """Wait for a record at the last offset of the range; where a marker is, none comes."""
    patch.setattr(_drain._Drain, "_note_positions", lambda self: None)


def stop_at_an_invisible_offset(patch: Patch, edges: Edges) -> None:
    """Take a jump in the offsets, as a transaction's marker makes it, for the end."""
    real = ConsumedSource._take

    def stopping(self: Any, message: Any, events: Any) -> bool:
        partition = message.partition()
        if message.offset() > self._next[partition]:
            self._next[partition] = self._ends[partition]
        return real(self, message, events)

    patch.setattr(ConsumedSource, "_take", stopping)


def part_of_a_range_is_enough(patch: Patch, edges: Edges) -> None:
    """Answer with what could be read when Kafka no longer has the rest."""
    real = row_source.drain

    def partial(*asked: Any, **how: Any) -> Iterator[Any]:
        try:
            yield from real(*asked, **how)
        except OffsetOutOfRangeError:
            return

    patch.setattr(row_source, "drain", partial)


def identity_before_reading_only(patch: Patch, edges: Edges) -> None:
    """Do not ask who the topic is once its records are read."""
    patch.setattr(row_source, "require_topic_id", lambda *asked: asked[4]() if len(asked) > 4 else None)


def offsets_are_stored(patch: Patch, edges: Edges) -> None:
    """Commit the offsets that were read, as a consumer of a group does."""
    real = _drain._Drain._note_positions

    def storing(self: Any) -> None:
        real(self)
        consumer = self._source._consumer
        consumer.commit(offsets=consumer.position(consumer.assignment()))

    patch.setattr(_drain._Drain, "_note_positions", storing)
