"""Tables of which a reader cannot know everything, or knows that a union would be wrong.

Each function takes an empty world and returns it as it is to be asked, with what nobody can know of it. All
is right for who looks at the rows alone; what is asked here is what may be claimed.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace

from tests.builders import delete_topic, make_topic, produce, unique
from tests.federation.query_story import expire, forget
from tests.oracle.query_writer import QueryWriter
from tests.oracle.world import World
from tests.transactions import wait_until_ended

Doubtful = Callable[[World, random.Random], World]

HOUR_MS = 3_600_000
# Records that have no field of the table, each looking like something else.
STRANGERS = [
    {"before": None, "after": {"producer": "a", "seq": 1}, "op": "c", "source": {"lsn": 1}, "ts_ms": 1},
    {"schema": {"type": "struct", "fields": []}, "payload": {"producer": "a", "seq": 1}},
    {"Producer": "a", "SEQ": 1, "Txn": None, "RUN": "r"},
    {"order_id": 7, "amount": 1.5},
]


def two_topics(here: World, rng: random.Random) -> World:
    """A query that fills the table from a second topic as well."""
    other = World(replace(here.lake, topic=make_topic(here.lake.bootstrap, unique("other"))))
    other.fill(rng.randint(1, 3))
    query = QueryWriter(here, other)
    _commit_some(query, rng)
    return query.world


def made_anew(here: World, rng: random.Random) -> World:
    """A topic made anew and longer than the table, whose writer's record does not say which it read."""
    query = QueryWriter(here)
    ends = _commit_some(query, rng)
    _replace(query.world, max(ends.values()) + rng.randint(1, 20))
    return query.world.doubting("same_topic")


def made_anew_later(here: World, rng: random.Random) -> World:
    """The same, where all records of the new one are younger than the commit."""
    query = QueryWriter(here)
    ends = _commit_some(query, rng)
    _replace(query.world, max(ends.values()) + rng.randint(1, 20), _now_ms() + HOUR_MS)
    return query.world


def strange_records(here: World, rng: random.Random) -> World:
    """A record that shares no field with the table; all of its columns may be null."""
    with here.lake.load().update_schema() as change:
        for name in ("producer", "seq"):
            change.make_column_optional(name)
    here.fill(rng.randint(1, 4), 0)
    here.freeze()
    here.fill(rng.randint(0, 3), 0)
    value = json.dumps(rng.choice(STRANGERS)).encode()
    produce(here.lake.bootstrap, here.lake.topic, [value], partition=rng.randint(0, 1))
    return here


def left_out(here: World, rng: random.Random) -> World:
    """A writer that passed a record over."""
    return _leave_out(here, rng).world.doubting("offsets_without_rows")


def loss_forgotten(here: World, rng: random.Random) -> World:
    """The same, when the commit that shows it is expired, and nobody remembers what was seen of it."""
    query = _leave_out(here, rng)
    here.fill(rng.randint(1, 3), 0)
    query.commit({0: here.journal.end_of(0), 1: 0})
    here.fill(rng.randint(0, 3), 1)
    expire(query.world.lake)
    return query.world.doubting("offsets_without_rows")


def aborted_rows(here: World, rng: random.Random) -> World:
    """A writer that reads uncommitted records, as its default is, and nobody has said so."""
    query = QueryWriter(here)
    here.fill(rng.randint(1, 3), 0)
    sender = here.sender("txn", transactional=True)
    for end in (sender.abort, sender.commit):
        sender.begin()
        sender.send(rng.randint(1, 3), 0)
        end()
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
    query.commit({0: here.journal.end_of(0), 1: 0}, lambda entry: True)
    sender.begin()
    sender.send(rng.randint(1, 3), 0)
    sender.abort()
    here.fill(rng.randint(0, 2), 1)
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
    return query.world.doubting("writer_isolation")


def aborted_hot(here: World, rng: random.Random) -> World:
    """The same, where the log alone has them."""
    query = QueryWriter(here)
    here.fill(rng.randint(1, 3), 0)
    query.commit({0: here.journal.end_of(0), 1: 0})
    sender = here.sender("txn", transactional=True)
    sender.begin()
    sender.send(rng.randint(1, 3), 0)
    sender.abort()
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
    return query.world.doubting("writer_isolation")


def upserted(here: World, rng: random.Random) -> World:
    """A table that has the latest row of each key."""
    here.fill(rng.randint(2, 5), 0)
    here.freeze()
    here.fill(rng.randint(1, 3), 0)
    if rng.random() < 0.5:
        with here.lake.load().transaction() as change:
            change.set_properties({"write.upsert.enabled": "true"})
    else:
        with here.lake.load().update_schema() as change:
            change.set_identifier_fields("producer", "seq")
    return here


def _commit_some(query: QueryWriter, rng: random.Random) -> dict[int, int]:
    here = query.world
    for partition in (0, 1):
        here.fill(rng.randint(3, 6), partition)
    ends = {p: rng.randint(1, here.journal.end_of(p)) for p in (0, 1)}
    query.commit(ends)
    return ends


def _leave_out(here: World, rng: random.Random) -> QueryWriter:
    query = QueryWriter(here)
    here.fill(rng.randint(4, 9), 0)
    ends = {0: here.journal.end_of(0), 1: 0}
    lost = rng.randrange(ends[0])
    query.commit(ends, lambda entry: entry.offset != lost)
    here.fill(rng.randint(0, 3), 0)
    return query


def _replace(here: World, count: int, timestamp_ms: int = 0) -> None:
    delete_topic(here.lake.bootstrap, here.lake.topic)
    make_topic(here.lake.bootstrap, here.lake.topic, partitions=2)
    stranger = World(here.lake).sender("stranger")
    for partition in (0, 1):
        stranger.send(count, partition, timestamp_ms=timestamp_ms)
    forget()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
