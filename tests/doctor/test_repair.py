"""Where only the tag tells what a table holds, a person may write that down; nothing is written unasked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from federation.doctor.repair import plan_repair, write_repair
from federation.errors import AdoptionError, BoundaryUnknownError
from kafkaiceberg.__main__ import main
from tests.builders import Lake, commit_until, delete_topic, make_topic, produce, write_config
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])
Captured = pytest.CaptureFixture[str]


def forget_all(lake: Lake) -> None:
    """Let only the head and the tag's snapshot stay, and no older metadata file."""
    table = lake.load()
    kept = {ref.snapshot_id for ref in table.metadata.refs.values()}
    old = [each.snapshot_id for each in table.snapshots() if each.snapshot_id not in kept]
    table.maintenance.expire_snapshots().by_ids(old).commit()
    for name, value in (("write.metadata.previous-versions-max", "1"), ("written", "again")):
        with lake.load().transaction() as change:
            change.set_properties({name: value})


@pytest.fixture
def unproven(lake: MakeLake) -> Lake:
    """A table of ten records of which one file is left, which another writer wrote anew."""
    made = lake(partitions=1, schema=ROWS)
    produce(made.bootstrap, made.topic, [{"seq": seq} for seq in range(15)])
    commit_until(made, {0: 10})
    made.load().overwrite(pa.table({"seq": range(10)}, schema=ROWS))
    made.load().append(pa.table({"seq": []}, schema=ROWS))
    forget_all(made)
    return made


@pytest.fixture
def run(unproven: Lake, tmp_path: Path) -> Callable[..., int]:
    config = str(write_config(unproven, tmp_path / "kafkaiceberg.toml"))
    return lambda *arguments: main(["--config", config, "doctor", unproven.table, *arguments])


def found(lake: Lake) -> list[int]:
    return sorted(lake.open().scan().to_arrow()["seq"].to_pylist())


def test_the_error_ends_with_the_command_that_shows_what_may_be_written(unproven: Lake) -> None:
    with pytest.raises(BoundaryUnknownError, match="do not prove") as caught:
        found(unproven)

    assert str(caught.value).endswith(f": kafkaiceberg doctor {unproven.table} --repair")


def test_a_repair_is_shown_and_not_written(unproven: Lake, run: Callable[..., int], capsys: Captured) -> None:
    before = unproven.load().metadata_location

    assert run("--repair") == 0

    shown = capsys.readouterr().out
    assert "below 0: 10" in shown
    assert shown.rstrip().endswith(f"kafkaiceberg doctor {unproven.table} --repair --yes")
    assert unproven.load().metadata_location == before


def test_a_repair_that_is_meant_makes_the_table_readable(
    unproven: Lake, run: Callable[..., int], capsys: Captured
) -> None:
    assert run("--repair", "--yes") == 0

    assert "says that the table holds" in capsys.readouterr().out
    assert found(unproven) == list(range(15))
    scan = unproven.open().scan()
    scan.to_arrow()
    assert "declared" in scan.receipt.to_dict()["assumed"]


def test_a_commit_that_lands_meanwhile_is_not_spoken_for(unproven: Lake) -> None:
    plan = plan_repair(unproven.merged())
    unproven.load().append(pa.table({"seq": [99]}, schema=ROWS))

    with pytest.raises(AdoptionError, match="another commit landed"):
        write_repair(plan)


def test_a_tag_of_another_topic_is_nothing_to_go_by(unproven: Lake) -> None:
    delete_topic(unproven.bootstrap, unproven.topic)
    make_topic(unproven.bootstrap, unproven.topic, partitions=1)

    with pytest.raises(AdoptionError, match="speaks of another topic"):
        plan_repair(unproven.merged())


def test_a_table_without_the_tag_has_nothing_to_repair_by(lake: MakeLake) -> None:
    made = lake(partitions=1, schema=ROWS)
    made.load().append(pa.table({"seq": [0]}, schema=ROWS))

    with pytest.raises(AdoptionError, match=f"kafkaiceberg adopt {made.table}"):
        plan_repair(made.merged())
