"""Bugs that readers of tables and logs have shipped, ready to be planted in the real code.

Each takes the code's own function away and puts the mistake in its place, as somebody has once written it.
They are kept apart from the tests so that a list of them can be read, and added to, in one place.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import coldset.table.ancestry as ancestry
import federation.boundary.boundary_cache as cache
import federation.boundary.resolve as resolve
import federation.boundary.spark.spark_resolver as spark_resolver
import federation.cut.take as take
import federation.cut.taken_cut as taken_cut
import federation.table as table
import hotset.decode.payloads as payloads
import hotset.drain.native_source as native_source
import hotset.kafka.client as client
import hotset.store.hot_store as hot_store
import hotset.store.resident_log as resident_log
from coldset.table.catalog import PinnedTable
from federation.boundary.assumptions import Confidence
from federation.boundary.committed import CommittedOffsets
from federation.cut.cut import Cut
from federation.cut.taken_cut import TakenCut
from foundation.deadline import Deadline
from hotset.drain.drain_ranges import _Drain
from hotset.drain.python_source import ConsumedSource
from hotset.kafka import Arrived
from hotset.kafka.offsets import Isolation, LogBounds
from hotset.native.availability import PURE
from tests.oracle.world import World

Plant = Callable[[pytest.MonkeyPatch, World], None]


def boundary_moved_by(offsets: int) -> Plant:
    def plant(patch: pytest.MonkeyPatch, here: World) -> None:
        real = take.resolve_boundary

        def moved(pinned: PinnedTable, *rest: Any) -> CommittedOffsets:
            found = real(pinned, *rest)
            return replace(found, next_offset={p: o + offsets for p, o in found.next_offset.items()})

        patch.setattr(take, "resolve_boundary", moved)

    return plant


def ends_before_pin(patch: pytest.MonkeyPatch, here: World) -> None:
    """Ask Kafka first, pin the table afterwards, and trust that the one does not pass the other."""
    kafka = take.connect({"bootstrap.servers": here.lake.bootstrap})
    pin, read = take.pin_table, take.read_log_bounds
    sampled: list[LogBounds] = []

    def sampling(options: Any) -> Any:
        sampled.append(read(kafka, here.lake.topic, Isolation.READ_COMMITTED, Deadline.after_ms(10_000)))
        return pin(options)

    real = take.compute_cut

    def trusting(facts: Any, committed: CommittedOffsets, bounds: Any, **options: bool) -> Cut:
        ends = {found.partition: found.end for found in bounds.partitions}
        clipped = {p: min(offset, ends[p]) for p, offset in committed.next_offset.items()}
        return real(facts, replace(committed, next_offset=clipped), bounds, **options)

    patch.setattr(take, "pin_table", sampling)
    patch.setattr(take, "read_log_bounds", lambda *_: sampled.pop())
    patch.setattr(take, "compute_cut", trusting)


def ends_of_an_earlier_question(patch: pytest.MonkeyPatch, here: World) -> None:
    """Spare Kafka the question, and take the ends that are known from the last time."""
    known = take.take_cut(here.lake.merged()).bounds
    here.fill(2)
    patch.setattr(take, "read_log_bounds", lambda *_: known)


def boundary_of_another_load(patch: pytest.MonkeyPatch, here: World) -> None:
    """Pin one state of the table, and look for the boundary in the state it has a moment later."""
    real = take.resolve_boundary

    def reloading(pinned: PinnedTable, *rest: Any) -> CommittedOffsets:
        now = here.lake.load()
        return real(replace(pinned, table=now, snapshot=now.current_snapshot()), *rest)

    patch.setattr(take, "resolve_boundary", reloading)


def boundary_of_the_group(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take the writer's consumer group for the boundary; it runs ahead of the table."""
    group = {"bootstrap.servers": here.lake.bootstrap, "group.id": here.lake.topic, "log_level": 0}
    places = [TopicPartition(here.lake.topic, p, here.journal.end_of(p)) for p in (0, 1)]
    writer = Consumer(group)
    writer.commit(offsets=places, asynchronous=False)
    writer.close()
    real = take.resolve_boundary

    def asking(pinned: PinnedTable, *rest: Any) -> CommittedOffsets:
        reader = Consumer(group)
        offsets = reader.committed([TopicPartition(here.lake.topic, p) for p in (0, 1)], 10)
        reader.close()
        return replace(real(pinned, *rest), next_offset={o.partition: o.offset for o in offsets})

    patch.setattr(take, "resolve_boundary", asking)


def reset_to_earliest(patch: pytest.MonkeyPatch, here: World) -> None:
    """Let the consumer jump to what is left when an offset is gone."""
    real = client.exact_settings

    def lenient(*asked: Any) -> dict[str, str]:
        return real(*asked) | {"auto.offset.reset": "earliest"}

    for reader in (client, native_source):
        patch.setattr(reader, "exact_settings", lenient)


def stop_at_the_first_invisible_offset(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take a jump in the offsets, as a transaction's marker makes it, for the end of what is visible."""
    real = ConsumedSource._take

    def stopping(self: Any, message: Any, events: Any) -> bool:
        partition = message.partition()
        if message.offset() > self._next[partition]:
            self._next[partition] = self._ends[partition]
        return real(self, message, events)

    patch.setenv(PURE, "1")  # where records can be seen one by one
    patch.setattr(ConsumedSource, "_take", stopping)


def stop_at_an_empty_poll(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take a poll that brought nothing for the end of the log, with a broker too far away for the first."""
    real = _Drain.chunks

    def chunks(drain: Any, guard: Any) -> Any:
        source, polls = drain._source, itertools.count()
        take = source.take
        patch.setattr(source, "take", lambda wait_s: take(wait_s) if next(polls) else Arrived())
        return real(drain, guard)

    patch.setattr(_Drain, "chunks", chunks)
    patch.setattr(_Drain, "_require_time", lambda self: self._open.clear())


def walk_by_sequence_number(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take the newest snapshot for the one the head is built on."""

    def newest_first(table: Any, snapshot: Any) -> Any:
        return sorted(table.metadata.snapshots, key=lambda s: s.sequence_number, reverse=True)

    patch.setattr(ancestry, "walk_parents", newest_first)
    cache._found.clear()  # the freezes before have walked already, and rightly


def read_uncommitted(patch: pytest.MonkeyPatch, here: World) -> None:
    """Forget the isolation where the records are read."""
    real = client.exact_settings

    def loose(properties: Any, _isolation: Isolation, *rest: Any) -> dict[str, str]:
        return real(properties, Isolation.READ_UNCOMMITTED, *rest)

    for reader in (client, native_source):
        patch.setattr(reader, "exact_settings", loose)


def name_is_identity(patch: pytest.MonkeyPatch, here: World) -> None:
    """Know a topic by its name only."""
    real = take.resolve_boundary
    patch.setattr(take, "resolve_boundary", lambda *asked: replace(real(*asked), topic_id=None))


def store_without_topic_ids(patch: pytest.MonkeyPatch, here: World) -> None:
    """Keep records under the topic's name only."""
    real = hot_store.log_name
    patch.setattr(hot_store, "log_name", lambda *asked: (real(*asked)[0],) * 2)


def store_without_isolation(patch: pytest.MonkeyPatch, here: World) -> None:
    """Keep records without saying which of them were visible."""
    real = hot_store.log_name

    def forgetting(source: Any, cluster: str) -> tuple[str, str]:
        return real(replace(source, isolation=Isolation.READ_COMMITTED), cluster)

    patch.setattr(hot_store, "log_name", forgetting)


def store_that_keeps_less(patch: pytest.MonkeyPatch, here: World) -> None:
    """Keep a range as read to its end when the last record of it was not."""
    real = resident_log.fetch_rows

    def losing(*asked: Any) -> Any:
        for part in real(*asked):
            yield replace(part, rows=part.rows.slice(0, max(0, part.rows.num_rows - 1)))

    patch.setattr(resident_log, "fetch_rows", losing)


def cold_half_at_the_head(patch: pytest.MonkeyPatch, here: World) -> None:
    """Read the table as it is when the rows are read, not as it was pinned."""
    real = table.plan_cold_splits

    def at_head(taken: Any, columns: Any, **more: Any) -> Any:
        now = here.lake.load()
        moved = replace(taken.pinned, table=now, snapshot=now.current_snapshot())
        return real(replace(taken, pinned=moved), columns, **more)

    patch.setattr(table, "plan_cold_splits", at_head)


def always_exact(patch: pytest.MonkeyPatch, here: World) -> None:
    """Say how sure an answer is by its boundary's kind, whatever was assumed."""
    patch.setattr(taken_cut, "confidence_of", lambda basis, assumed: Confidence.EXACT)


def assumptions_unsaid(patch: pytest.MonkeyPatch, here: World) -> None:
    """Assume, and tell nobody."""
    patch.setattr(TakenCut, "assumed", lambda self, records=None: ())


def record_believed(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take a writer's record for the truth, and hold it against nothing."""
    patch.setattr(resolve, "settle", lambda found, *rest: found)


def isolation_believed(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take a default for what the writer does."""
    real = take.isolation_of
    patch.setattr(take, "isolation_of", lambda *asked: (real(*asked)[0], False))


def upserts_are_appends(patch: pytest.MonkeyPatch, here: World) -> None:
    """Take every row for a record of its own."""
    patch.setattr(take, "require_appends", lambda *asked: ())


def first_topic_only(patch: pytest.MonkeyPatch, here: World) -> None:
    """Look for the topic among those that the writer reads, and at no other; and count no rows."""

    def without_others(text: str) -> Any:
        found = json.loads(text)
        topic = here.lake.topic
        return {topic: found[topic]} if topic in found else found

    patch.setattr(spark_resolver, "json", SimpleNamespace(loads=without_others))
    record_believed(patch, here)


def strangers_are_rows(patch: pytest.MonkeyPatch, here: World) -> None:
    """Fill the columns that a record has fields for, and look at nothing else."""
    patch.setattr(payloads, "mark_row", lambda schema: schema)
