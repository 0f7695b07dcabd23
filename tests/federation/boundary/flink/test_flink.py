"""Tables that a real Flink filled, played again snapshot by snapshot: the union must be exact at each.

Checkpoints and summaries are Flink's own; the topic and the table are real ones with the same records.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from federation.errors import BoundaryUnknownError
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.flink_stories import COLUMNS, FIXTURES, STORIES, Played, commits, ends, starts

pytestmark = pytest.mark.kafka

OTHER = "1ecdea0d7c5f4b5f9f4e3f0d6d0c9f10"


@pytest.fixture
def played(lake: MakeLake) -> Iterator[Played]:
    with Played(lake) as player:
        yield player


def read(made: Lake, **options: str) -> Counter[tuple[str, int, int]]:
    rows = made.open(kafkaColumns=COLUMNS, boundary="flink", **options).scan().to_arrow().to_pylist()
    return Counter((row["kafka_topic"], row["kafka_partition"], row["kafka_offset"]) for row in rows)


@pytest.mark.parametrize(
    ("story", "topic"),
    [
        ("plain", "flink_plain"),
        ("newer_sink", "flink_newer_sink"),
        ("files", "flink_files"),
        ("merged_files", "flink_merged_files"),
    ],
)
def test_the_union_is_exact_at_every_snapshot(played: Played, story: str, topic: str) -> None:
    made = played(story, topic)
    sent = {int(p): len(values) for p, values in STORIES[story]["records"][topic].items()}
    everything = Counter((topic, p, offset) for p, count in sent.items() for offset in range(count))

    for snapshot in made.load().snapshots():
        found = read(
            made, checkpointLocation=str(FIXTURES / story), **{"snapshot-id": str(snapshot.snapshot_id)}
        )

        assert found == everything


def test_the_first_job_of_a_restart_without_state_is_read_at_its_own_checkpoints(played: Played) -> None:
    made = played("stateless", "flink_stateless")
    at = [snapshot.snapshot_id for snapshot in made.load().snapshots()]
    location = {"boundary": "flink", "checkpointLocation": str(FIXTURES / "stateless")}

    found = [starts(made, **location, **{"snapshot-id": str(snapshot_id)}) for snapshot_id in at[:2]]

    assert found == [{0: 6, 1: 5, 2: 0}, {0: 8, 1: 5, 2: 0}]
    # The second job began where its group stood, which was behind the table.
    with pytest.raises(BoundaryUnknownError, match=r"19 rows .* and only 17 offsets"):
        starts(made, **location, **{"snapshot-id": str(at[2])})


def test_a_partition_that_will_begin_at_the_groups_offset_is_an_error_once_it_has_records(
    played: Played,
) -> None:
    made = played("stateless", "flink_stateless")
    produce(made.bootstrap, made.topic, [{"seq": 1}], partition=2)
    location = {"checkpointLocation": str(FIXTURES / "stateless")}

    with pytest.raises(BoundaryUnknownError, match="nothing of partition 2"):
        starts(made, **location)

    assert starts(made, **location, kafkaColumns=COLUMNS) == {0: 8, 1: 9, 2: 0}


def test_a_restart_without_state_needs_the_checkpoint_of_the_job_before(
    played: Played, tmp_path: Path
) -> None:
    made = played("stateless", "flink_stateless")
    shutil.copytree(FIXTURES / "stateless", tmp_path, dirs_exist_ok=True)
    first = commits("stateless")[0].job_id
    shutil.rmtree(tmp_path / first)

    with pytest.raises(BoundaryUnknownError, match=f"job {first}"):
        starts(made, checkpointLocation=str(tmp_path))


def test_records_that_the_job_left_out_stay_out(played: Played) -> None:
    made = played("filtered", "flink_filtered")
    at = [snapshot.snapshot_id for snapshot in made.load().snapshots()]
    location = {"boundary": "flink", "checkpointLocation": str(FIXTURES / "filtered")}

    found = [starts(made, **location, **{"snapshot-id": str(snapshot_id)}) for snapshot_id in at]

    assert found == [{0: 12, 1: 7, 2: 0}, {0: 20, 1: 7, 2: 0}]
    assert [ends(commit.rows, "flink_filtered") for commit in commits("filtered")] == [{0: 12}, {0: 15}]


def test_a_stopped_jobs_savepoint_tells_after_its_checkpoints_are_gone(
    played: Played, tmp_path: Path
) -> None:
    made = played("plain", "flink_plain", until=4)
    savepoint = FIXTURES / "plain" / STORIES["plain"]["savepoints"][1]
    shutil.copytree(savepoint, tmp_path / savepoint.name)

    for location in (tmp_path, tmp_path / savepoint.name, (tmp_path / savepoint.name).as_uri()):
        assert starts(made, boundary="flink", checkpointLocation=str(location)) == {0: 18, 1: 9, 2: 0}


def test_a_savepoint_of_unknown_origin_is_not_believed(played: Played, tmp_path: Path) -> None:
    made = played("plain", "flink_plain", until=4)
    shutil.copytree(FIXTURES / "plain" / STORIES["plain"]["savepoints"][1], tmp_path / "renamed")

    with pytest.raises(BoundaryUnknownError, match="nothing of this job is there"):
        starts(made, boundary="flink", checkpointLocation=str(tmp_path / "renamed"))


def without(directory: Path, *numbers: int) -> str:
    """The story's checkpoints after Flink has deleted some."""
    shutil.copytree(FIXTURES / "plain", directory, dirs_exist_ok=True)
    for number in numbers:
        shutil.rmtree(directory / commits("plain")[0].job_id / f"chk-{number}")
    return str(directory)


def test_a_checkpoint_that_is_gone_is_an_error_that_says_which_are_there(
    played: Played, tmp_path: Path
) -> None:
    """Checkpoint 5 is there, and its sink held files that the snapshot does not have."""
    made = played("plain", "flink_plain", until=2)
    location = without(tmp_path, 2, 3)

    with pytest.raises(BoundaryUnknownError, match=r"checkpoint 2 of Flink job .*chk-1, chk-5"):
        starts(made, boundary="flink", checkpointLocation=location)
    with pytest.raises(BoundaryUnknownError, match="kafkaColumns"):
        starts(made, checkpointLocation=location)

    opened = made.open(checkpointLocation=location, kafkaColumns=COLUMNS)
    assert {r.partition: r.start for r in opened.cut().ranges} == {0: 15, 1: 4, 2: 0}


def test_an_idle_jobs_newer_checkpoint_tells_if_its_sink_holds_nothing(
    played: Played, tmp_path: Path
) -> None:
    made = played("plain", "flink_plain", until=2)

    cut = made.open(boundary="flink", checkpointLocation=without(tmp_path, 1, 2)).cut()

    assert [(r.partition, r.start) for r in cut.ranges] == [(0, 15), (1, 4), (2, 0)]


def test_a_newer_checkpoint_is_not_taken_for_a_snapshot_that_the_job_has_gone_on_from(
    played: Played, tmp_path: Path
) -> None:
    made = played("plain", "flink_plain", until=3)
    second = made.load().snapshots()[1].snapshot_id

    with pytest.raises(BoundaryUnknownError, match="checkpoint 2 of Flink job"):
        starts(
            made,
            boundary="flink",
            checkpointLocation=without(tmp_path, 1, 2),
            **{"snapshot-id": str(second)},
        )


def test_a_newer_checkpoint_is_not_taken_if_a_commit_may_have_been_expired(
    played: Played, tmp_path: Path
) -> None:
    made = played("plain", "flink_plain", until=3)
    second, third = (snapshot.snapshot_id for snapshot in made.load().snapshots()[1:])
    made.load().manage_snapshots().rollback_to_snapshot(second).commit()
    made.load().maintenance.expire_snapshots().by_id(third).commit()

    with pytest.raises(BoundaryUnknownError, match="checkpoint 2 of Flink job"):
        starts(made, boundary="flink", checkpointLocation=without(tmp_path, 1, 2))


def test_the_newer_sinks_state_tells_of_no_other_checkpoint(played: Played, tmp_path: Path) -> None:
    made = played("newer_sink", "flink_newer_sink", until=1)
    shutil.copytree(FIXTURES / "newer_sink", tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / commits("newer_sink")[0].job_id / "chk-1")

    with pytest.raises(BoundaryUnknownError, match="chk-2"):
        starts(made, boundary="flink", checkpointLocation=str(tmp_path))


def test_a_checkpoint_of_another_job_with_the_same_number_is_not_taken(
    played: Played, tmp_path: Path
) -> None:
    made = played("plain", "flink_plain", until=1)
    job = commits("plain")[0].job_id
    shutil.copytree(FIXTURES / "plain" / job, tmp_path / OTHER)

    with pytest.raises(BoundaryUnknownError, match="nothing of this job is there"):
        starts(made, boundary="flink", checkpointLocation=str(tmp_path))


def test_damaged_metadata_is_an_error(played: Played, tmp_path: Path) -> None:
    made = played("plain", "flink_plain", until=1)
    shutil.copytree(FIXTURES / "plain", tmp_path, dirs_exist_ok=True)
    path = tmp_path / commits("plain")[0].job_id / "chk-1" / "_metadata"
    path.write_bytes(path.read_bytes()[:400])

    with pytest.raises(BoundaryUnknownError, match="not understood"):
        starts(made, boundary="flink", checkpointLocation=str(tmp_path))


def test_a_table_without_checkpoint_location_names_the_option(played: Played) -> None:
    made = played("plain", "flink_plain", until=1)

    with pytest.raises(BoundaryUnknownError, match="checkpointLocation"):
        starts(made)
