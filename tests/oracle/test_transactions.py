"""Transactions in every place of a hot range, with the table's boundary at every offset of it.

Control records and aborted records occupy offsets and are never delivered, and an open transaction hides
what comes after it; readers that count, or that wait for the last offset, lose records or wait for ever.
Twelve shapes are laid into a real log, and each is asked about with every boundary a commit could leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pytest

from federation.plan import answer_schema, plan_hot
from federation.read import read_split
from federation.take import take_cut
from tests.oracle import ways
from tests.oracle.checker import IDENTITY, Observed
from tests.oracle.conftest import MakeWorld
from tests.oracle.journal import Sender
from tests.oracle.steps import Step, before
from tests.oracle.world import World

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

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
    return Laid(here, lambda: [sender.commit() for sender in held] and None)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_transaction_anywhere_in_the_range_is_seen_only_if_committed(
    world: MakeWorld, ending: str, place: str
) -> None:
    laid = lay(world(), ending, PLACES[place])
    readable = {r.partition: r.end for r in laid.here.lake.open().cut().ranges}[0]
    worlds = [laid.here.with_new_table() for _ in range(readable + 1)]

    for boundary, there in enumerate(worlds):
        there.freeze({0: boundary, 1: boundary % 3})
        seen = there.expect_correct()
        assert (seen.held_back[0] > 0) == (ending == "open")

    laid.finish()
    for there in worlds:
        there.expect_correct({"library": ways.library})


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_split_may_begin_or_end_inside_a_transaction(world: MakeWorld, ending: str) -> None:
    here = lay(world(), ending, "pTpTp").here

    for at_most in ("1", "2", "3"):
        there = here.having(maxRecordsPerPartition=at_most)
        there.expect_correct({f"splits of {at_most}": split_by_split})


@pytest.mark.spark
@pytest.mark.parametrize("ending", ["aborted", "committed"])
def test_spark_tasks_may_begin_or_end_inside_a_transaction(
    world: MakeWorld, spark: object, ending: str
) -> None:
    here = lay(world(), ending, "pTpTp").here.having(maxRecordsPerPartition="3")

    here.expect_correct({"spark": lambda lake: ways.spark(spark, lake)})
    here.freeze({0: 4})
    here.expect_correct({"spark": lambda lake: ways.spark(spark, lake, is_twice=True)})


def test_a_transaction_that_is_aborted_while_it_is_read_is_never_seen(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    here.fill(3)
    sender = here.sender("late", transactional=True)
    sender.begin()
    sender.send(3)
    here.fill(3)

    before(monkeypatch, Step("federation.read", "drain"), sender.abort)

    assert here.expect_correct({"library": ways.library}).rows_hot == 3
    assert here.expect_correct().rows_hot == 6


def test_records_behind_an_open_transaction_are_named_as_held_back(world: MakeWorld) -> None:
    here = world()
    here.fill(1)
    sender = here.sender("open", transactional=True)
    sender.begin()
    sender.send(2)
    here.fill(4)

    seen = here.expect_correct()

    assert seen.ends is not None
    assert (seen.ends[0], seen.held_back[0]) == (1, 6)
    sender.commit()
    assert here.expect_correct().rows.num_rows == 7


def split_by_split(lake: ways.Lake) -> Observed:
    """What executors do: every split read on its own."""
    taken = take_cut(lake.merged())
    schema = answer_schema(taken, IDENTITY)
    splits = plan_hot(taken, schema, spread=True)
    batches = [batch for split in splits for batch in read_split(split)]
    bounds = taken.bounds
    assert bounds is not None
    return Observed(
        rows=pa.Table.from_batches(batches, schema=schema),
        ends={r.partition: r.end for r in taken.cut.ranges},
        held_back={p.partition: p.high_watermark - p.end for p in bounds.partitions},
        cut=taken.cut.token(),
    )
