"""Compaction and expiry leave the boundary known, while anything that the table still has can tell it.

Iceberg's own runtime rewrites and expires here. What the last snapshot does not say, older metadata files
tell; where these are gone too, the tag's snapshot does, if the files prove that the table is built on it.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from federation.boundary.assumptions import Confidence
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from tests.builders import commit_until, produce
from tests.conftest import MakeLake
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import StagedLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])
EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2999-01-01', "
    "retain_last => 1)"
)
COMPACT = (
    "CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'{more}))"
)
SHORT_LOG = (
    "ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1', "
    "'write.metadata.delete-after-commit.enabled' = 'true')"
)
# Nothing but a commit: it takes another file out of the metadata log.
AGAIN = "ALTER TABLE {table} SET TBLPROPERTIES ('written' = 'again')"
DELETE = "DELETE FROM {table} WHERE seq = 3"


class Table:
    """A table of twelve records' topic, and Iceberg's runtime for it."""

    def __init__(self, lake: StagedLake, writer: StagedSpark) -> None:
        self.lake, self._writer = lake, writer

    def sql(self, *statements: str, more: str = "") -> None:
        for statement in statements:
            text = statement.format(table=f"lake.{self.lake.table}", more=more)
            self._writer.sql(self.lake.directory / "catalog.db", text)

    @property
    def checkpoint(self) -> str:
        return str(self.lake.directory / "query")

    def stream(self) -> None:
        self._writer.stream(
            self.lake.directory / "catalog.db",
            table=self.lake.table,
            checkpoint=self.checkpoint,
            schema="seq BIGINT",
            source={"kafka.bootstrap.servers": self.lake.bootstrap, "subscribe": self.lake.topic},
        )

    def found(self, **options: str) -> list[int]:
        return sorted(self.lake.open(**options).scan().to_arrow()["seq"].to_pylist())

    def send(self, first: int, end: int) -> None:
        rows, time_ms = [{"seq": seq} for seq in range(first, end)], self.lake.stage.time_ms()
        produce(self.lake.bootstrap, self.lake.topic, rows, timestamp_ms=time_ms)


@pytest.fixture
def table(lake: MakeLake, spark_writer: StagedSpark) -> Table:
    made = Table(lake(partitions=1, schema=ROWS), spark_writer)
    made.send(0, 12)
    return made


def test_an_expired_mark_of_spark_is_told_by_older_metadata(table: Table) -> None:
    table.stream()
    table.send(12, 15)
    table.sql(COMPACT, EXPIRE)

    assert len(table.lake.load().snapshots()) == 1
    assert table.found(checkpointLocation=table.checkpoint) == list(range(15))


def test_a_mark_that_nothing_tells_any_more_is_an_error_that_says_so(table: Table) -> None:
    table.stream()
    table.sql(COMPACT, SHORT_LOG, EXPIRE, DELETE, EXPIRE, AGAIN)

    with pytest.raises(BoundaryUnknownError, match="no mark in what expiry has kept") as caught:
        table.found(checkpointLocation=table.checkpoint)

    assert str(caught.value).endswith(f"kafkaiceberg adopt {table.lake.table}")


def test_the_tag_tells_what_compaction_and_a_short_log_have_taken_away(table: Table) -> None:
    for end in (4, 7, 9):
        commit_until(table.lake, {0: end})
    table.sql(COMPACT, SHORT_LOG, EXPIRE, DELETE, EXPIRE, AGAIN)

    taken = take_cut(table.lake.merged())

    assert taken.committed is not None
    assert "which tag" in taken.committed.provenance
    assert taken.committed.confidence is Confidence.EXACT
    assert table.found() == [*range(3), *range(4, 12)]


def test_the_tag_proves_nothing_if_rows_got_a_time_of_their_own(table: Table) -> None:
    for end in (4, 7, 9):
        commit_until(table.lake, {0: end})
    table.sql(COMPACT, more=", 'use-starting-sequence-number', 'false'")
    table.sql(SHORT_LOG, EXPIRE, DELETE, EXPIRE, AGAIN)

    with pytest.raises(BoundaryUnknownError, match="do not prove"):
        table.found()


def test_the_tag_proves_nothing_after_a_commit_of_others_was_compacted(table: Table) -> None:
    commit_until(table.lake, {0: 9})
    table.sql("INSERT INTO {table} VALUES (9), (10)")
    table.sql(COMPACT, SHORT_LOG, EXPIRE, DELETE, EXPIRE, AGAIN)

    with pytest.raises(BoundaryUnknownError, match="do not prove"):
        table.found()
