"""Flink's `_metadata`, read without Flink: what a real one wrote, and what is no such file.

The expected positions are what the same Flink put into the table, row by row.
"""

from __future__ import annotations

import random
import re
import tracemalloc
from itertools import permutations
from pathlib import Path

import pytest

from federation.boundary.flink.checkpoint_files import CheckpointGoneError
from federation.boundary.flink.checkpoint_metadata import SOURCE_STATE, parse_metadata
from federation.boundary.flink.source_positions import read_positions
from federation.boundary.flink.state_bytes import MalformedStateError
from tests.federation.flink_encoder import SourceOperator, encode_metadata, encode_source
from tests.federation.flink_stories import FIXTURES, STORIES, checkpoint_at, commits, ends, files, load_inline

T0, T1 = ("events", 0), ("events", 1)


def positions_of(content: bytes, topic: str) -> dict[int, int]:
    return read_positions(parse_metadata(content), topic, load_inline)


def committed() -> list[tuple[str, Path, dict[int, int]]]:
    """Every checkpoint that a snapshot names, and one past the last row of each partition it held."""
    return [
        (
            topic,
            FIXTURES / story / commit.job_id / f"chk-{commit.checkpoint_id}" / "_metadata",
            ends(commit.rows, topic),
        )
        for story in ("plain", "stateless", "sources", "newer_sink", "files", "merged_files")
        for commit in commits(story)
        for topic in STORIES[story]["records"]
        if (FIXTURES / story / commit.job_id / f"chk-{commit.checkpoint_id}").exists()
    ]


@pytest.mark.parametrize(
    ("topic", "path", "expected"), committed(), ids=lambda v: v.parent.name if isinstance(v, Path) else None
)
def test_positions_are_where_the_rows_end(topic: str, path: Path, expected: dict[int, int]) -> None:
    checkpoint = checkpoint_at(path)

    found = read_positions(checkpoint.metadata, topic, checkpoint.load)

    assert {partition: at for partition, at in found.items() if at >= 0} == expected


def test_there_are_checkpoints_of_every_kind() -> None:
    assert len(committed()) >= 16


def test_a_savepoint_is_read_as_a_checkpoint_is() -> None:
    numbers = {}
    for name in STORIES["plain"]["savepoints"]:
        checkpoint = checkpoint_at(FIXTURES / "plain" / name / "_metadata")
        found = read_positions(checkpoint.metadata, "flink_plain", checkpoint.load)
        numbers[checkpoint.metadata.checkpoint_id] = found

    assert numbers == {4: {0: 18, 1: 6, 2: -2}, 6: {0: 18, 1: 9, 2: -2}}


def test_positions_count_what_the_job_left_out() -> None:
    first, second = (
        read_positions(checkpoint.metadata, "flink_filtered", checkpoint.load)
        for checkpoint in map(checkpoint_at, files("filtered"))
    )

    assert first == {0: 12, 1: 7, 2: -2}  # ten rows, and a partition of which none was kept
    assert second == {0: 20, 1: 7, 2: -2}  # thirteen rows, and seven records without one at the end


@pytest.mark.parametrize(("story", "why"), [("compressed", "compressed"), ("unaligned", "unaligned")])
def test_state_that_does_not_tell_is_an_error(story: str, why: str) -> None:
    for path in files(story):
        with pytest.raises(MalformedStateError, match=why):
            positions_of(path.read_bytes(), f"flink_{story}")


def test_rows_of_an_unaligned_checkpoint_end_before_its_source() -> None:
    """Why it is an error: three records that its source had passed are not in the snapshot that names it."""
    (commit,) = commits("unaligned")

    assert (commit.checkpoint_id, ends(commit.rows, "flink_unaligned")) == (2, {0: 5})
    assert len(STORIES["unaligned"]["records"]["flink_unaligned"]["1"]) == 3


def test_the_encoder_of_these_tests_writes_what_flink_writes() -> None:
    for path in files("plain"):
        content = path.read_bytes()
        operator = next(
            o
            for o in parse_metadata(content).operators
            if any(state.name == SOURCE_STATE for state in o.lists)
        )
        found = {("flink_plain", p): at for p, at in positions_of(content, "flink_plain").items()}
        begin = content.index(b"Source: ")
        name = re.match(rb"[\w\[\]: ]+", content[begin:])
        handles = re.findall(rb"\x01\x00.((?:file:)?[\w:/.-]{36,}?)\x00", content[begin:], re.DOTALL)[:2]
        assert name is not None
        encoded = (
            SourceOperator(
                [dict(split[:cut]), dict(split[cut:])],
                given,
                operator.operator_id,
                name[0].decode(),
                handles=[handle.decode() for handle in handles],
            )
            for split in permutations(found.items())
            for cut in range(len(split) + 1)
            for given in permutations(found)
        )

        assert any(encode_source(each) in content for each in encoded), path


FUZZED = ["plain", "newer_sink", "files", "merged_files"]


@pytest.mark.parametrize("path", [next(files(story)) for story in FUZZED], ids=FUZZED)
def test_a_file_cut_short_never_gives_other_positions(path: Path) -> None:
    content, topic = path.read_bytes(), next(iter(STORIES[path.relative_to(FIXTURES).parts[0]]["records"]))
    checkpoint = checkpoint_at(path)

    for length in range(len(content)):
        try:
            found = read_positions(parse_metadata(content[:length]), topic, checkpoint.load)
        except MalformedStateError:
            continue
        assert found == read_positions(checkpoint.metadata, topic, checkpoint.load), length
        assert content[length:].find(topic.encode()) < 0


@pytest.mark.parametrize("path", [next(files(story)) for story in FUZZED], ids=FUZZED)
def test_damage_shows_as_one_kind_of_error_if_at_all_and_never_takes_much_memory(path: Path) -> None:
    content, topic = path.read_bytes(), next(iter(STORIES[path.relative_to(FIXTURES).parts[0]]["records"]))
    dice, checkpoint = random.Random(4), checkpoint_at(path)
    tracemalloc.start()

    for _ in range(1000):
        damaged = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 4))):
            damaged[dice.randrange(len(damaged))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        try:
            read_positions(parse_metadata(bytes(damaged)), topic, checkpoint.load)
        except (MalformedStateError, CheckpointGoneError):
            continue

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(content) + 1_000_000


def test_a_made_up_checkpoint_reads_back() -> None:
    content = encode_metadata(7, [SourceOperator([{T0: 5}, {T1: -2}])])

    assert positions_of(content, "events") == {0: 5, 1: -2}


def test_a_topic_that_no_source_reads_has_no_positions() -> None:
    assert positions_of(encode_metadata(7, [SourceOperator([{T0: 5}])]), "others") == {}


def test_two_sources_that_agree_are_one() -> None:
    twice = [SourceOperator([{T0: 5}]), SourceOperator([{T0: 5, T1: 3}])]

    assert positions_of(encode_metadata(7, twice), "events") == {0: 5, 1: 3}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (encode_metadata(7, [SourceOperator([{T0: 5}]), SourceOperator([{T0: 6}])]), "two of its sources"),
        (encode_metadata(7, [SourceOperator([{T0: 5}], given=[T0, T1])]), "bounded"),
        (encode_metadata(7, [SourceOperator([{T0: 5}, {T0: 6}])]), "twice"),
        (encode_metadata(7, [SourceOperator([{T0: -9}])]), "offset -9"),
        (b"\x49\x60\x67\x2d\x00\x00\x00\x09" + bytes(64), "version 9"),
        (b"PAR1" + bytes(64), "does not begin"),
        (b"", "follow"),
    ],
)
def test_what_cannot_be_trusted_is_an_error(content: bytes, why: str) -> None:
    with pytest.raises(MalformedStateError, match=why):
        positions_of(content, "events")
