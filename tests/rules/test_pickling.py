"""Splits travel to workers whole, and take no secret along.

A split holds references to secrets; what they name is resolved where the split
is read, so neither its bytes nor its text may hold the value.
"""

from __future__ import annotations

import pickle

import pytest

from federation.cut.take import take_cut
from federation.plan import answer_schema, plan_cold_splits, plan_hot
from federation.read.split_reader import read_split
from federation.read.splits import Split
from tests.builders import commit_until, produce
from tests.conftest import MakeLake

CANARY = "canary-4711"


@pytest.fixture(scope="module")
def splits(lake: MakeLake) -> tuple[Split, ...]:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(4)])
    commit_until(made)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(4, 6)])
    secrets = {"kafka.sasl.password": "${env:CANARY}", "catalog.token": "${env:CANARY}"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANARY", CANARY)
        taken = take_cut(made.merged(**secrets))
    schema = answer_schema(taken)
    return (*plan_hot(taken, schema, spread=True), *plan_cold_splits(taken, schema.names))


@pytest.mark.kafka
def test_splits_are_equal_after_the_way(splits: tuple[Split, ...]) -> None:
    assert len(splits) == 2

    arrived = pickle.loads(pickle.dumps(splits))

    assert arrived == splits


@pytest.mark.kafka
def test_splits_that_travelled_read_the_same_rows(
    splits: tuple[Split, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", CANARY)

    rows = [
        row
        for split in pickle.loads(pickle.dumps(splits))
        for b in read_split(split)
        for row in b.to_pylist()
    ]

    assert sorted(row["seq"] for row in rows) == [0, 1, 2, 3, 4, 5]


@pytest.mark.kafka
def test_splits_hold_references_and_never_secrets(
    splits: tuple[Split, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", CANARY)

    for split in splits:
        assert CANARY.encode() not in pickle.dumps(split)
        assert CANARY not in repr(split)
