"""Several Flink jobs, sources and sinks into one table: joined where that is sure, else an error.

The checkpoints are written by the tests' own encoder, which is held against a real Flink's bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from federation.boundary.flink.flink_resolver import FLINK_CHECKPOINT_ID, FLINK_JOB_ID
from federation.errors import BoundaryUnknownError, NotOneToOneError
from tests.builders import Lake
from tests.conftest import MakeLake
from tests.federation.boundary.histories import head, rollback
from tests.federation.flink_encoder import SourceOperator, encode_metadata
from tests.federation.flink_stories import Played, append, starts

pytestmark = pytest.mark.kafka

JOB = "75c246221ec556893aa39794771557b1"
OTHER = "1ecdea0d7c5f4b5f9f4e3f0d6d0c9f10"


def save(directory: Path, job: str, number: int, *sources: SourceOperator) -> None:
    folder = directory / job / f"chk-{number}"
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(encode_metadata(number, sources))


def committed_by(made: Lake, job: str, number: int, operator: str = "") -> None:
    marks = {FLINK_JOB_ID: job, FLINK_CHECKPOINT_ID: str(number)}
    append(made, "plain", (), marks | ({"flink.operator-id": operator} if operator else {}))


@pytest.fixture
def table(lake: MakeLake) -> Iterator[Lake]:
    with Played(lake) as played:
        yield played("plain", "flink_plain", until=0)


def source(**positions: int) -> SourceOperator:
    return SourceOperator([{("flink_plain", int(p[1:])): at for p, at in positions.items()}])


def test_two_jobs_that_read_other_partitions_are_joined(table: Lake, tmp_path: Path) -> None:
    for job, number in ((JOB, 1), (OTHER, 5), (JOB, 2)):
        committed_by(table, job, number)
    save(tmp_path, JOB, 2, source(p0=7))
    save(tmp_path, OTHER, 5, source(p1=4))

    assert starts(table, checkpointLocation=str(tmp_path)) == {0: 7, 1: 4, 2: 0}


def test_two_jobs_that_disagree_are_an_error(table: Lake, tmp_path: Path) -> None:
    for job, number in ((JOB, 1), (OTHER, 5), (JOB, 2)):
        committed_by(table, job, number)
    save(tmp_path, JOB, 2, source(p0=7, p1=2))
    save(tmp_path, OTHER, 5, source(p1=4))

    with pytest.raises(BoundaryUnknownError, match="two Flink jobs"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_job_that_reads_again_from_the_start_is_an_error(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 5)
    committed_by(table, OTHER, 1)
    save(tmp_path, JOB, 5, source(p0=9))
    save(tmp_path, OTHER, 1, source(p0=3))

    with pytest.raises(BoundaryUnknownError, match="two Flink jobs"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_job_that_goes_on_from_a_savepoint_speaks_for_the_one_before(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 5)
    committed_by(table, OTHER, 7)
    save(tmp_path, OTHER, 7, source(p0=9, p1=-2))

    assert starts(table, checkpointLocation=str(tmp_path)) == {0: 9, 1: 0, 2: 0}


def test_two_sinks_that_stand_at_other_checkpoints_are_an_error_if_the_source_moved(
    table: Lake, tmp_path: Path
) -> None:
    sinks = ["aa" * 16, "bb" * 16]
    for number, sink in ((1, sinks[0]), (1, sinks[1]), (2, sinks[0])):
        committed_by(table, JOB, number, sink)
    for number, position in ((1, 5), (2, 9)):
        (tmp_path / JOB / f"chk-{number}").mkdir(parents=True)
        content = encode_metadata(number, [source(p0=position)], sinks)
        (tmp_path / JOB / f"chk-{number}" / "_metadata").write_bytes(content)

    with pytest.raises(BoundaryUnknownError, match="several sinks"):
        starts(table, checkpointLocation=str(tmp_path))

    committed_by(table, JOB, 2, sinks[1])
    assert starts(table, checkpointLocation=str(tmp_path)) == {0: 9, 1: 0, 2: 0}


def test_a_checkpoint_without_the_tables_sink_is_an_error(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 1, "aa" * 16)
    save(tmp_path, JOB, 1, source(p0=5))

    with pytest.raises(BoundaryUnknownError, match="knows nothing of the table's sink"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_topic_that_no_job_reads_is_an_error(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 1)
    save(tmp_path, JOB, 1, SourceOperator([{("another", 0): 5}]))

    with pytest.raises(BoundaryUnknownError, match=r"no source of the Flink jobs that fill .* reads topic"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_partition_not_read_yet_is_open_once_older_snapshots_are_expired(
    table: Lake, tmp_path: Path
) -> None:
    marks = {FLINK_JOB_ID: JOB, FLINK_CHECKPOINT_ID: "5"}
    append(table, "plain", [("flink_plain/0", offset) for offset in range(8)], marks)
    committed_by(table, JOB, 6)
    first = table.load().snapshots()[0].snapshot_id
    table.load().maintenance.expire_snapshots().by_id(first).commit()
    save(tmp_path, JOB, 6, source(p0=9, p1=2, p2=-2))

    with pytest.raises(BoundaryUnknownError, match="older snapshots are expired"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_job_that_counts_on_by_chance_is_found_out_while_the_checkpoint_before_is_there(
    table: Lake, tmp_path: Path
) -> None:
    committed_by(table, JOB, 1)
    committed_by(table, OTHER, 2)
    save(tmp_path, JOB, 1, source(p0=9))
    save(tmp_path, OTHER, 2, source(p0=3))

    with pytest.raises(BoundaryUnknownError, match="two Flink jobs"):
        starts(table, checkpointLocation=str(tmp_path))


def test_commits_that_were_rolled_back_are_an_error_once_the_job_goes_on(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 1)
    kept = head(table)
    committed_by(table, JOB, 2)
    rollback(table, kept)
    committed_by(table, JOB, 4)
    save(tmp_path, JOB, 4, source(p0=9))

    with pytest.raises(BoundaryUnknownError, match="rolled back"):
        starts(table, checkpointLocation=str(tmp_path))


def test_a_job_of_another_topic_beside_the_topics_own_is_an_error(table: Lake, tmp_path: Path) -> None:
    committed_by(table, JOB, 5)
    committed_by(table, OTHER, 2)
    save(tmp_path, JOB, 5, source(p0=5))
    save(tmp_path, OTHER, 2, SourceOperator([{("another", 0): 5}]))

    with pytest.raises(NotOneToOneError, match="other Flink jobs read topics another"):
        starts(table, checkpointLocation=str(tmp_path))
