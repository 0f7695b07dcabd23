"""What Iceberg's own runtime does to a table leaves each record in the union once, or is an error.

The runtime copies no summary properties when it cherry-picks, and takes ancestors away when it expires.
Here it does both on Spark, between commits of a freeze.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest

from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, PIN_TAG
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from pipeline.freeze import new_boundary
from tests.builders import Lake, clip, commit_until, produce
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])
EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2999-01-01', "
    "retain_last => 1)"
)
COMPACT = "CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"


class Iceberg:
    """Iceberg's runtime, for statements in which `{table}` is a lake's table."""

    def __init__(self, writer: StagedSpark) -> None:
        self._writer = writer

    def sql(self, lake: Lake, statement: str, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        statement = statement.format(table=f"lake.{lake.table}")
        self._writer.sql(lake.directory / "catalog.db", statement, settings)

    def note(self, lake: Lake) -> None:
        self._writer.note(lake.directory / "catalog.db")


@pytest.fixture
def iceberg(spark_writer: StagedSpark) -> Iceberg:
    return Iceberg(spark_writer)


@pytest.fixture
def made(lake: MakeLake, iceberg: Iceberg) -> Lake:
    """A table with the first four of the topic's twelve records."""
    fresh = lake(partitions=1, schema=ROWS, properties={"write.wap.enabled": "true"})
    produce(fresh.bootstrap, fresh.topic, [{"seq": i} for i in range(12)])
    commit_until(fresh, {0: 4})
    iceberg.note(fresh)
    return fresh


def found(lake: Lake, **options: str) -> list[int]:
    return sorted(row["seq"] for row in lake.open(**options).scan().to_arrow().to_pylist())


def head(lake: Lake) -> int:
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def end_commit(lake: Lake, later_ms: int) -> None:
    """Let the last commit be over so long after its snapshot was made; the runtime needs up to some ms."""
    file = Path(lake.load().metadata_location.removeprefix("file:"))
    metadata = json.loads(file.read_text())
    [made_ms] = [
        snapshot["timestamp-ms"]
        for snapshot in metadata["snapshots"]
        if snapshot["snapshot-id"] == metadata["current-snapshot-id"]
    ]
    file.write_text(json.dumps({**metadata, "last-updated-ms": made_ms + later_ms}))


def stage(iceberg: Iceberg, lake: Lake, name: str, end: int) -> int:
    """Write the records from the table's boundary up to `end`, to be published later; return the snapshot."""
    taken = clip(take_cut(lake.merged()), {0: end})
    settings = {
        "spark.wap.id": name,
        f"spark.sql.iceberg.snapshot-property.{OFFSETS_PROPERTY}": new_boundary(taken),
    }
    first = taken.cut.committed(0)
    iceberg.sql(lake, f"INSERT INTO {{table}} SELECT id FROM range({first}, {end})", settings)
    [staged] = [
        snapshot.snapshot_id
        for snapshot in lake.load().snapshots()
        if snapshot.summary and snapshot.summary.additional_properties.get("wap.id") == name
    ]
    return staged


def test_a_staged_commit_that_is_picked_onto_its_parent_is_that_commit(iceberg: Iceberg, made: Lake) -> None:
    staged = stage(iceberg, made, "one", 8)
    assert found(made) == found(made, **{"snapshot-id": str(staged)}) == list(range(12))

    iceberg.sql(made, f"CALL lake.system.cherrypick_snapshot('{{table}}', {staged})")

    assert head(made) == staged
    assert found(made) == list(range(12))
    assert made.open().cut().committed(0) == 8


def test_a_picked_commit_has_its_sources_boundary_if_only_rows_were_rearranged_since(
    iceberg: Iceberg, made: Lake
) -> None:
    staged = stage(iceberg, made, "one", 8)
    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 1")
    iceberg.sql(made, "CALL lake.system.publish_changes('{table}', 'one')")
    left = [seq for seq in range(12) if seq != 1]

    assert head(made) != staged
    assert made.open().cut().committed(0) == 8
    assert found(made) == left

    commit_until(made, {0: 10})  # and the fence holds against this boundary

    assert found(made) == left


def test_a_picked_commit_whose_source_is_expired_is_told_by_old_metadata(
    iceberg: Iceberg, made: Lake
) -> None:
    staged = stage(iceberg, made, "one", 8)
    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 1")
    iceberg.sql(made, "CALL lake.system.publish_changes('{table}', 'one')")
    iceberg.sql(made, EXPIRE)

    assert staged not in [snapshot.snapshot_id for snapshot in made.load().snapshots()]
    assert found(made) == [seq for seq in range(12) if seq != 1]


def test_a_picked_commit_of_which_nothing_tells_any_more_is_an_error(iceberg: Iceberg, made: Lake) -> None:
    stage(iceberg, made, "one", 8)
    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 1")
    iceberg.sql(made, "CALL lake.system.publish_changes('{table}', 'one')")
    iceberg.sql(made, EXPIRE)
    iceberg.sql(made, "ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')")
    iceberg.sql(made, "ALTER TABLE {table} SET TBLPROPERTIES ('written' = 'again')")

    with pytest.raises(BoundaryUnknownError, match="cherry-picked"):
        made.open().cut()


def test_a_picked_commit_of_records_that_the_branch_has_got_since_is_an_error(
    iceberg: Iceberg, made: Lake
) -> None:
    staged = stage(iceberg, made, "one", 8)
    commit_until(made, {0: 6})
    iceberg.sql(made, f"CALL lake.system.cherrypick_snapshot('{{table}}', {staged})")

    assert sorted(made.load().scan().to_arrow()["seq"].to_pylist()) == [0, 1, 2, 3, 4, 4, 5, 5, 6, 7]
    with pytest.raises(BoundaryUnknownError, match="added offsets 4 to 8 of partition 0"):
        made.open().cut()


def test_two_commits_staged_on_one_parent_cannot_both_be_picked(iceberg: Iceberg, made: Lake) -> None:
    stage(iceberg, made, "one", 6)
    stage(iceberg, made, "two", 8)
    for name in ("one", "two"):
        iceberg.sql(made, f"CALL lake.system.publish_changes('{{table}}', '{name}')")

    with pytest.raises(BoundaryUnknownError, match="twice, or not at all"):
        made.open().cut()


def test_a_picked_commit_of_other_rows_is_walked_over(iceberg: Iceberg, made: Lake) -> None:
    iceberg.sql(made, "INSERT INTO {table} VALUES (100)", {"spark.wap.id": "more"})
    commit_until(made, {0: 6})
    iceberg.sql(made, "CALL lake.system.publish_changes('{table}', 'more')")

    assert found(made) == [*range(12), 100]


def test_a_branch_that_main_is_moved_to_brings_its_boundary(iceberg: Iceberg, made: Lake) -> None:
    made.load().manage_snapshots().create_branch(head(made), "audit").commit()
    taken = clip(take_cut(made.merged()), {0: 9})
    settings = {f"spark.sql.iceberg.snapshot-property.{OFFSETS_PROPERTY}": new_boundary(taken)}
    iceberg.sql(made, "INSERT INTO {table}.branch_audit SELECT id FROM range(4, 9)", settings)
    assert made.open().cut().committed(0) == 4
    assert made.open(branch="audit").cut().committed(0) == 9

    iceberg.sql(made, "CALL lake.system.fast_forward('{table}', 'main', 'audit')")

    assert made.open().cut().committed(0) == 9
    assert found(made) == list(range(12))


def test_compaction_and_expiry_of_all_that_can_expire_keep_the_boundary(iceberg: Iceberg, made: Lake) -> None:
    commit_until(made, {0: 8})
    iceberg.sql(made, COMPACT)
    iceberg.sql(made, "CALL lake.system.rewrite_manifests('{table}')")
    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 1")
    iceberg.sql(made, EXPIRE)

    assert len(made.load().snapshots()) == 2
    assert PIN_TAG in made.load().refs()
    assert found(made) == [seq for seq in range(12) if seq != 1]


def test_the_tag_outlives_the_age_that_the_table_allows_to_tags(iceberg: Iceberg, made: Lake) -> None:
    iceberg.sql(made, "ALTER TABLE {table} SET TBLPROPERTIES ('history.expire.max-ref-age-ms' = '1')")
    made.load().manage_snapshots().create_tag(head(made), "other").commit()
    iceberg.sql(made, EXPIRE)

    assert set(made.load().refs()) == {"main", PIN_TAG}


@pytest.mark.parametrize("way", ["rollback_to_snapshot", "set_current_snapshot"])
def test_a_rollback_brings_the_older_boundary_even_after_expiry(
    iceberg: Iceberg, made: Lake, way: str
) -> None:
    first = head(made)
    commit_until(made, {0: 8})
    iceberg.sql(made, f"CALL lake.system.{way}('{{table}}', {first})")
    assert (made.open().cut().committed(0), found(made)) == (4, list(range(12)))

    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 1")
    iceberg.sql(made, "DELETE FROM {table} WHERE seq = 2")
    iceberg.sql(made, EXPIRE)

    assert made.load().refs()[PIN_TAG].snapshot_id not in (first, head(made))
    assert made.open().cut().committed(0) == 4


@pytest.mark.parametrize("later_ms", [0, 3])
def test_a_replaced_table_does_not_take_over_the_boundary_of_the_one_before(
    iceberg: Iceberg, made: Lake, later_ms: int
) -> None:
    iceberg.sql(made, "CREATE OR REPLACE TABLE {table} USING iceberg AS SELECT 1L AS seq")
    assert PIN_TAG in made.load().refs()
    end_commit(made, later_ms)

    with pytest.raises(BoundaryUnknownError) as caught:
        made.open().cut()

    assert "that is all of them" in str(caught.value.details["looked"])
