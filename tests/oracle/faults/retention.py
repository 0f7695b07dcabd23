"""Faults of the log: records that leave it, and topics that are not what they were."""

from __future__ import annotations

import contextlib
import time

from foundation.errors import KafkaIcebergError
from tests.builders import add_partitions, delete_records, delete_topic, make_topic
from tests.oracle import ways
from tests.oracle.checker import Verdict
from tests.oracle.faults.round import Round
from tests.oracle.steps import PLANNING, STEPS, before
from tests.oracle.world import World


def boundary_of(here: World) -> dict[int, int]:
    return {r.partition: r.start for r in here.lake.open().cut().ranges}


def k5_deleted_before(round_: Round) -> None:
    """Records deleted below, at and above the boundary before the question."""
    here = round_.begun()
    round_.some(here)
    end = here.journal.end_of(0)
    for log_start in sorted({round_.rng.randint(0, end), boundary_of(here)[0], round_.rng.randint(0, end)}):
        round_.inject(lambda to=log_start: delete_records(here.lake.bootstrap, here.lake.topic, {0: to}))
        round_.ask(here)
        round_.ask(here.having(failOnDataLoss="false"))
    round_.freeze(here.having(failOnDataLoss="false"))
    round_.some(here)
    round_.heals(here)


def k6_deleted_while_read(round_: Round) -> None:
    """Records deleted between any two steps of an answer, or between two splits of its read."""
    here = round_.begun().having(maxRecordsPerPartition=str(round_.rng.randint(1, 4)))
    round_.some(here)
    to = round_.rng.randint(0, here.journal.end_of(0))
    with round_.patching() as patch:
        step = round_.rng.choice(STEPS)
        # The table is one split, and each record of partition 0 may be another.
        step = step._replace(call=round_.rng.randint(2, 3)) if step.name == "read_split" else step
        delete = lambda: delete_records(here.lake.bootstrap, here.lake.topic, {0: to})  # noqa: E731
        before(patch, step, lambda: round_.inject(delete))
        round_.ask(here, {f"library, deleted before {step}": ways.library})
    round_.ask(here)
    with contextlib.suppress(KafkaIcebergError):
        round_.freeze(here.having(failOnDataLoss="false"))
    round_.ask(here)


def k7_retention_and_commits(round_: Round) -> None:
    """The broker's own retention deletes segments while a freeze races with it."""
    config = {
        "segment_ms": "200",
        "retention_ms": "700",
        "file_delete_delay_ms": "100",
        "segment_bytes": "1048576",
    }
    here = round_.world(**config)
    here.fill(3, 0)
    lenient = here.having(failOnDataLoss="false")

    def happen() -> None:
        for _ in range(10):
            round_.some(here)
            time.sleep(round_.rng.uniform(0, 0.25))
            with contextlib.suppress(KafkaIcebergError):
                round_.freeze(lenient)

    round_.meanwhile(lenient, happen)
    round_.settle()
    round_.ask(here)
    with contextlib.suppress(KafkaIcebergError):
        round_.freeze(lenient)
    round_.ask(lenient)


def k8_topic_deleted(round_: Round) -> None:
    """The topic deleted between any two steps of an answer."""
    here = round_.begun().having(readTimeoutMs="8000", noProgressTimeoutMs="3000", planTimeoutMs="5000")
    round_.some(here)
    with round_.patching() as patch:
        step = round_.rng.choice(STEPS)
        delete = lambda: delete_topic(here.lake.bootstrap, here.lake.topic)  # noqa: E731
        before(patch, step, lambda: round_.inject(delete))
        round_.ask(here, {f"library, deleted before {step}": ways.library})
    round_.expect(here, Verdict.DECLARED, round_.ways(here))


def k9_recreated(round_: Round) -> None:
    """The topic replaced by another of its name, shorter or longer than the boundary."""
    here = round_.begun()
    count = round_.rng.choice([1, 3, 30])
    if round_.rng.random() < 0.5:
        round_.inject(lambda: recreate(here, count))
    else:
        with round_.patching() as patch:
            step = round_.rng.choice(PLANNING)
            before(patch, step, lambda: round_.inject(lambda: recreate(here, count)))
            round_.ask(here, {f"library, recreated before {step}": ways.library})
    round_.expect(here, Verdict.DECLARED)


def k10_partitions_added(round_: Round) -> None:
    """Partitions added, and written to, between any two steps of an answer."""
    here = round_.begun()
    late = here.sender("late")

    def add() -> None:
        add_partitions(here.lake.bootstrap, here.lake.topic, 4)
        for partition in (2, 3):
            late.send(round_.rng.randint(1, 4), partition)

    with round_.patching() as patch:
        before(patch, round_.rng.choice(STEPS), lambda: round_.inject(add))
        round_.ask(here, {"library": ways.library})
    round_.ask(here)
    round_.freeze(here)
    late.send(2, 3)
    round_.heals(here)


def k19_times(round_: Round) -> None:
    """Producers' clocks out of order and out of range, and brokers' clocks instead."""
    kind = round_.rng.choice(["CreateTime", "LogAppendTime"])
    here = round_.world(message_timestamp_type=kind, retention_ms="-1")
    now_ms = time.time_ns() // 1_000_000
    sender = here.sender("clock")
    for _ in range(6):
        round_.inject()
        day_ms = 86_400_000
        sender.send(2, 0, timestamp_ms=max(1, now_ms + round_.rng.randint(-400, 0) * day_ms))
    round_.ask(here)
    round_.freeze(here, {0: round_.rng.randint(1, 11)})
    sender.send(1, 1, timestamp_ms=1)
    round_.heals(here)


def recreate(here: World, count: int) -> None:
    """Replace the topic by one whose records are strangers' to the journal."""
    delete_topic(here.lake.bootstrap, here.lake.topic)
    make_topic(here.lake.bootstrap, here.lake.topic, partitions=2)
    stranger = World(here.lake)
    stranger.fill(count, 0)
    stranger.fill(count, 1)
