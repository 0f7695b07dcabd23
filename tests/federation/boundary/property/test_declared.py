"""Boundaries that a user declares: believed, but of one snapshot only and word for word.

What a declaration adds beyond offsets is held against the topic, and what it misspells is an error.
"""

from __future__ import annotations

import json

import pytest

from federation.boundary.property.declared_resolver import parse_declared
from federation.errors import BoundaryUnknownError, IsolationMismatchError, OptionError, TopicReplacedError
from hotset.kafka.offsets import OffsetRange
from tests.conftest import MakeLake
from tests.federation.boundary.foreign_commits import ROWS, append, commit_and_declare, declared, send

kafka = pytest.mark.kafka


@kafka
def test_a_declared_boundary_of_another_snapshot_is_an_error(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    commit_and_declare(made, {0: 5})
    old = made.load().current_snapshot()
    assert old is not None
    append(made, {0: 5}, {0: 6})

    with pytest.raises(BoundaryUnknownError, match="speaks of snapshot"):
        made.open(committedOffsets=declared(made, old.snapshot_id)).cut()


@kafka
def test_a_declaration_may_be_a_file_that_its_writer_keeps_up_to_date(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    path = made.directory / "boundary.json"
    for end in (5, 8):
        commit_and_declare(made, {0: end})
        snapshot = made.load().current_snapshot()
        assert snapshot is not None
        path.write_text(declared(made, snapshot.snapshot_id))

        cut = made.open(committedOffsets=f"${{file:{path}}}").cut()

        assert cut.ranges[0] == OffsetRange(0, end, 10)


@kafka
def test_a_declared_topic_and_isolation_are_held_against_what_is_read(lake: MakeLake) -> None:
    made = lake(schema=ROWS)
    send(made, {0: 10})
    append(made, {}, {0: 5})
    snapshot = made.load().current_snapshot()
    assert snapshot is not None
    boundary = {"snapshot_id": snapshot.snapshot_id, "partitions": {"0": 5}}

    uncommitted = made.having(committedOffsets=json.dumps({**boundary, "isolation": "read_uncommitted"}))
    with pytest.raises(IsolationMismatchError):
        uncommitted.open(**{"kafka.isolation.level": "read_committed"}).cut()
    assert uncommitted.open().cut().isolation == "read_uncommitted"
    with pytest.raises(TopicReplacedError):
        made.open(committedOffsets=json.dumps({**boundary, "topic_id": "another"})).cut()
    fits = {
        **boundary,
        "isolation": "read_committed",
        "topic_id": made.open(committedOffsets=json.dumps(boundary)).cut().topic_id,
    }
    assert made.open(committedOffsets=json.dumps(fits)).cut().ranges[0].start == 5


@pytest.mark.parametrize(
    "text",
    [
        '{"0": 5}',
        "[]",
        '{"snapshot_id": 1}',
        '{"snapshot_id": "1", "partitions": {}}',
        '{"snapshot_id": null, "partitions": {}}',
        '{"snapshot_id": 1, "partitions": {"0": -1}}',
        '{"snapshot_id": 1, "partitions": {"-1": 1}}',
        '{"snapshot_id": 1, "partitions": {"0": 1.0}}',
        '{"snapshot_id": 1, "partitions": {}, "isolation": "dirty"}',
        '{"snapshot_id": 1, "partitions": {}, "topic_id": 7}',
        '{"snapshot_id": 1, "partitions": {}, "topicId": "x"}',
    ],
)
def test_a_malformed_declaration_is_an_option_error(text: str) -> None:
    with pytest.raises(OptionError, match="committedOffsets"):
        parse_declared(text)
