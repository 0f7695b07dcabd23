"""Recordings of foreign writers are of tests, and a control topic is the same when it is written again.

What is true of the tables themselves, the tests say that play the recordings.
"""

from __future__ import annotations

import ast

import pytest

from stack import KafkaBroker
from tests.builders import HANG_S, make_topic, produce, unique
from tests.fixtures.control_log import read_on, write_on
from tests.fixtures.recording import FOLDER
from tests.rules.sources import ROOT
from tests.transactions import begin, transaction


def names_in(files: str) -> tuple[str, ...]:
    """The names of all tests in the files of this name."""
    return tuple(
        node.name.removeprefix("test_")
        for path in (ROOT / "tests").rglob(files)
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    )


def test_each_recording_is_of_a_test_that_is_there() -> None:
    found = sorted(FOLDER.rglob("*.tar.xz"))

    assert found
    of_none = [path for path in found if not path.name.startswith(names_in(f"test_{path.parent.name}.py"))]
    assert of_none == []


@pytest.mark.kafka
def test_a_control_topic_has_its_records_at_the_same_offsets_when_it_is_written_again(
    broker: KafkaBroker,
) -> None:
    there, here = (make_topic(broker.bootstrap, unique("control"), partitions=2) for _ in range(2))
    ends: dict[int, int] = {}
    for turn in range(3):
        told, not_told = (begin(broker.bootstrap, there, sent) for sent in ([b"a", b"b"], [b"no"]))
        produce(broker.bootstrap, there, [b"plain"] * turn)
        told.commit_transaction(HANG_S)
        not_told.abort_transaction(HANG_S)
        with transaction(broker.bootstrap, there, [b"one"], partition=1):
            pass
        added = read_on(broker.bootstrap, there, ends)
        ends = {stretch.partition: stretch.end for stretch in added}

        write_on(broker.bootstrap, here, added)

    assert ends == {0: 18, 1: 6}
    assert read_on(broker.bootstrap, here, {}) == read_on(broker.bootstrap, there, {})
