"""What an answer must be, told from the truth of the worlds that passed while it was asked.

The judge knows what every record's fate is and what every snapshot holds; it never looks at how an answer
was made. Each way to be wrong is one of the invariants I1 to I10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from federation.errors import CutError
from foundation.errors import KafkaIcebergError
from tests.oracle.model.state import FOREIGN, World, name_of
from tests.oracle.model.ways import Answer, Ranges


class Invariant(StrEnum):
    LOSS = "I1 no loss"
    DUPLICATE = "I2 no duplicate"
    INVENTION = "I3 no invention"
    PREFIX = "I4 prefix"
    FRESHNESS = "I5 freshness"
    MONOTONE = "I6 monotone"
    ONE_CUT = "I7 one cut"
    CLOSED = "I8 fail closed"
    CONVERGENCE = "I9 convergence"
    READ_ONLY = "I10 read-only"


class Fault(NamedTuple):
    invariant: Invariant
    text: str


def judge(answer: Answer, worlds: Sequence[World]) -> Iterator[Fault]:
    """Yield what is wrong with an answer; `worlds` are all moments from the question to the answer."""
    now = worlds[-1]
    snap = now.snap(answer.snapshot) or next(
        (found for world in worlds if (found := world.snap(answer.snapshot))), None
    )
    if snap is not None and snap.topic not in (None, answer.topic):
        yield Fault(Invariant.INVENTION, "the table's records and the log's are of different topics")
    expected = set(snap.rows if snap else ())
    logs = now.topics[answer.topic]
    for partition in range(len(logs)):
        start = snap.covered(partition) if snap else 0
        end = answer.ends.get(partition, 0)
        expected |= set(now.visible(answer.topic, partition, start, end))
        if snap and end < start:
            told = f"partition {partition} ends at {end}, and snapshot {snap.number} holds it up to {start}"
            yield Fault(Invariant.PREFIX, told)
    excused = {row for r in answer.gaps for row in now.visible(answer.topic, r.partition, r.start, r.end)}
    counts = Counter(answer.rows)
    if lost := sorted(expected - excused - set(counts)):
        yield Fault(Invariant.LOSS, f"{_named(lost)} missing")
    if twice := sorted(row for row, count in counts.items() if count > 1):
        yield Fault(Invariant.DUPLICATE, f"{_named(twice)} twice")
    if extra := sorted(set(counts) - expected):
        yield Fault(*_extra(extra, answer, now))
    yield from _gaps(answer, worlds)
    yield from _freshness(answer, worlds)


def _extra(extra: list[int], answer: Answer, now: World) -> tuple[Invariant, str]:
    for row in extra:
        topic, (partition, offset) = row // 10_000, divmod(row % 10_000, 1_000)
        is_topic = row < FOREIGN and topic == answer.topic
        if not is_topic or not now.is_visible(topic, partition, offset):
            return Invariant.INVENTION, f"{_named(extra)} not to be seen"
    return Invariant.PREFIX, f"{_named(extra)} past the answer's own snapshot and ends"


def _freshness(answer: Answer, worlds: Sequence[World]) -> Iterator[Fault]:
    asked = worlds[0]
    if answer.snapshot not in {world.head for world in worlds}:
        text = f"snapshot {answer.snapshot} was not the table's head at any moment since the question"
        yield Fault(Invariant.FRESHNESS, text)
    if answer.topic not in {world.topic for world in worlds}:
        yield Fault(Invariant.FRESHNESS, "the topic was not there at any moment since the question")
    if answer.topic != asked.topic:
        return
    for partition in range(len(asked.logs)):
        if answer.ends.get(partition, 0) < asked.end(partition):
            told = f"partition {partition} ends at {answer.ends.get(partition)}"
            yield Fault(Invariant.FRESHNESS, f"{told}, {asked.end(partition)} was readable when asked")


def _gaps(answer: Answer, worlds: Sequence[World]) -> Iterator[Fault]:
    """A gap may be accepted only if at some moment its records were in neither half."""
    if answer.gaps and not any(_are_gone(answer.gaps, world) for world in worlds):
        text = (
            f"{', '.join(map(str, answer.gaps))} named as a gap, but held by the log or the table all along"
        )
        yield Fault(Invariant.LOSS, text)


def _are_gone(gaps: Ranges, world: World) -> bool:
    head = world.snap(world.head)
    return all(
        gap.partition < len(world.logs)
        and world.logs[gap.partition].start >= gap.end
        and (head.covered(gap.partition) if head else 0) <= gap.start
        for gap in gaps
    )


def judge_error(error: Exception, *, world: World | None) -> Iterator[Fault]:
    """Yield what is wrong with an error; `world` is the one it was asked in, if that stood still."""
    if not isinstance(error, KafkaIcebergError):
        yield Fault(Invariant.CLOSED, f"an error that is not declared: {error!r}")
    elif world is not None and not _is_right(error, world):
        code = type(error).code
        yield Fault(Invariant.CONVERGENCE, f"nothing moves, an answer exists, and there is {code}: {error}")


def _is_right(error: Exception, world: World) -> bool:
    """Whether no exact answer exists in a world that stands still."""
    head, marked = world.snap(world.head), world.marked()
    if not isinstance(error, CutError):
        return False
    if head is not None and (marked is None or marked.topic != world.topic):
        return True
    ends = [
        (head.covered(p) if head else 0, min(log.start, world.end(p))) for p, log in enumerate(world.logs)
    ]
    return not world.accepts_gaps and any(committed < gone for committed, gone in ends)


def _named(rows: list[int]) -> str:
    names = ", ".join(name_of(row) for row in rows[:3])
    return f"{names}{' and more' if len(rows) > 3 else ''} {'is' if len(rows) == 1 else 'are'}"
