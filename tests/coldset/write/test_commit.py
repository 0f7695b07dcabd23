"""A fenced commit lands on exactly the table its fence has seen, or not at all.

Conflicts and lost answers are made by catalogs that really commit and then
misbehave, never by pretending that they did.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from coldset.errors import CommitConflictError, CommitStateUnknownError
from coldset.table.ancestry import summary_value
from coldset.table.catalog import PinnedTable, pin
from coldset.write.data_writer import delete_files, write_files
from coldset.write.fenced_commit import COMMIT_ID, commit_append
from tests.coldset.tables import TABLE, catalog_properties, make_catalog, read_now

SCHEMA = pa.schema([("id", pa.int64())])
TAG = "held"


class Moody(SqlCatalog):
    """A catalog that does what `mood` says around a commit that is otherwise real."""

    mood: Callable[[Callable[[], Any]], Any] = staticmethod(lambda commit: commit())

    def commit_table(self, *args: Any, **kwargs: Any) -> Any:
        return self.mood(lambda: super(Moody, self).commit_table(*args, **kwargs))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    made = make_catalog(tmp_path)
    made.create_table(TABLE, schema=SCHEMA)
    return made


@pytest.fixture
def moody(catalog: Catalog, tmp_path: Path) -> Moody:
    return Moody("cold", **catalog_properties(tmp_path))


def staged(catalog: Catalog, *ids: int) -> tuple[Any, ...]:
    return tuple(write_files(pin(catalog, TABLE).layout, pa.table({"id": ids}, schema=SCHEMA), {}))


def commit(catalog: Catalog, *ids: int, fence: Callable[[PinnedTable], None] = lambda _: None) -> int:
    return append(catalog, staged(catalog, *ids), fence)


def append(
    catalog: Catalog, files: tuple[Any, ...], fence: Callable[[PinnedTable], None] = lambda _: None
) -> int:
    return commit_append(catalog, TABLE, files, {"k": "v"}, commit_id="c1", pin_tag=TAG, fence=fence)


def ids(catalog: Catalog) -> list[int]:
    return sorted(read_now(catalog).column("id").to_pylist())


def test_a_commit_is_one_snapshot_with_its_summary(catalog: Catalog) -> None:
    snapshot_id = commit(catalog, 1, 2)

    table = catalog.load_table(TABLE)
    assert [snapshot.snapshot_id for snapshot in table.snapshots()] == [snapshot_id]
    assert summary_value(table.current_snapshot(), "k") == "v"  # type: ignore[arg-type]
    assert summary_value(table.current_snapshot(), COMMIT_ID) == "c1"  # type: ignore[arg-type]
    assert ids(catalog) == [1, 2]


def test_the_tag_moves_with_each_commit(catalog: Catalog) -> None:
    for n in (1, 2):
        snapshot_id = commit_append(
            catalog, TABLE, staged(catalog, n), {}, commit_id=f"c{n}", pin_tag=TAG, fence=lambda _: None
        )

        assert catalog.load_table(TABLE).refs()[TAG].snapshot_id == snapshot_id


def test_a_commit_without_files_still_moves_the_summary(catalog: Catalog) -> None:
    snapshot_id = append(catalog, ())

    assert catalog.load_table(TABLE).current_snapshot().snapshot_id == snapshot_id  # type: ignore[union-attr]


def test_a_fence_that_raises_leaves_the_table_unchanged(catalog: Catalog) -> None:
    def refuse(_: PinnedTable) -> None:
        raise PermissionError("not on this table")

    with pytest.raises(PermissionError, match="not on this table"):
        commit(catalog, 1, fence=refuse)

    assert catalog.load_table(TABLE).snapshots() == []


def test_a_conflicting_commit_is_tried_again_through_the_fence(catalog: Catalog) -> None:
    seen: list[int | None] = []

    def another_is_quicker(pinned: PinnedTable) -> None:
        seen.append(pinned.snapshot_id)
        if len(seen) == 1:
            catalog.load_table(TABLE).append(pa.table({"id": [100]}, schema=SCHEMA))

    commit(catalog, 1, fence=another_is_quicker)

    assert len(seen) == 2
    assert seen[0] is None
    assert seen[1] is not None
    assert ids(catalog) == [1, 100]


def test_a_fence_sees_the_others_commit_and_may_refuse(catalog: Catalog) -> None:
    def only_on_an_empty_table(pinned: PinnedTable) -> None:
        if pinned.snapshot_id is not None:
            raise PermissionError("another was quicker")
        catalog.load_table(TABLE).append(pa.table({"id": [100]}, schema=SCHEMA))

    with pytest.raises(PermissionError):
        commit(catalog, 1, fence=only_on_an_empty_table)

    assert ids(catalog) == [100]


def test_the_tables_own_retries_do_not_pass_the_fence(catalog: Catalog) -> None:
    table = catalog.load_table(TABLE)
    table.transaction().set_properties({"commit.retry.num-retries": "10"}).commit_transaction()
    fenced: list[int | None] = []

    def another_is_quicker(pinned: PinnedTable) -> None:
        fenced.append(pinned.snapshot_id)
        if len(fenced) <= 3:
            catalog.load_table(TABLE).append(pa.table({"id": [100]}, schema=SCHEMA))

    commit(catalog, 1, fence=another_is_quicker)

    assert len(fenced) == 4
    assert ids(catalog) == [1, 100, 100, 100]


def test_others_that_keep_winning_end_in_a_conflict_and_nothing_landed(catalog: Catalog) -> None:
    def another_is_always_quicker(_: PinnedTable) -> None:
        catalog.load_table(TABLE).append(pa.table({"id": [100]}, schema=SCHEMA))

    with pytest.raises(CommitConflictError, match=TABLE):
        commit(catalog, 1, fence=another_is_always_quicker)

    assert 1 not in ids(catalog)


@pytest.mark.parametrize("lost", [CommitStateUnknownException("?"), OSError("reset"), TimeoutError("late")])
def test_a_commit_whose_answer_is_lost_is_found_by_its_id(moody: Moody, lost: Exception) -> None:
    def land_and_lose(commit: Callable[[], Any]) -> Any:
        commit()
        raise lost

    moody.mood = land_and_lose  # type: ignore[method-assign]
    snapshot_id = commit(moody, 1)

    assert moody.load_table(TABLE).current_snapshot().snapshot_id == snapshot_id  # type: ignore[union-attr]
    assert ids(moody) == [1]


def land_and_deny(commit: Callable[[], Any]) -> Any:
    commit()
    raise CommitFailedException("sent twice by something on the way, and refused the second time")


def test_a_commit_reported_as_failed_that_landed_is_not_made_twice(moody: Moody) -> None:
    moody.mood = land_and_deny  # type: ignore[method-assign]
    snapshot_id = commit(moody, 1)

    assert [snapshot.snapshot_id for snapshot in moody.load_table(TABLE).snapshots()] == [snapshot_id]


def test_a_commit_reported_as_failed_that_landed_can_be_read(moody: Moody) -> None:
    moody.mood = land_and_deny  # type: ignore[method-assign]
    commit(moody, 1)

    assert ids(moody) == [1]


def test_a_commit_that_is_nowhere_is_of_unknown_outcome(moody: Moody) -> None:
    def lose(commit: Callable[[], Any]) -> Any:
        raise OSError("connection reset")

    moody.mood = lose  # type: ignore[method-assign]
    with pytest.raises(CommitStateUnknownError, match="c1") as caught:
        commit(moody, 1)

    assert caught.value.details["commit_id"] == "c1"
    assert moody.load_table(TABLE).snapshots() == []


def test_files_that_were_not_committed_can_be_deleted(catalog: Catalog, tmp_path: Path) -> None:
    files = staged(catalog, 1, 2)
    assert len(list(tmp_path.rglob("*.parquet"))) == 1

    delete_files(pin(catalog, TABLE).layout, (file.file_path for file in files), {})

    assert list(tmp_path.rglob("*.parquet")) == []
