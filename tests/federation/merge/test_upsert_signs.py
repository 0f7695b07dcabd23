"""What shows that a table has the latest row of each key, on histories of real writers and made-up ones.

False alarms matter as much: a person who deletes or corrects rows makes no upsert table.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from federation.boundary import OFFSETS_PROPERTY, marks_of
from federation.merge.upsert_signs import upsert_sign

FLINK = Path(__file__).parents[2] / "fixtures" / "flink" / "upserted"
MARK = {OFFSETS_PROPERTY: "{}"}


def commit(operation: Operation, number: int = 1, **counts: int | str) -> Snapshot:
    """A snapshot with such a summary; an underscore is a dash, and a mark is given by its name."""
    named = {key.replace("_", "-"): str(value) for key, value in counts.items() if key != "mark"}
    return Snapshot(
        snapshot_id=number,
        timestamp_ms=number,
        manifest_list="none",
        summary=Summary(operation, **{**named, **(MARK if "mark" in counts else {})}),
    )


def sign(
    *ancestors: Snapshot, keys: tuple[str, ...] = (), is_whole: bool = True, **properties: str
) -> str | None:
    named = {k.replace("_", "."): v for k, v in properties.items()}
    return upsert_sign(keys, named, ancestors, is_whole=is_whole)


APPEND = commit(Operation.APPEND, added_records=5)
MARKED = commit(Operation.APPEND, added_records=5, mark="ours")
DELETE = commit(Operation.DELETE, deleted_records=5)
REWRITTEN_DELETE = commit(Operation.OVERWRITE, added_records=3, deleted_records=5)
UPDATE = commit(Operation.OVERWRITE, added_records=5, deleted_records=5)
COMPACTION = commit(Operation.REPLACE, added_records=10, deleted_records=10)
DELETE_BY_POSITION = commit(Operation.OVERWRITE, added_position_deletes=1, added_delete_files=1)
MERGE_ON_READ = commit(Operation.OVERWRITE, added_records=4, added_position_deletes=3)


@pytest.mark.parametrize("sink", ["older", "newer"])
def test_the_upserts_of_both_sinks_of_flink_show(sink: str) -> None:
    text = (FLINK / f"upserted_{sink}_sink.metadata.json").read_text("utf-8")
    metadata = TableMetadataUtil.parse_raw(text)
    schema = metadata.schema()
    keys = [schema.find_column_name(each) or "" for each in schema.identifier_field_ids]
    newest_first = sorted(metadata.snapshots, key=lambda s: -(s.sequence_number or 0))

    assert upsert_sign(keys, {}, [], is_whole=True) == "its schema has identifier fields (id)"
    assert "write.upsert.enabled" in str(upsert_sign([], metadata.properties, [], is_whole=True))
    # As if neither had been said to the table: what its writer does is enough.
    assert "equality deletes" in str(upsert_sign([], {}, newest_first, is_whole=True))
    assert all(marks_of(snapshot) for snapshot in newest_first)


@pytest.mark.parametrize(
    "replacing",
    [
        UPDATE,
        REWRITTEN_DELETE,
        MERGE_ON_READ,
        DELETE_BY_POSITION,
        commit(Operation.OVERWRITE, added_equality_deletes=2, added_records=2),
        commit(Operation.DELETE, deleted_records=3),
    ],
)
def test_whoever_leaves_a_mark_and_takes_rows_out_replaces_them(replacing: Snapshot) -> None:
    assert replacing.summary is not None
    marked = replacing.model_copy(
        update={
            "summary": Summary(
                replacing.summary.operation, **{**replacing.summary.additional_properties, **MARK}
            )
        }
    )

    assert "replaces rows" in str(sign(MARKED, marked, MARKED, MARKED))


@pytest.mark.parametrize(
    "by_hand", [DELETE, REWRITTEN_DELETE, UPDATE, COMPACTION, DELETE_BY_POSITION, MERGE_ON_READ]
)
def test_what_others_do_to_a_table_whose_writer_appends_is_no_sign(by_hand: Snapshot) -> None:
    assert sign(by_hand, MARKED) is None
    assert sign(MARKED, by_hand, by_hand, MARKED) is None
    assert sign(APPEND, APPEND, by_hand, APPEND) is None


@pytest.mark.parametrize("gone", [DELETE, REWRITTEN_DELETE, COMPACTION])
def test_deletions_and_rewrites_alone_are_no_sign(gone: Snapshot) -> None:
    assert sign(gone, gone, gone, APPEND) is None


@pytest.mark.parametrize("replacing", [UPDATE, MERGE_ON_READ])
def test_without_marks_it_is_what_half_of_the_commits_do(replacing: Snapshot) -> None:
    assert sign(replacing, replacing, APPEND) is not None
    assert sign(replacing, APPEND) is not None
    assert sign(replacing, APPEND, APPEND) is None


def test_a_compaction_that_calls_itself_an_overwrite_is_no_sign_once_nothing_else_is_left() -> None:
    assert sign(UPDATE, is_whole=False) is None
    assert sign(UPDATE, UPDATE, is_whole=False) is not None
    assert sign(MERGE_ON_READ, is_whole=False) is not None


def test_without_marks_it_is_what_the_busiest_program_does() -> None:
    def by(program: str, operation: Operation, **counts: int) -> Snapshot:
        return commit(operation, **counts, app_id=program)

    regular = [by("job", Operation.APPEND, added_records=9) for _ in range(5)]
    fix = {"added_records": 2, "deleted_records": 2}

    assert sign(by("person", Operation.OVERWRITE, **fix), *regular) is None
    assert sign(by("job", Operation.OVERWRITE, **fix), *regular) is not None


def test_equality_deletes_that_nothing_explains_any_more_are_a_sign() -> None:
    left = commit(Operation.REPLACE, added_records=5, deleted_records=5, total_equality_deletes=3)

    assert sign(left) is not None
    assert sign(left, MARKED) is None
    assert sign(commit(Operation.REPLACE, total_equality_deletes=0)) is None


def test_keys_and_the_property_are_signs_without_any_commit() -> None:
    assert "(a, b)" in str(sign(keys=("b", "a")))
    assert sign(write_upsert_enabled="TRUE") is not None
    assert sign(write_upsert_enabled="false") is None
    assert sign() is None
