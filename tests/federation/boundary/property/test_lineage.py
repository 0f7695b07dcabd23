"""The boundary property is found wherever a table's history leads, and nowhere else.

Branches, rollback and expiry change which snapshots a table is built on and which of them it still
has. After each of these the union must be exact, or the boundary be declared unknown.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from federation.boundary.property.snapshot_property import PIN_TAG
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake
from tests.federation.boundary.histories import expire, forget, head, rollback

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    """A table and the topic's ten records, of which nothing is committed yet."""
    fresh = lake(partitions=1, schema=ROWS)
    produce(fresh.bootstrap, fresh.topic, [{"seq": i} for i in range(10)])
    return fresh


def found(lake: Lake, **options: str) -> list[int]:
    """What the union has, which must be each record once."""
    return sorted(row["seq"] for row in lake.open(**options).scan().to_arrow().to_pylist())


def told(lake: Lake) -> str:
    """In which words the boundary's provenance is told."""
    committed = take_cut(lake.merged()).committed
    assert committed is not None
    return committed.provenance


def start(lake: Lake, **options: str) -> int:
    return lake.open(**options).cut().committed(0)


def drop(lake: Lake, below: int) -> None:
    """Another writer's commit, without the property: it removes rows."""
    lake.load().delete(f"seq < {below}")


def test_commits_of_others_are_walked_over(made: Lake) -> None:
    commit_until(made, {0: 6})
    drop(made, 2)
    drop(made, 3)

    assert found(made) == list(range(3, 10))


def test_each_snapshot_branch_and_tag_has_its_own_boundary(made: Lake) -> None:
    commit_until(made, {0: 3})
    first = head(made)
    with made.load().manage_snapshots() as refs:
        refs.create_branch(first, "audit").create_tag(first, "monday")
    commit_until(made, {0: 7})
    made.load().delete("seq < 2", branch="audit")

    assert start(made) == 7
    assert start(made, **{"snapshot-id": str(first)}) == start(made, tag="monday") == 3
    assert start(made, branch="audit") == 3
    assert found(made, branch="audit") == list(range(2, 10))
    assert found(made, tag="monday") == found(made) == list(range(10))


def test_after_a_rollback_the_older_boundary_is_right(made: Lake) -> None:
    commit_until(made, {0: 3})
    first = head(made)
    commit_until(made, {0: 7})
    rollback(made, first)

    assert (start(made), found(made)) == (3, list(range(10)))

    commit_until(made, {0: 5})

    assert (start(made), found(made)) == (5, list(range(10)))


def test_expiry_of_everything_between_leaves_what_old_metadata_tells(made: Lake) -> None:
    commit_until(made, {0: 6})
    for below in (1, 2, 3):
        drop(made, below)
    expire(made)

    assert len(made.load().snapshots()) == 2  # the head, and what the tag keeps
    assert "an older metadata file" in told(made)
    assert found(made) == list(range(3, 10))


def test_a_property_is_found_over_several_expiries(made: Lake) -> None:
    commit_until(made, {0: 6})
    made.load().manage_snapshots().remove_tag(PIN_TAG).commit()
    for below in (1, 2, 3):
        drop(made, below)
        expire(made)

    assert len(made.load().snapshots()) == 1
    assert found(made) == list(range(3, 10))


def test_the_tag_counts_if_the_files_prove_that_the_table_is_built_on_it(made: Lake) -> None:
    commit_until(made, {0: 2})
    commit_until(made, {0: 4})
    commit_until(made, {0: 7})
    drop(made, 2)  # these take whole files away, so no row is written again
    drop(made, 4)
    expire(made)
    forget(made)

    assert "which tag" in told(made)
    assert found(made) == list(range(4, 10))


def test_a_file_that_the_manifests_have_as_removed_is_a_proof_too(made: Lake) -> None:
    for end in (2, 5, 7):
        commit_until(made, {0: end})
    drop(made, 2)
    made.load().delete("seq > 4")  # the file that the tag's commit added
    expire(made)
    forget(made)

    assert "which tag" in told(made)
    assert found(made) == [2, 3, 4, 7, 8, 9]


def test_rows_of_a_commit_that_nothing_tells_of_make_the_tag_useless(made: Lake) -> None:
    commit_until(made, {0: 4})
    made.load().append(pa.table({"seq": [4, 5]}, schema=ROWS))  # by a writer that did not move the tag
    made.load().append(pa.table({"seq": []}, schema=ROWS))
    expire(made)
    forget(made)

    with pytest.raises(BoundaryUnknownError, match="do not prove"):
        made.open().cut()


def test_the_tag_of_a_commit_that_was_rolled_back_is_not_believed(made: Lake) -> None:
    commit_until(made, {0: 3})
    first = head(made)
    commit_until(made, {0: 7})
    rollback(made, first)
    drop(made, 1)
    drop(made, 2)
    expire(made)

    assert (start(made), found(made)) == (3, list(range(2, 10)))  # by old metadata

    forget(made)
    drop(made, 3)  # for the boundary of a snapshot is kept once it is known
    expire(made)
    forget(made)

    with pytest.raises(BoundaryUnknownError, match="do not prove"):
        made.open().cut()


def test_a_tag_on_a_later_commit_says_nothing_of_an_earlier_snapshot(made: Lake) -> None:
    commit_until(made, {0: 3})
    drop(made, 1)
    drop(made, 2)
    old = head(made)
    made.load().manage_snapshots().create_tag(old, "kept").commit()
    commit_until(made, {0: 7})
    expire(made)
    forget(made)

    with pytest.raises(BoundaryUnknownError, match="have been expired"):
        made.open(tag="kept").cut()
    assert start(made) == 7
