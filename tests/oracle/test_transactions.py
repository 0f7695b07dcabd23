"""Transactions in every place of a hot range, with the table's boundary at every offset of it.

Control records and aborted records occupy offsets and are never delivered, and an open transaction hides
what comes after it; readers that count, or that wait for the last offset, lose records or wait for ever.
Twelve shapes are laid into a real log, and each is asked about with every boundary a commit could leave.
"""

from __future__ import annotations

import pytest

from tests.oracle import ways
from tests.oracle.conftest import MakeWorld
from tests.oracle.shapes import ENDINGS, PLACES, lay, split_by_split
from tests.oracle.steps import Step, before
from tests.transactions import wait_until_ended

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]


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

    before(monkeypatch, Step("hotset.store.row_source", "drain"), sender.abort)

    assert here.expect_correct({"library": ways.library}).rows_hot == 3
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
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
    wait_until_ended(here.lake.bootstrap, here.lake.topic)
    assert here.expect_correct().rows.num_rows == 7
