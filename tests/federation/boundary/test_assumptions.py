"""What is assumed is named wherever an answer is described, and nothing that assumes anything is exact.

The rule is in the types: nobody can say how sure a boundary is, it follows from what was assumed.
"""

from __future__ import annotations

import ast
import itertools
import json
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
import pytest

from federation.boundary import Assumption, Basis, CommittedOffsets, Confidence, parse_offsets, render_offsets
from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from federation.receipt import build_receipt
from federation.receipt_lines import render_receipt
from hotset.kafka import Isolation
from kafkaiceberg.render import render_cut
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake
from tests.rules.sources import ROOT, sources

ROWS = pa.schema([("seq", pa.int64())])


def found(basis: Basis, assumed: tuple[Assumption, ...] = ()) -> CommittedOffsets:
    return CommittedOffsets(1, None, {0: 1}, None, "summary", "a test", basis, assumed)


def test_whatever_assumes_anything_is_not_exact() -> None:
    for count in range(1, len(Assumption) + 1):
        for assumed in itertools.combinations(Assumption, count):
            for basis in Basis:
                assert found(basis, assumed).confidence is not Confidence.EXACT
                assert found(basis).assuming(*assumed).assumed == assumed


def test_what_assumes_nothing_is_as_sure_as_what_it_rests_on() -> None:
    assert found(Basis.RECORD).confidence is Confidence.EXACT
    assert found(Basis.ROWS).confidence is Confidence.PROVEN


def test_only_what_was_held_against_records_leaves_a_boundary_proven() -> None:
    proven = {each for each in Assumption if found(Basis.RECORD, (each,)).confidence is Confidence.PROVEN}

    assert proven == {Assumption.RECORD_TIMES}


def test_nobody_can_say_how_sure_a_boundary_is() -> None:
    assert "confidence" not in {field.name for field in fields(CommittedOffsets)}
    with pytest.raises(TypeError):
        replace(found(Basis.RECORD), confidence=Confidence.EXACT)

    said = {
        source.path
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr == "EXACT"
    }
    assert said == {"federation/boundary/assumptions.py"}


@pytest.mark.parametrize("assumption", Assumption, ids=str)
def test_each_assumption_has_a_sentence_and_a_line_in_the_page(assumption: Assumption) -> None:
    assert assumption.meaning[0].isupper()
    assert assumption.meaning.endswith(".")
    assert f"`{assumption.value}`" in (ROOT / "BOUNDARIES.md").read_text(encoding="utf-8")


def test_a_commit_hands_on_what_it_is_built_on() -> None:
    text = render_offsets(
        topic="events",
        topic_id="id",
        isolation=Isolation.READ_COMMITTED,
        next_offset={0: 3},
        leader_epoch={},
        assumed=(Assumption.DECLARED,),
    )

    assert parse_offsets(text, snapshot_id=1, provenance="").assumed == (Assumption.DECLARED,)
    unknown = json.dumps({**json.loads(text), "assumed": ["something_new"]})
    with pytest.raises(BoundaryUnknownError, match="something_new"):
        parse_offsets(unknown, snapshot_id=1, provenance="")


def send(lake: Lake, count: int) -> None:
    produce(lake.bootstrap, lake.topic, [{"seq": seq} for seq in range(count)])


def declared(lake: Lake) -> Lake:
    """A table with three rows of which a person has said what they are."""
    send(lake, 8)
    lake.load().append(pa.table({"seq": [0, 1, 2]}, schema=ROWS))
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    text = json.dumps({"snapshot_id": snapshot.snapshot_id, "partitions": {"0": 3}})
    return lake.having(committedOffsets=text)


@pytest.mark.kafka
def test_receipts_and_cuts_name_what_was_assumed(lake: MakeLake) -> None:
    made = declared(lake(partitions=1, schema=ROWS))
    taken = take_cut(made.merged())

    receipt = build_receipt(taken, stages_ms={})

    shown: dict[str, Any] = json.loads(json.dumps(receipt.to_dict()))
    assert shown["assumed"] == ["record_times", "declared"]
    assert shown["boundary"]["confidence"] == "estimated"
    for text in (render_receipt(receipt), render_cut(taken)):
        assert f"assumed: declared: {Assumption.DECLARED.meaning}" in text
        assert "(estimated)" in text


@pytest.mark.kafka
def test_what_a_freeze_is_built_on_is_named_in_all_later_answers(lake: MakeLake) -> None:
    made = declared(lake(partitions=1, schema=ROWS))
    commit_until(made)
    own = replace(made, extra={})

    committed = take_cut(own.merged()).committed

    assert committed is not None
    assert (committed.resolver, committed.confidence) == ("summary", "estimated")
    assert Assumption.DECLARED in committed.assumed


@pytest.mark.kafka
def test_a_table_of_ours_is_exact_until_a_stranger_adds_rows(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    send(made, 8)
    commit_until(made, {0: 4})
    assert told(made) == ("exact", ())

    made.load().append(pa.table({"seq": pa.array([], pa.int64())}, schema=ROWS))
    assert told(made) == ("exact", ())

    made.load().append(pa.table({"seq": [100]}, schema=ROWS))
    assert told(made) == ("estimated", ("unmarked_rows",))

    # A freeze speaks for all commits before it, and does not make strangers' rows ours.
    commit_until(made, {0: 6})
    assert told(made) == ("estimated", ("unmarked_rows",))


def told(lake: Lake) -> tuple[str, tuple[str, ...]]:
    committed = take_cut(lake.merged()).committed
    assert committed is not None
    head = lake.load().current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert committed.resolver == "summary", OFFSETS_PROPERTY
    return str(committed.confidence), tuple(committed.assumed)
