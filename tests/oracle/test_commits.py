"""Commits that race, come late or come from strangers, and what can be said of the table then.

The boundary is the fence: of two freezes of the same records one lands, and one that slept lands nothing
and leaves nothing. Where a stranger's commit hides what the table holds, the answer is an error.
"""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile

from coldset.errors import ColdsetError, TableNotFoundError, UnsupportedTableError
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from hotset.errors import DecodeError, KafkaUnavailableError, TopicNotFoundError
from pipeline.errors import FencedError
from pipeline.freeze import commit
from tests.builders import EVENTS, Lake, delete_topic, produce, stage_rows, unique
from tests.deletes import delete_by_unknown_key
from tests.oracle.conftest import MakeWorld
from tests.oracle.steps import some_of_both

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

STRANGER = pa.Table.from_pylist([{"run": "x", "producer": "x", "seq": 0}], schema=EVENTS)


def test_of_two_freezes_of_one_cut_exactly_one_lands(world: MakeWorld) -> None:
    here = some_of_both(world)
    staged = [stage_rows(take_cut(here.lake.merged())) for _ in range(2)]
    outcomes: list[object] = []
    barrier = threading.Barrier(2)

    def race(index: int) -> None:
        barrier.wait()
        try:
            outcomes.append(commit(staged[index]))
        except FencedError as exc:
            outcomes.append(exc)

    threads = [threading.Thread(target=race, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["FencedError", "int"]
    assert here.expect_correct().rows_cold == 9


def test_a_freeze_that_comes_late_lands_nothing_and_leaves_no_files(world: MakeWorld) -> None:
    here = some_of_both(world)
    late = stage_rows(take_cut(here.lake.merged()))
    here.fill(3)
    here.freeze()
    files, snapshots = data_files(here.lake), len(here.lake.load().metadata.snapshots)

    with pytest.raises(FencedError):
        commit(late)

    assert data_files(here.lake) == files - {path_of(file) for file in late.files}
    assert len(here.lake.load().metadata.snapshots) == snapshots
    assert here.expect_correct().rows_cold == 12


def test_a_freeze_of_a_rolled_back_table_is_fenced(world: MakeWorld) -> None:
    here = some_of_both(world)
    first = here.lake.load().current_snapshot().snapshot_id
    here.fill(2)
    here.freeze()
    here.fill(2)
    staged = stage_rows(take_cut(here.lake.merged()))
    here.lake.load().manage_snapshots().rollback_to_snapshot(first).commit()

    with pytest.raises(FencedError):
        commit(staged)

    assert here.expect_correct().rows.num_rows == 13


def test_a_table_begun_by_a_stranger_has_no_known_boundary(world: MakeWorld) -> None:
    here = world()
    here.lake.load().append(STRANGER)

    here.expect_error(BoundaryUnknownError)


def test_the_boundary_is_found_behind_commits_that_do_not_name_it(world: MakeWorld) -> None:
    here = some_of_both(world)
    table = here.lake.load()
    for _ in range(3):
        table.append(STRANGER.slice(0, 0))

    assert here.expect_correct().rows_cold == 5


def test_a_boundary_that_cannot_be_read_is_an_error(world: MakeWorld) -> None:
    here = world()
    here.lake.load().append(STRANGER, snapshot_properties={"kafkaiceberg.offsets": '{"version":99}'})

    here.expect_error(BoundaryUnknownError)


def test_deletes_that_nobody_can_apply_are_refused(world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    here = some_of_both(world)

    delete_by_unknown_key(here.lake, monkeypatch)

    here.expect_error(UnsupportedTableError)


def test_a_table_that_is_missing_is_an_error(world: MakeWorld) -> None:
    here = world()
    here.lake.catalog.drop_table(here.lake.table)

    here.expect_error(TableNotFoundError)


def test_a_topic_that_is_missing_is_an_error(world: MakeWorld) -> None:
    here = some_of_both(world)
    delete_topic(here.lake.bootstrap, here.lake.topic)

    here.expect_error(TopicNotFoundError)


def test_a_broker_out_of_reach_is_an_error_within_the_time_given(world: MakeWorld) -> None:
    here = some_of_both(world).having(**{"kafka.bootstrap.servers": "127.0.0.1:9", "planTimeoutMs": "1000"})

    here.expect_error(KafkaUnavailableError)


@pytest.mark.parametrize(
    "value", [b"{", b"\xff\xfe", b"[]", b'{"seq": 1}', b'{"producer": "a", "seq": "x"}', None], ids=repr
)
def test_a_record_that_is_no_row_is_named_by_an_error(world: MakeWorld, value: bytes | None) -> None:
    here = some_of_both(world)
    [(partition, offset)] = produce(here.lake.bootstrap, here.lake.topic, [value], partition=1)

    error = here.expect_error(DecodeError)

    assert f"partition {partition}" in str(error)
    assert f"offset {offset}" in str(error)


def test_a_snapshot_that_is_pinned_is_continued_from_where_it_ends(world: MakeWorld) -> None:
    here = some_of_both(world)
    first = here.lake.load().current_snapshot().snapshot_id
    here.freeze()
    here.fill(2)

    seen = here.having(**{"snapshot-id": str(first)}).expect_correct()

    assert (seen.rows_cold, seen.rows_hot) == (5, 6)


def test_a_catalog_that_fails_is_a_declared_error(world: MakeWorld) -> None:
    here = some_of_both(world)
    nowhere = Path(here.lake.directory, unique("missing"), "catalog.db")

    here.having(**{"catalog.uri": f"sqlite:///{nowhere}"}).expect_error(ColdsetError)


def data_files(lake: Lake) -> set[Path]:
    return set(lake.directory.rglob("*.parquet"))


def path_of(file: DataFile) -> Path:
    return Path(unquote(urlsplit(file.file_path).path))
