"""A table whose writer left no mark is adopted: a person says once what it holds, and answers say so.

What was declared is believed for that snapshot and what is frozen onto it; whoever adds rows without a word
is found out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from coldset.table.ancestry import summary_value
from federation.adopt import adopt, choose_offsets, find_adoptable
from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY
from federation.errors import AdoptionError, BoundaryUnknownError, MergeNeededError
from kafkaiceberg.__main__ import main
from tests.builders import (
    Lake,
    commit_until,
    delete_records,
    in_version_3,
    produce,
    write_config,
)
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])
NAMED = pa.schema([("seq", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])


def send(lake: Lake, first: int, end: int, partition: int = 0) -> None:
    produce(lake.bootstrap, lake.topic, [{"seq": seq} for seq in range(first, end)], partition=partition)


def write_silently(lake: Lake, first: int, end: int) -> None:
    """What a writer does that leaves no mark."""
    lake.load().append(pa.table({"seq": range(first, end)}, schema=ROWS))


def found(lake: Lake) -> list[int]:
    return sorted(lake.open().scan().to_arrow()["seq"].to_pylist())


def adopt_from(lake: Lake, start: str) -> int:
    adoptable = find_adoptable(lake.merged())
    return adopt(adoptable, choose_offsets(adoptable, start))


@pytest.fixture
def half(lake: MakeLake) -> Lake:
    """A table that somebody filled with the first ten of fifteen records."""
    made = lake(partitions=1, schema=ROWS)
    send(made, 0, 15)
    write_silently(made, 0, 10)
    return made


def test_the_union_is_exact_once_a_person_has_said_what_the_table_holds(half: Lake) -> None:
    with pytest.raises(BoundaryUnknownError):
        found(half)

    adopt_from(half, '{"0": 10}')

    assert found(half) == list(range(15))
    send(half, 15, 20)
    assert found(half) == list(range(20))


def test_an_answer_of_an_adopted_table_says_that_it_was_declared(half: Lake) -> None:
    adopt_from(half, '{"0": 10}')

    scan = half.open().scan()
    scan.to_arrow()

    told = scan.receipt.to_dict()
    assert "declared" in told["assumed"]
    assert told["boundary"]["confidence"] == "estimated"


def test_a_freeze_goes_on_from_there_and_still_says_so(half: Lake) -> None:
    adopt_from(half, '{"0": 10}')

    commit_until(half)
    send(half, 15, 18)

    assert found(half) == list(range(18))
    text = summary_value(half.load().current_snapshot(), OFFSETS_PROPERTY)
    assert json.loads(text or "")["assumed"] == ["declared"]


@pytest.mark.parametrize(("start", "hot"), [("earliest", 15), ("latest", 0), ('{"0": 4}', 11)])
def test_a_person_may_say_none_or_all_or_offsets(half: Lake, start: str, hot: int) -> None:
    adopt_from(half, start)

    assert half.open().cut().hot_span == hot


def test_earliest_is_where_the_log_starts(half: Lake) -> None:
    delete_records(half.bootstrap, half.topic, {0: 6})

    adopt_from(half, "earliest")

    assert [(r.start, r.end) for r in half.open().cut().ranges] == [(6, 15)]


def test_a_writer_that_goes_on_is_found_out_before_and_after_a_freeze(half: Lake) -> None:
    adopt_from(half, '{"0": 10}')
    write_silently(half, 10, 12)
    added = half.load().current_snapshot()

    with pytest.raises(
        BoundaryUnknownError, match=f"snapshot {added.snapshot_id if added else 0} added rows"
    ):
        found(half)

    adopt_from(half, '{"0": 12}')
    commit_until(half)
    write_silently(half, 12, 13)
    with pytest.raises(BoundaryUnknownError, match=f"kafkaiceberg adopt {half.table}$"):
        found(half)


def test_what_takes_no_rows_in_does_not_matter(half: Lake) -> None:
    adopt_from(half, '{"0": 10}')

    half.load().delete("seq = 3")

    assert found(half) == [*range(3), *range(4, 15)]


def test_a_declaration_may_be_corrected(half: Lake) -> None:
    adopt_from(half, "latest")

    adopt_from(half, '{"0": 10}')

    assert found(half) == list(range(15))


def test_a_commit_that_lands_meanwhile_is_not_spoken_for(half: Lake) -> None:
    adoptable = find_adoptable(half.merged())
    write_silently(half, 10, 12)
    before = half.load().metadata_location

    with pytest.raises(AdoptionError, match="another commit landed"):
        adopt(adoptable, choose_offsets(adoptable, "latest"))

    assert half.load().metadata_location == before


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("now", "--from is earliest"),
        ("{}", "says nothing of partition 0"),
        ('{"0": 16}', "has offsets 0 to 15"),
        ('{"0": 10, "7": 1}', r"names partitions \[7\]"),
        ('{"0": "10"}', "--from is earliest"),
        ("[1]", "--from is earliest"),
        ('{"0": -1}', "--from is earliest"),
    ],
)
def test_offsets_that_the_log_does_not_have_are_refused(half: Lake, start: str, says: str) -> None:
    adoptable = find_adoptable(half.merged())

    with pytest.raises(AdoptionError, match=says):
        choose_offsets(adoptable, start)


def test_a_table_that_is_known_is_not_adopted(lake: MakeLake) -> None:
    frozen = lake(partitions=1, schema=ROWS)
    send(frozen, 0, 3)
    commit_until(frozen)
    named = lake(partitions=1, schema=NAMED)
    rows = {"seq": [0], "kafka_partition": [0], "kafka_offset": [0]}
    named.load().append(pa.table(rows, schema=NAMED))
    columns = named.having(kafkaColumns="partition=kafka_partition,offset=kafka_offset")
    send(columns, 0, 1)

    for known in (frozen, columns):
        with pytest.raises(AdoptionError, match="is known already"):
            find_adoptable(known.merged())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"branch": "main"}, "remove option 'branch'"),
        ({"boundary": "columns", "kafkaColumns": "partition=seq,offset=seq"}, "remove it"),
        ({"read": "cold"}, "remove option 'read'"),
    ],
)
def test_options_that_speak_of_something_else_are_refused(
    half: Lake, options: Mapping[str, str], says: str
) -> None:
    with pytest.raises(AdoptionError, match=says):
        find_adoptable(half.merged(**options))


def test_tables_that_cannot_be_declared_are_refused(lake: MakeLake) -> None:
    with pytest.raises(AdoptionError, match="holds nothing"):
        find_adoptable(lake(partitions=1, schema=ROWS).merged())
    upserted = lake(partitions=1, schema=ROWS, properties={"write.upsert.enabled": "true"})
    write_silently(upserted, 0, 1)
    with pytest.raises(MergeNeededError):
        find_adoptable(upserted.merged())
    with pytest.raises(AdoptionError):
        find_adoptable(in_version_3(lake(partitions=1)).merged())


def test_the_error_is_short_and_ends_with_the_command(
    half: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(half, tmp_path / "kafkaiceberg.toml"))

    assert main(["--config", config, "cut", half.table, "--explain"]) == 2

    told = capsys.readouterr()
    assert len(told.err) < 420
    assert told.err.rstrip().endswith(f": kafkaiceberg adopt {half.table}")
    assert "looked at: Kafka columns" in told.out
    assert "kafkaiceberg.offsets" in told.out


def test_the_command_shows_choices_and_one_of_them_adopts(
    half: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(half, tmp_path / "kafkaiceberg.toml"))
    before = half.load().metadata_location

    assert main(["--config", config, "adopt", half.table]) == 0
    shown = capsys.readouterr().out
    assert half.load().metadata_location == before
    assert f"kafkaiceberg adopt {half.table} --from latest" in shown
    assert "with 10 rows" in shown

    assert main(["--config", config, "adopt", half.table, "--from", '{"0": 10}']) == 0
    assert "below 0: 10" in capsys.readouterr().out
    assert found(half) == list(range(15))
