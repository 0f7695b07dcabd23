"""Errors end with what helps: not with what was done already, and not with what cannot be done."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from federation.boundary.await_commit import await_newer
from federation.boundary.connect.sink_history import UnfinishedHistoryError, UnknownHistoryError
from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.cut.pinning import pin_table
from federation.errors import BoundaryUnknownError
from hotset.errors import DecodeError
from kafkaiceberg.__main__ import main
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.flink_stories import FIXTURES, Played, commits, starts

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


@pytest.fixture
def newer_sink(lake: MakeLake) -> Iterator[Lake]:
    """A table whose last checkpoint is 1; 2 was made later, and its sink keeps files elsewhere."""
    with Played(lake) as played:
        yield played("newer_sink", "flink_newer_sink", until=1)


def test_a_later_checkpoint_that_was_given_is_not_asked_for(newer_sink: Lake, tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "newer_sink", tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / commits("newer_sink")[0].job_id / "chk-1")

    with pytest.raises(
        BoundaryUnknownError, match="chk-2 is there with number 2, and does not show"
    ) as caught:
        starts(newer_sink, boundary="flink", checkpointLocation=str(tmp_path))

    assert "give the savepoint" not in str(caught.value)


def test_a_checkpoint_folder_that_is_not_there_is_named(newer_sink: Lake, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    with pytest.raises(BoundaryUnknownError, match=f"no folder {nowhere} can be seen from here"):
        starts(newer_sink, boundary="flink", checkpointLocation=str(nowhere))


def test_of_two_folders_one_may_be_gone(newer_sink: Lake, tmp_path: Path) -> None:
    both = f"{tmp_path / 'nowhere'},{FIXTURES / 'newer_sink'}"

    assert starts(newer_sink, boundary="flink", checkpointLocation=both)


def test_a_spark_checkpoint_that_is_not_there_is_named(lake: MakeLake, tmp_path: Path) -> None:
    made = lake(partitions=1, schema=ROWS)
    marks = {SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: "0"}
    made.load().append(pa.table({"seq": [0]}, schema=ROWS), snapshot_properties=marks)
    nowhere = tmp_path / "nowhere"

    with pytest.raises(BoundaryUnknownError, match=f"there is no folder {nowhere} .* checkpointLocation"):
        made.open(checkpointLocation=str(nowhere), boundary="spark").cut()


def test_a_newer_snapshot_is_advised_only_where_there_is_one(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    for seq in range(2):
        made.load().append(pa.table({"seq": [seq]}, schema=ROWS))
    first, last = (snapshot.snapshot_id for snapshot in made.load().snapshots())

    def advised(snapshot_id: int) -> str:
        return await_newer(pin_table(made.merged(**{"snapshot-id": str(snapshot_id)}))[0])

    assert advised(first) == "read a newer snapshot"
    assert advised(last) == "ask again after the writer's next commit"


def test_only_an_unfinished_history_may_be_told_by_the_next_commit() -> None:
    assert UnfinishedHistoryError("").may_pass
    assert not UnknownHistoryError("").may_pass


def test_a_bad_record_is_told_with_what_can_be_done_about_it(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    produce(made.bootstrap, made.topic, [b"no JSON"])

    with pytest.raises(DecodeError, match=r"option badRecords .*\(skip, null or dead_letter\)") as caught:
        made.open().scan().to_arrow()

    assert "table's start" not in str(caught.value)


def test_a_command_without_options_says_that_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KAFKAICEBERG_CONFIG", raising=False)

    main(["cut", "lake.orders"])
    alone = capsys.readouterr().err
    main(["cut", "lake.orders", "-o", "catalog.type=nothing"])
    given = capsys.readouterr().err

    assert f"there is no kafkaiceberg.toml in {tmp_path}" in alone
    assert "kafkaiceberg.toml" not in given
