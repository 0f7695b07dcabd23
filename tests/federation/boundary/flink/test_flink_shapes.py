"""Jobs of a real Flink that bring more than one topic into a table, or a topic into more than one.

The checkpoints show the topics that are read and the tables that are filled, and not which belong together.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from federation.boundary.flink.checkpoint_metadata import SINK_STATE, Metadata, Operator
from federation.boundary.flink.job_shape import JobShape, read_shape
from federation.errors import NotOneToOneError
from tests.builders import Lake
from tests.conftest import MakeLake
from tests.federation.flink_stories import (
    COLUMNS,
    FIXTURES,
    Played,
    checkpoint_at,
    commits,
    files,
    load_inline,
    starts,
)

SINKS = ["aa" * 16, "bb" * 16]


@pytest.fixture
def played(lake: MakeLake) -> Iterator[Played]:
    with Played(lake) as player:
        yield player


def shapes(story: str, topic: str) -> set[JobShape]:
    sinks = {commit.summary["flink.operator-id"] for commit in commits(story)}
    found = [checkpoint_at(path) for path in files(story)]
    return {read_shape(each.metadata, topic, f"db.{story}", sinks, each.load) for each in found}


@pytest.mark.parametrize("story", ["plain", "stateless", "filtered", "newer_sink", "files", "rewound"])
def test_a_job_of_one_topic_and_one_table_has_no_other(story: str) -> None:
    assert shapes(story, f"flink_{story}") == {JobShape()}


@pytest.mark.parametrize("story", ["divided", "divided_newer_sink"])
def test_a_job_that_divides_a_topic_names_the_other_table(story: str) -> None:
    assert shapes(story, f"flink_{story}") == {JobShape((), (f"lake.db.{story}_rest",))}


def test_a_job_of_two_topics_into_one_table_names_the_other_topic() -> None:
    assert shapes("sources", "flink_left") == {JobShape(("flink_right",), ())}


def test_a_job_with_a_topic_for_each_table_names_both() -> None:
    found = shapes("paired", "flink_paired")

    assert found == {JobShape(("flink_paired_other",), ("lake.db.paired_other",))}


def test_sinks_without_names_are_told_apart_by_their_ids() -> None:
    states = frozenset({SINK_STATE})
    made = (Operator(each, "", None, (), states, False, False) for each in SINKS)
    both = Metadata(1, tuple(made))

    assert read_shape(both, "events", "db.t", [SINKS[0]], load_inline) == JobShape((), (SINKS[1],))
    assert read_shape(both, "events", "db.t", SINKS, load_inline) == JobShape()
    assert read_shape(both, "events", "db.t", [], load_inline) == JobShape((), (SINKS[1],))


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("story", "topic", "words"),
    [
        ("sources", "flink_left", "also reads topics flink_right"),
        ("divided", "flink_divided", "also fills tables .*divided_rest"),
        (
            "divided_newer_sink",
            "flink_divided_newer_sink",
            "also fills tables lake.db.divided_newer_sink_rest",
        ),
    ],
)
def test_a_table_that_is_not_one_to_one_with_its_topic_is_an_error(
    played: Played, story: str, topic: str, words: str
) -> None:
    made = played(story, topic)

    for options in ({}, {"boundary": "flink"}, {"kafkaColumns": COLUMNS}):
        with pytest.raises(NotOneToOneError, match=words):
            made.open(checkpointLocation=str(FIXTURES / story), **options).cut()


@pytest.mark.kafka
def test_a_topic_for_each_table_is_answered_and_what_that_assumes_is_named(played: Played) -> None:
    made = played("paired", "flink_paired")
    located = {"checkpointLocation": str(FIXTURES / "paired"), "kafkaColumns": COLUMNS}

    assert starts(made, **located) == {0: 6, 1: 3, 2: 0}
    assert "one_to_one" in assumed(made, **located)


def assumed(made: Lake, **options: str) -> list[str]:
    scan = made.open(**options).scan()
    scan.to_arrow()
    found = scan.receipt.to_dict()
    assert found["boundary"]["confidence"] == "estimated"
    return list(found["assumed"])
