"""Logs with transactions in them, in every place that has tripped a reader.

Twelve shapes, each named by what lies where; the tests and the fault runner lay the same ones, so a shape
that is added here is asked about everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from federation.cut.take import take_cut
from federation.plan import answer_schema, plan_cold_splits, plan_hot
from federation.read.split_reader import read_split
from tests.oracle import ways
from tests.oracle.checker import IDENTITY, Observed
from tests.oracle.journal import Sender
from tests.oracle.world import World
from tests.transactions import wait_until_ended

ENDINGS = ["aborted", "committed", "open"]
PLACES = {"start": "Tpp", "middle": "pTp", "end": "ppT", "all": "TT"}


@dataclass
class Laid:
    """A log of one shape; `finish` ends the transactions that are still open."""

    here: World
    finish: Callable[[], None]


def lay(here: World, ending: str, shape: str) -> Laid:
    """Write plain records (p) and transactions (T) into partition 0, with some noise in partition 1."""
    here.fill(2, 1)
    held: list[Sender] = []
    for index, part in enumerate(shape):
        if part == "p":
            here.fill(2)
            continue
        sender = here.sender(f"txn{index}", transactional=True)
        sender.begin()
        sender.send(2)
        if ending == "aborted":
            sender.abort()
        elif ending == "committed":
            sender.commit()
        else:
            held.append(sender)
    if not held:
        # Else the log would have another shape for a moment.
        wait_until_ended(here.lake.bootstrap, here.lake.topic)
    return Laid(here, lambda: [sender.commit() for sender in held] and None)


def split_by_split(lake: ways.Lake) -> Observed:
    """What executors do: every split read on its own."""
    taken = take_cut(lake.merged())
    schema = answer_schema(taken, IDENTITY)
    splits = [*plan_cold_splits(taken, IDENTITY), *plan_hot(taken, schema, spread=True)]
    batches = [batch for split in splits for batch in read_split(split)]
    bounds = taken.bounds
    assert bounds is not None
    return Observed(
        rows=pa.Table.from_batches(batches, schema=schema),
        ends={r.partition: r.end for r in taken.cut.ranges},
        gaps=tuple((gap.partition, gap.start, gap.end) for gap in (*taken.cut.gaps, *taken.cut.lost)),
        held_back={p.partition: p.high_watermark - p.end for p in bounds.partitions},
        cut=taken.cut.token(),
        confidence=taken.confidence(taken.assumed()),
        assumed=frozenset(taken.assumed()),
    )
